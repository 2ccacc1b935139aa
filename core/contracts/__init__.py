"""The nouns of Checkrein, in order of flow. Standard library and pydantic only."""
