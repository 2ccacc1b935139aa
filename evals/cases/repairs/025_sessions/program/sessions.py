"""Sessions that end when nobody uses them."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Session:
    """Whose it is, and when it was used last, in seconds."""

    user: str
    used_at: float


class Sessions:
    """Sessions by their key; one is over `idle_s` seconds after its last use."""

    def __init__(self, idle_s: float, clock: Callable[[], float]) -> None:
        self._idle_s = idle_s
        self._clock = clock
        self._by_key: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def open(self, key: str, user: str) -> None:
        self._by_key[key] = Session(user, self._clock())

    def use(self, key: str) -> str | None:
        """Whose session it is; None where it is over."""
        session = self._by_key.get(key)
        if session is None or self._over(session):
            return None
        session.used_at = self._clock()
        return session.user

    def sweep(self) -> list[str]:
        """Drop what is over; returns whose sessions those were, the oldest key first."""
        dropped: list[str] = []
        for key, session in self._by_key.items():
            if self._over(session):
                dropped.append(session.user)
                del self._by_key[key]
        return dropped

    def _over(self, session: Session) -> bool:
        return self._clock() - session.used_at >= self._idle_s
