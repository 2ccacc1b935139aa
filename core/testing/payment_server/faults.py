"""What can go wrong on demand, and how an answer is bent by it."""

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

HUGE_BYTES = 10 * 1024 * 1024
"""Size of the answer of the fault `huge`."""

DRIP_S = 0.2
"""Seconds between two bytes of the fault `slow_drip`."""

_OTHER_HASH = "sha256:" + "0" * 64
_LONGEST_S = 600.0

_PLAIN = frozenset(
    {
        "commit_then_drop",
        "drop",
        "drop_before",
        "500",
        "500_after_commit",
        "500_before",
        "503_before",
        "slow_drip",
        "duplicate_answer",
        "lie_hash",
        "nan",
        "huge",
        "wrong_type",
        "429",
    }
)
_TIMED = frozenset({"late", "delayed_commit"})
_MOVED = {"redirect": 307, "redirect302": 302}

NEVER_COMMITS = frozenset(
    {"drop_before", "500_before", "503_before", "429", "redirect", "redirect302"}
)
"""Faults under which nothing happens."""


class Delivery(StrEnum):
    """How the bytes of an answer reach the client."""

    WHOLE = "whole"
    DROPPED = "dropped"
    DRIPPED = "dripped"
    TWICE = "twice"


@dataclass(frozen=True)
class Reply:
    """One answer, and how it is delivered.

    Attributes:
        wait_s: seconds until the first byte is sent.
    """

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    delivery: Delivery = Delivery.WHOLE
    wait_s: float = 0.0


@dataclass(frozen=True)
class Fault:
    """One fault: its name, and the seconds or the URL that it takes."""

    name: str
    seconds: float = 0.0
    url: str = ""

    @property
    def commits(self) -> bool:
        """Whether the request takes effect all the same."""
        return self.name not in NEVER_COMMITS


def json_reply(status: int, value: dict[str, Any], **headers: str) -> Reply:
    """A well-formed answer; underscores in header names become hyphens."""
    named = [(name.replace("_", "-"), text) for name, text in headers.items()]
    return Reply(status, json.dumps(value).encode(), headers=named)


def parsed(text: str) -> Fault | None:
    """The fault that a text names; None where there is no such fault."""
    name, _, value = text.partition(":")
    if not value:
        return Fault(name) if name in _PLAIN else None
    if name in _MOVED:
        return Fault(name, url=value) if value.isascii() and value.isprintable() else None
    if name not in _TIMED:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return None
    return Fault(name, seconds=seconds) if 0 <= seconds <= _LONGEST_S else None


def bent(fault: Fault, reply: Reply | None) -> Reply:
    """The answer under a fault. `reply` is None where nothing was done."""
    match fault.name:
        case "429":
            return json_reply(429, {"error": "too_many_requests"}, Retry_After="1")
        case "500_before" | "500" | "500_after_commit":
            return json_reply(500, {"error": "internal"})
        case "503_before":
            return json_reply(503, {"error": "unavailable", "effect": False}, Retry_After="1")
        case "redirect" | "redirect302":
            status = _MOVED[fault.name]
            return json_reply(status, {"error": "moved"}, Location=fault.url)
        case _:
            # Whatever is left answers what was done, or nothing.
            return _distorted(fault, reply or json_reply(500, {"error": "internal"}))


def _distorted(fault: Fault, reply: Reply) -> Reply:
    match fault.name:
        case "commit_then_drop" | "drop" | "drop_before":
            return replace(reply, delivery=Delivery.DROPPED)
        case "late":
            return replace(reply, wait_s=fault.seconds)
        case "slow_drip":
            return replace(reply, delivery=Delivery.DRIPPED)
        case "duplicate_answer":
            return replace(reply, delivery=Delivery.TWICE)
        case "lie_hash":
            return replace(reply, body=_with(reply, operation_hash=_OTHER_HASH))
        case "nan":
            return replace(reply, body=_with(reply, fee=float("nan")))
        case "huge":
            return replace(reply, body=_with(reply, padding="x" * HUGE_BYTES))
        case "wrong_type":
            return replace(reply, content_type="text/html")
        case _:  # delayed_commit has had its effect already
            return reply


def _with(reply: Reply, **fields: Any) -> bytes:
    """The body with fields added to the record that it holds."""
    body: dict[str, Any] = json.loads(reply.body)
    for name in ("payment", "refund"):
        if name in body:
            body[name] |= fields
    return json.dumps(body).encode()
