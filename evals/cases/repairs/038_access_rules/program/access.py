"""Who may enter which room."""

from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Person:
    """Somebody, with roles."""

    name: str
    roles: frozenset[str] = frozenset()
    blocked: bool = False


@dataclass(frozen=True)
class Room:
    """A room, and who may enter: by name, or by having all of some roles."""

    name: str
    guests: Collection[str] = field(default_factory=frozenset)
    needs: frozenset[str] = frozenset()
    closed: bool = False


def may_enter(person: Person, room: Room) -> bool:
    """Whether a person may enter: the room is open, the person is not blocked and is let in."""
    if room.closed and person.blocked:
        return False
    return person.name in room.guests or (bool(room.needs) and room.needs <= person.roles)


def rooms_of(person: Person, rooms: Collection[Room]) -> list[str]:
    """The rooms that a person may enter, sorted."""
    return sorted(room.name for room in rooms if may_enter(person, room))
