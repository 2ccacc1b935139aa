"""The version, where the lowest rooms can name it. pyproject.toml says the same."""

VERSION = "0.1.0"
