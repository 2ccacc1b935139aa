"""The benchmark's numbers, for people and for programs."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from checkrein.evals.benchmark_runs import Case, Mode, Sample

FLAT = 1.1
"""Bytes per action at the most actions may be so many times those at the fewest."""

Results = Mapping[Case, Sequence[Sample]]


@dataclass(frozen=True)
class Line:
    """The medians of one case, each per action but the first."""

    runs: int
    per_second: float
    milliseconds: float
    transactions: float
    wal_bytes: float
    store_bytes: float
    checkpoint_bytes: float

    @property
    def stored_bytes(self) -> float:
        """Store and checkpoints together."""
        return self.store_bytes + self.checkpoint_bytes


def line(case: Case, samples: Sequence[Sample]) -> Line:
    """The medians of a case's runs."""

    def median(values: Sequence[float]) -> float:
        return statistics.median(values) / case.actions

    seconds = median([sample.seconds for sample in samples])
    return Line(
        runs=len(samples),
        per_second=1 / seconds,
        milliseconds=seconds * 1000,
        transactions=median([sample.usage.transactions for sample in samples]),
        wal_bytes=median([sample.usage.wal_bytes for sample in samples]),
        store_bytes=median([sample.usage.store_bytes for sample in samples]),
        checkpoint_bytes=median([sample.usage.checkpoint_bytes for sample in samples]),
    )


def lines(results: Results) -> dict[Case, Line]:
    """The medians of every case, in the table's order."""
    ordered = sorted(results, key=lambda c: (c.mode, c.actions, c.side, c.durability))
    return {case: line(case, results[case]) for case in ordered}


def crash_safe(case: Case) -> bool:
    """Whether nothing is lost or done twice when the process dies: all of ours, their sync."""
    return case.side == "ours" or case.durability == "sync"


def fastest(found: Mapping[Case, Line], side: str, mode: Mode, actions: int) -> Case | None:
    """A side's fastest case that survives a crash."""
    safe = [
        case
        for case in found
        if (case.side, case.mode, case.actions) == (side, mode, actions) and crash_safe(case)
    ]
    return max(safe, key=lambda case: found[case].per_second, default=None)


def table(found: Mapping[Case, Line]) -> str:
    """Every case as a Markdown table; all but the first three columns are per action."""
    rows = [
        [
            case.mode,
            str(case.actions),
            f"{case.side} {case.durability}",
            f"{one.per_second:.0f}",
            f"{one.milliseconds:.1f}",
            f"{one.transactions:.2f}",
            _kb(one.wal_bytes),
            _kb(one.store_bytes),
            _kb(one.checkpoint_bytes),
        ]
        for case, one in found.items()
    ]
    head = ["mode", "actions", "side", "actions/s", "ms", "writing tx", "WAL KB", "store KB"]
    return _markdown([*head, "checkpoint KB"], rows)


def ratios(found: Mapping[Case, Line]) -> str:
    """Ours against theirs, each in its fastest mode that survives a crash."""
    rows: list[list[str]] = []
    for case in {(case.mode, case.actions): case for case in found}.values():
        mode, actions = case.mode, case.actions
        ours, theirs = (fastest(found, side, mode, actions) for side in ("ours", "theirs"))
        if ours is None or theirs is None:
            continue
        a, b = found[ours], found[theirs]
        rows.append(
            [
                mode,
                str(actions),
                f"{ours.durability} / {theirs.durability}",
                f"{a.per_second / b.per_second:.2f}",
                f"{a.transactions / b.transactions:.2f}",
                f"{a.wal_bytes / b.wal_bytes:.2f}",
                f"{a.stored_bytes / b.stored_bytes:.2f}",
            ]
        )
    head = ["mode", "actions", "ours / theirs", "speed", "writing tx", "WAL", "stored bytes"]
    return _markdown(head, rows) if rows else ""


def growth(found: Mapping[Case, Line]) -> list[tuple[str, int, int, float]]:
    """How many times more bytes an action takes in the longest run than in the shortest."""
    grown: list[tuple[str, int, int, float]] = []
    for case in filter(crash_safe, found):
        same = [c for c in found if c.title.rsplit(" ", 1)[0] == case.title.rsplit(" ", 1)[0]]
        least, most = min(c.actions for c in same), max(c.actions for c in same)
        if case.actions != most or least == most:
            continue
        small = next(c for c in same if c.actions == least)
        times = found[case].stored_bytes / found[small].stored_bytes
        grown.append((f"{case.side} {case.mode} {case.durability}", least, most, times))
    return grown


def document(found: Mapping[Case, Line], machine: Mapping[str, Any]) -> dict[str, Any]:
    """Everything for programs."""
    return {
        "machine": dict(machine),
        "cases": [asdict(case) | asdict(one) for case, one in found.items()],
        "growth": [
            {"case": name, "from": least, "to": most, "times": round(times, 3)}
            for name, least, most, times in growth(found)
        ],
        "aims": aims(found),
    }


def aims(found: Mapping[Case, Line]) -> dict[str, bool]:
    """What the project is measured by, as far as it was measured here."""
    met: dict[str, bool] = {}
    ours, theirs = (fastest(found, side, "allowed", 100) for side in ("ours", "theirs"))
    if ours is not None and theirs is not None:
        met["faster_at_100_allowed"] = found[ours].per_second > found[theirs].per_second
    flat = [times for name, _, _, times in growth(found) if name.startswith("ours")]
    if flat:
        met["bytes_per_action_flat"] = max(flat) <= FLAT
    return met


def _kb(size: float) -> str:
    return f"{size / 1024:.1f}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
    out = [_row(head, widths), "|" + "|".join("-" * (width + 2) for width in widths) + "|"]
    return "\n".join([*out, *(_row(row, widths) for row in rows)])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"
