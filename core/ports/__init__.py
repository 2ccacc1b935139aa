"""Protocols. Their docstrings state obligations, guarantees, and everything they raise."""
