"""crashtest: processes killed at every boundary, on every kind of target, and what came of it."""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from checkrein.entrypoints.cli.console import out, out_json, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import InterruptedWork, be_quiet
from checkrein.entrypoints.cli.options import Json
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.evals.crash_judge import Verdict
    from checkrein.evals.crash_run import Asked
    from checkrein.settings import Durability


Quick = Annotated[bool, typer.Option("--quick", help="Each boundary and each kind of target once.")]
Points = Annotated[str, typer.Option(metavar="A,B", help="Only these boundaries and faults.")]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="KIND|MODULE:OBJECT",
        help="Only this kind of target, or a Target of yours, as for `conformance target`.",
    ),
]
Modes = Annotated[
    str, typer.Option(metavar="sync,async,exit", help="Only these of LangGraph's modes.")
]
OneCell = Annotated[
    str | None, typer.Option(metavar="NAME", help="One cell, by the name on its line.")
]
Table = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the table there, as Markdown.")
]
# Shows that cells can be wrong: it patches the throw-away database, and is of no use elsewhere.
WithoutClaim = Annotated[bool, typer.Option("--without-claim", hidden=True)]


def crashtest(
    quick: Quick = False,
    points: Points = "",
    target: Target = None,
    durability: Modes = "",
    cell: OneCell = None,
    table: Table = None,
    json: Json = False,
    without_claim: WithoutClaim = False,
) -> int:
    """Kill processes with SIGKILL at every boundary, recover in others, and count the effects.

    It runs on a Postgres of its own in a temporary folder, never on your database; your own target
    makes real effects. The last line is the count of cells. Exit code 0 if all are right, else 1.
    """
    be_quiet()
    if table is not None:
        _writable(table)
    with Live("the crash table to load") as live:
        from checkrein.evals.crash_run import Asked

        asked = Asked(
            target=target,
            quick=quick,
            points=tuple(_words(points)),
            durabilities=_durabilities(durability),
            cell=cell,
            claims=not without_claim,
        )
        try:
            found = asyncio.run(_ran(asked, live, quiet=json))
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise InterruptedWork from None
    return _told(found, table, json=json)


def _writable(file: Path) -> None:
    """Find out now, and not after minutes of work."""
    try:
        file.touch()
    except OSError as error:
        raise InputError(
            f"The table cannot be written to {file}: {error.strerror}. Name another file.",
            op="cli.crashtest",
            code="usage",
        ) from error


def _told(found: "list[Verdict]", file: Path | None, *, json: bool) -> int:
    from checkrein.evals.crash_table import count, document, table

    if file is not None:
        file.write_text(f"{table(found)}\n", encoding="utf-8")
    if json:
        out_json(document(found))
    else:
        out(f"\n{table(found)}\n\n{count(found)}")
    return Exit.DONE if all(one.right for one in found) else Exit.WRONG


async def _ran(asked: "Asked", live: Live, *, quiet: bool) -> "list[Verdict]":
    from checkrein.evals.crash_arena import arena
    from checkrein.evals.crash_run import plan, verdicts
    from checkrein.evals.crash_table import line

    task = asyncio.current_task()
    assert task is not None
    # The server that was started for this must not outlive it.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    cells, environment = await plan(asked)
    live.waiting("a Postgres of its own")
    found: list[Verdict] = []
    async with arena(claims=asked.claims, environment=environment) as ground:
        live.waiting(f"the first of {len(cells)} cells")
        async with contextlib.aclosing(verdicts(ground, cells)) as coming:
            async for one in coming:
                found.append(one)
                if not quiet:
                    _say(live, line(one))
                live.waiting(f"cell {len(found) + 1} of {len(cells)}")
        live.waiting("everything to end")
    # In the table's order, whichever came first.
    order = {cell.name: place for place, cell in enumerate(cells)}
    return sorted(found, key=lambda one: order[one.cell.name])


def _say(live: Live, text: str) -> None:
    """One line at once; on a terminal, above what is being waited for."""
    if sys.stdout.isatty() and sys.stderr.isatty():
        live.line(text)
        return
    out(shown(text))
    sys.stdout.flush()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _durabilities(text: str) -> "tuple[Durability, ...]":
    from checkrein.settings import Durability

    known: tuple[Durability, ...] = get_args(Durability)
    wanted = _words(text)
    if unknown := [word for word in wanted if word not in known]:
        raise InputError(
            f"--durability is one or more of {', '.join(known)}, not {unknown[0][:40]!r}.",
            op="cli.crashtest",
            code="usage",
        )
    return tuple(mode for mode in known if mode in wanted) or known
