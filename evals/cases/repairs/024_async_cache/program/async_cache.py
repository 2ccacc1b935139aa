"""Results of slow calls, kept by key."""

from collections.abc import Awaitable, Callable
from typing import Any

Load = Callable[[str], Awaitable[Any]]


class AsyncCache:
    """Asks `load` once for each key; what it raises is not kept."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._kept: dict[str, Any] = {}

    async def get(self, key: str) -> Any:
        """The value of a key."""
        if key not in self._kept:
            self._kept[key] = self._load(key)
            return await self._kept[key]
        return await self._kept[key]

    async def many(self, *keys: str) -> dict[str, Any]:
        """The values of some keys."""
        return {key: await self.get(key) for key in keys}

    def forget(self, key: str) -> None:
        """Ask anew the next time."""
        self._kept.pop(key, None)
