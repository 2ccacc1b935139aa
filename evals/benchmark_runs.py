"""What the benchmark measures: its cases, what a run yields, and the script of both sides."""

import random
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from checkrein.testing.scripted_model import Script

Side = Literal["ours", "theirs"]
Mode = Literal["allowed", "asked"]
Durability = Literal["sync", "async", "exit"]

CONTENT_BYTES = 1024
"""Bytes that each action writes."""

FILES = 10
"""How many files the actions write to, in turn."""

WARM_UP = 5
"""Actions of the run before the first one that counts."""

_WORDS = """
account amount balance branch buffer cache client column commit config counter cursor data
default delta entry error event field file filter flag folder format handle header index input
item key label length level limit line list lock message method model name node number object
offset option order output owner page parent parser path pattern policy price queue range
record report request result return route row rule schema scope server session size source
state status step store stream table target task text thread time token total trace type unit
update user value version worker write
"""


@dataclass(frozen=True)
class Case:
    """One line of the table. `durability` is when LangGraph saves its checkpoint."""

    side: Side
    mode: Mode
    durability: Durability
    actions: int

    @property
    def title(self) -> str:
        """How people name it."""
        return f"{self.side} {self.mode} {self.durability} {self.actions}"


@dataclass(frozen=True)
class Usage:
    """What the database had been asked for at one moment, or between two.

    Attributes:
        transactions: transactions that wrote (ids that Postgres gave out).
        wal_bytes: bytes of write-ahead log.
        store_bytes: stored bytes of all rows in the store's schema, indexes left out.
        checkpoint_bytes: the same for LangGraph's checkpoints.
    """

    transactions: int
    wal_bytes: int
    store_bytes: int
    checkpoint_bytes: int

    def since(self, before: "Usage") -> "Usage":
        """The difference."""
        return Usage(
            self.transactions - before.transactions,
            self.wal_bytes - before.wal_bytes,
            self.store_bytes - before.store_bytes,
            self.checkpoint_bytes - before.checkpoint_bytes,
        )


@dataclass(frozen=True)
class Sample:
    """One run of a case: wall time in seconds, and what the database was asked for."""

    seconds: float
    usage: Usage


class Contender(Protocol):
    """One side, open for one mode and durability."""

    async def play(self, actions: int) -> float:
        """Run so many actions to the end; returns the seconds that it took."""
        ...


def script(actions: int, tool: str, run: str) -> Script:
    """A turn for each action, and one that ends it.

    The same whenever it is made, and another text for each run: a store may keep equal bytes once.
    """
    rng = random.Random(f"{actions} {run}")  # noqa: S311 - filler text, no secret
    turns: list[dict[str, Any]] = [
        {
            "text": f"Writing part {n}.",
            "calls": [{"name": tool, "args": {"path": path(n), "content": content(rng)}}],
            "usage": {"input_tokens": 1000, "output_tokens": 300},
        }
        for n in range(1, actions + 1)
    ]
    turns.append({"text": "Done.", "usage": {"input_tokens": 1000, "output_tokens": 10}})
    return Script.model_validate({"version": 1, "turns": turns})


def path(n: int) -> str:
    """The file that action `n` writes."""
    return f"part-{n % FILES}.txt"


def content(rng: random.Random) -> str:
    """CONTENT_BYTES of words in lines, which compress about as well as source text does."""
    words = _WORDS.split()
    text = ""
    while len(text) < CONTENT_BYTES:
        text += rng.choice(words) + ("\n" if rng.random() < 1 / 8 else " ")
    return text[: CONTENT_BYTES - 1] + "\n"
