"""Worked examples: task files, working copies and scripted models that ship as data."""
