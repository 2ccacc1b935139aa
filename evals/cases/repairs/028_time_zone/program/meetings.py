"""Meetings in many time zones."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone


@dataclass(frozen=True)
class Meeting:
    """What it is about, when it begins (with its zone), and how long it takes."""

    title: str
    begins: datetime
    minutes: int = 30

    def __post_init__(self) -> None:
        if self.begins.tzinfo is None:
            raise ValueError(f"{self.title}: the time needs a zone")

    @property
    def ends(self) -> datetime:
        return self.begins + timedelta(minutes=self.minutes)


def zone(hours: int) -> timezone:
    """A zone so many hours ahead of UTC."""
    return timezone(timedelta(hours=hours))


def moment(time: datetime) -> datetime:
    """A time in a form in which two can be compared."""
    return time.replace(tzinfo=timezone.utc)


def due(meetings: list[Meeting], now: datetime) -> list[str]:
    """What is going on now, in the order in which it began."""
    going_on = [m for m in meetings if moment(m.begins) <= moment(now) < moment(m.ends)]
    return [m.title for m in sorted(going_on, key=lambda m: moment(m.begins))]


def clash(one: Meeting, other: Meeting) -> bool:
    """Whether nobody can go to both."""
    return moment(one.begins) < moment(other.ends) and moment(other.begins) < moment(one.ends)
