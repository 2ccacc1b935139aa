"""The doors by which people and programs come in."""
