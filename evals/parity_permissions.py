"""Permissions for generated inputs: near what is asked, so that both engines must look closely."""

import random
from collections.abc import Mapping
from typing import Any

_ODD: tuple[Any, ...] = (0, 1, 1.0, 10_000, 10_001, True, None, "x", "10000", [], {})


def permissions(chance: random.Random, action: Mapping[str, Any]) -> list[dict[str, Any]]:
    """None, one or two that could cover an action: its arguments, some changed or bounded."""
    return [_permission(chance, action, number) for number in range(chance.choice((0, 0, 1, 2)))]


def bounded_args(chance: random.Random) -> dict[str, Any]:
    """Arguments of the kinds that bounds are about."""
    return {
        "amount": chance.choice((0, 1, 5_000, 10_000, 10_001, -1, 1.0, True, "5000", None)),
        "to": chance.choice(("acme", "globex", "ACME", "", 7)),
        "path": "src/a.py",
    }


def _permission(chance: random.Random, action: Mapping[str, Any], number: int) -> dict[str, Any]:
    args = dict(action["args"])
    bounds: dict[str, Any] = {}
    for name in list(args):
        if chance.random() < 0.5:
            bounds[name] = _bound(chance)
        if chance.random() < 0.2:
            args[name] = chance.choice(_ODD)
    if chance.random() < 0.05:
        args["more"] = 1
    kind = str(action["type"])
    return {
        "permission_id": f"apr_{number}",
        "capability": kind if chance.random() < 0.9 else "other@1",
        "args": args,
        "bounds": bounds,
        "scope": chance.choice(("task", "class", "class")),
        "given_by": "bob",
    }


def _bound(chance: random.Random) -> dict[str, Any]:
    low = chance.choice((-1, 0, 1, 5_000))
    ways: tuple[dict[str, Any], ...] = (
        {"at_least": low, "at_most": low + chance.choice((0, 5_000, 10_000))},
        {"one_of": chance.sample(["acme", "globex", 7, True, 1, ""], 2)},
        {"below": chance.choice((["src"], ["src", "a.py"], ["tests"]))},
    )
    return chance.choice(ways)
