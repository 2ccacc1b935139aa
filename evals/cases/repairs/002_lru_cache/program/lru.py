"""A cache that forgets what was not used for longest."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any


class LruCache:
    """Holds at most `capacity` entries; the last of `_entries` was used last."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self._capacity = capacity
        self._entries: OrderedDict[Hashable, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Hashable) -> bool:
        """Looking is not using."""
        return key in self._entries

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The value, or `default`; counts as use."""
        if key not in self._entries:
            return default
        return self._entries[key]

    def put(self, key: Hashable, value: Any) -> None:
        """Store a value; counts as use, and may push out the one unused for longest."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
