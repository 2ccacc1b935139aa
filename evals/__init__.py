"""Experiments, crash matrix, datasets, scorers, benchmarks and reports."""
