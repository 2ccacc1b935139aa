"""conformance: what authors of capabilities run on a target to see whether it keeps its word."""

import asyncio
import contextlib
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from checkrein.entrypoints.cli.console import out, out_json, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.entrypoints.cli.options import Json

if TYPE_CHECKING:
    from checkrein.ports.capability import CapabilitySpec
    from checkrein.testing.conformance.target_suite import Verdict

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Check that a target keeps its promises."
)

Named = Annotated[
    str,
    typer.Argument(
        metavar="MODULE:OBJECT",
        help="A Target of checkrein.testing.conformance.target, or a function that makes one.",
    ),
]


@app.callback()
def _whole() -> None:
    """Check that a target keeps its promises."""


@app.command()
def target(name: Named, json: Json = False) -> int:
    """Make real effects at a test target, kill senders, and check its guarantees.

    Exit code 0 if all that could be checked holds, 1 if something fails.
    """
    be_quiet()
    # What the target's own code prints must not mix with what a program reads.
    with Live(f"{name} to load") as live, contextlib.redirect_stdout(sys.stderr):
        spec, found = asyncio.run(_checked(name, live))
    broken = sorted({verdict.guarantee for verdict in found if verdict.ok is False})
    if json:
        out_json(
            {
                "object": name,
                "capability": spec.type,
                "guarantee": spec.guarantee,
                "lookup": spec.lookup,
                "ok": not broken,
                "broken": broken,
                "checks": [asdict(verdict) for verdict in found],
            }
        )
    else:
        _print(spec, found, broken)
    return Exit.WRONG if broken else Exit.DONE


async def _checked(name: str, live: Live) -> "tuple[CapabilitySpec, list[Verdict]]":
    from checkrein.adapters.plug_in import load_object
    from checkrein.testing.conformance.target_suite import plan_of, verdict

    source = load_object(name)
    spec, plan = await plan_of(source, name)
    found: list[Verdict] = []
    for n, one in enumerate(plan, start=1):
        live.waiting(f"check {n} of {len(plan)}, {one.guarantee}: {one.check}")
        found.append(await verdict(source, one))
    return spec, found


def _print(spec: "CapabilitySpec", found: "list[Verdict]", broken: list[str]) -> None:
    out(f"{shown(spec.type)}: guarantee {spec.guarantee}, lookup {spec.lookup}")
    for verdict in found:
        out(f"{verdict.guarantee}: {shown(verdict.check)}: {_word(verdict)}")
    for guarantee in broken:
        out(f"{shown(spec.name)} does not keep: {guarantee}")
    held = sum(verdict.ok is True for verdict in found)
    failed = sum(verdict.ok is False for verdict in found)
    out(f"{held} ok, {failed} failed, {len(found) - held - failed} not checked")


def _word(verdict: "Verdict") -> str:
    if verdict.ok:
        return "ok"
    return f"{'not checked' if verdict.ok is None else 'FAILED'}: {shown(verdict.problem)}"
