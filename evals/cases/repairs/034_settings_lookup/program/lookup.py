"""Settings from several places, the first of which counts."""

from collections.abc import Mapping
from typing import Any

MISSING = object()


class Settings:
    """Looks a key up in each layer in turn; dots lead into nested layers."""

    def __init__(self, *layers: Mapping[str, Any]) -> None:
        self._layers = layers

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key. Null counts as not set."""
        for layer in self._layers:
            value = _value(layer, key.split("."))
            if value:
                return value
        return default

    def flag(self, key: str) -> bool:
        """A switch: on, off, or left alone, which is off."""
        return str(self.get(key, "off")).lower() in {"on", "true", "yes", "1"}


def _value(layer: Mapping[str, Any], path: list[str]) -> Any:
    found: Any = layer
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found
