"""What happened, in order, with who hears of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

Listener = Callable[["Entry"], None]


@dataclass(frozen=True)
class Entry:
    """One thing that happened; numbers count from 1 in each log."""

    number: int
    text: str
    tags: frozenset[str] = field(default_factory=frozenset)


class EventLog:
    """A log that grows."""

    def __init__(self, entries: list[Entry] = [], listeners: list[Listener] = []) -> None:
        self._entries = entries
        self._listeners = listeners

    def listen(self, listener: Listener) -> None:
        """Call this for every later entry."""
        self._listeners.append(listener)

    def write(self, text: str, *tags: str) -> Entry:
        """Append an entry and tell it."""
        entry = Entry(len(self._entries) + 1, text, frozenset(tags))
        self._entries.append(entry)
        for listener in self._listeners:
            listener(entry)
        return entry

    def tagged(self, tag: str) -> list[Entry]:
        """All entries with a tag."""
        return [entry for entry in self._entries if tag in entry.tags]

    def __len__(self) -> int:
        return len(self._entries)
