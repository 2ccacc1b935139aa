"""policy diff: what a change of rules would have changed about decisions that were really made."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli.console import out, out_json, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet, opened
from checkrein.entrypoints.cli.options import Json
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.policy_rego.authoring import Bundle, Change, Recorded, Replay

_WORDS = {
    "newly_denied": "newly denied",
    "newly_asked": "newly asked",
    "newly_allowed": "newly allowed",
    "changed_constraints": "changed constraints",
    "changed_approval": "changed approval terms",
    "changed_reason": "changed reasons",
}


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The folder of the bundle as it is.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The folder as it would be.")],
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DATE", help="Decisions from then on: 2026-11-30[T12:00]."),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option("--inputs", metavar="DIR", help="Inputs from *.json files, not the store."),
    ] = None,
    json: Json = False,
) -> int:
    """Give recorded decisions to two bundles, and list what changes; exit code 1 if any does."""
    moment = _moment(since)
    if inputs is not None and moment is not None:
        raise InputError(
            "--since chooses recorded decisions, and --inputs reads files. Give one of them.",
            op="policy.diff",
            code="usage",
        )
    be_quiet()
    bundles = _bundles(old, new)
    found = _of_files(bundles, inputs) if inputs is not None else _of_store(bundles, moment)
    if json:
        out_json(_facts(found))
    else:
        _print(found)
    return Exit.WRONG if found.changes else Exit.DONE


def _bundles(old: Path, new: Path) -> "tuple[Bundle, Bundle]":
    from checkrein.policy_rego import authoring

    return authoring.load_bundle(old), authoring.load_bundle(new)


def _of_store(bundles: "tuple[Bundle, Bundle]", moment: datetime | None) -> "Replay":
    from checkrein.policy_rego import authoring

    async def recorded(parts: "Parts") -> "AsyncIterator[Recorded]":
        async for one in parts.decisions.since(moment):
            if one.input is not None:
                yield authoring.Recorded(name=one.name, input=one.input.decode())

    async def work(parts: "Parts", watch: "Watch") -> "Replay":
        return await authoring.replayed(
            *bundles, recorded(parts), progress=_progress(watch.waiting)
        )

    return opened(work)


def _of_files(bundles: "tuple[Bundle, Bundle]", folder: Path) -> "Replay":
    from checkrein.policy_rego import authoring

    files = sorted(folder.glob("*.json"))
    if not files:
        raise InputError(
            f"{folder} holds no *.json file. Name a folder of decision inputs.",
            op="policy.diff",
            code="no_inputs",
            context={"path": str(folder)},
        )

    async def recorded() -> "AsyncIterator[Recorded]":
        for file in files:
            text = await asyncio.to_thread(file.read_bytes)
            yield authoring.Recorded(
                name=file.name, input=authoring.read_input(text, where=str(file))
            )

    with Live("the policy engine") as live:
        progress = _progress(live.waiting)
        return asyncio.run(authoring.replayed(*bundles, recorded(), progress=progress))


def _progress(say: Callable[[str], None]) -> Callable[[int], None]:
    def told(done: int) -> None:
        say(f"the rest of the decisions, {done} are judged")

    return told


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"--since {text} is no date. Write 2026-11-30 or 2026-11-30T12:00; it is UTC unless "
            "an offset stands behind it.",
            op="policy.diff",
            code="unusable_argument",
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _facts(found: "Replay") -> dict[str, Any]:
    counts = {kind: len(found.of(kind)) for kind in _WORDS}
    return {
        "old_version": found.old_version,
        "new_version": found.new_version,
        "decisions": found.decisions,
        "unchanged": found.unchanged,
        "counts": counts,
        "changes": [change.model_dump(mode="json") for change in found.changes],
    }


def _print(found: "Replay") -> None:
    for kind, word in _WORDS.items():
        changes = found.of(kind)
        if changes:
            out(f"{len(changes)} {word}, for example {_example(changes[0])}")
    if found.old_version == found.new_version:
        out("Both bundles have the same version.")
    if not found.decisions:
        out("There are no decisions to replay.")
    out(f"{found.unchanged} of {found.decisions} decisions unchanged")


def _example(change: "Change") -> str:
    old, new = change.old, change.new
    more = ""
    if change.kind == "changed_constraints":
        more = f"; {shown(old.constraints)} -> {shown(new.constraints)}"
    elif change.kind == "changed_approval":
        more = f"; {shown(old.approval)} -> {shown(new.approval)}"
    return (
        f"{shown(change.name)}: {shown(change.capability)} on {shown(change.resource)}: "
        f"{old.decision} ({shown(old.reason_code)}) -> "
        f"{new.decision} ({shown(new.reason_code)}){more}"
    )
