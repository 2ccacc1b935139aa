"""Fakes and suites that ship with the package."""
