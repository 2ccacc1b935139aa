"""What doctor tells of one part."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One part: whether it is there, and what to do where it is not.

    Attributes:
        needed: nothing works without it; else only what `use` says.
        detail: where it was found, or what is wrong.
    """

    name: str
    needed: bool
    found: bool
    version: str | None
    use: str
    how: str
    detail: str = ""
