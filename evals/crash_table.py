"""The crash table's verdicts, for people and for programs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from checkrein.evals.crash_judge import Verdict
from checkrein.evals.crash_run import place_of


def line(found: Verdict) -> str:
    """One cell as one line."""
    end = "ok" if found.right else f"WRONG: {'; '.join(found.problems)}"
    return f"{found.cell.name}: {found.statuses}, {_effects(found)}: {end}"


def count(found: Sequence[Verdict]) -> str:
    """The last line."""
    right = sum(one.right for one in found)
    return f"{len(found)} cells, {right} right, {len(found) - right} wrong"


def table(found: Sequence[Verdict]) -> str:
    """Boundary by kind of target, as Markdown: status and effects at the target.

    What is the same under every durability is said once.
    """
    kinds = list(dict.fromkeys(one.cell.kind.name for one in found))
    places = list(dict.fromkeys(place_of(one.cell) for one in found))
    held: dict[tuple[str, str], list[Verdict]] = {}
    for one in found:
        held.setdefault((place_of(one.cell), one.cell.kind.name), []).append(one)
    rows = [["boundary", *kinds], ["---"] * (len(kinds) + 1)]
    rows += [[place, *(_cell(held.get((place, kind), [])) for kind in kinds)] for place in places]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def document(found: Sequence[Verdict]) -> dict[str, Any]:
    """The same as one object."""
    right = sum(one.right for one in found)
    return {
        "cells": [_object(one) for one in found],
        "count": len(found),
        "right": right,
        "wrong": len(found) - right,
        "effects": _doubled(found),
    }


def _object(one: Verdict) -> Mapping[str, Any]:
    return {
        "name": one.cell.name,
        "boundary": place_of(one.cell),
        "target": one.cell.kind.name,
        "durability": one.cell.durability,
        "way": one.way or None,
        "status": one.status,
        "effects": one.effects,
        "right": one.right,
        "problems": list(one.problems),
        "seconds": round(one.seconds, 3),
    }


def _doubled(found: Iterable[Verdict]) -> dict[str, int]:
    """How many cells had so many effects at their target."""
    sums: dict[str, int] = {}
    for one in found:
        name = "not counted" if one.effects is None else str(one.effects)
        sums[name] = sums.get(name, 0) + 1
    return sums


def _effects(found: Verdict) -> str:
    if found.effects is None:
        return "not counted"
    return f"{found.effects} effect{'' if found.effects == 1 else 's'} at the target"


def _cell(found: Sequence[Verdict]) -> str:
    """One cell of the table, over all durabilities."""
    said: dict[str, list[str]] = {}
    for one in sorted(found, key=lambda v: v.cell.durability):
        number = "not counted" if one.effects is None else str(one.effects)
        text = f"{one.statuses}, {number}{'' if one.right else ' **WRONG**'}"
        said.setdefault(text, []).append(one.cell.durability)
    if len(said) <= 1:
        return "".join(said)
    return "; ".join(f"{' '.join(modes)}: {text}" for text, modes in said.items())
