"""Policy decisions by Rego: the shipped bundle and what evaluates it."""
