"""policy parity: recorded inputs, asked of the embedded engine and of a real OPA."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli.console import out, out_json, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import InterruptedWork, be_quiet
from checkrein.entrypoints.cli.options import Json
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.evals.both_engines import Bundle
    from checkrein.evals.parity import Comparison
    from checkrein.evals.recorded_inputs import RecordedInputs


def parity(
    inputs: Annotated[
        Path,
        typer.Argument(
            metavar="INPUTS",
            help="One decision input a line, or what `checkrein policy log` wrote.",
        ),
    ],
    bundle: Annotated[
        Path | None, typer.Option("--bundle", metavar="DIR", help="Else the shipped bundle.")
    ] = None,
    json: Json = False,
) -> int:
    """Ask both engines about recorded inputs; exit code 1 if one grants more than the other.

    It starts an OPA of its own, found by OPA_BIN, on PATH or below .opa, and ends it again.
    """
    be_quiet()
    with Live("the recorded inputs") as live:
        chosen, recorded, found = _compared(inputs, bundle, live)
    if json:
        out_json(_facts(chosen, recorded, found))
    else:
        out("\n".join(shown(line) for line in found.text().split("\n")))
        if recorded.unwritten:
            out(_unwritten(recorded.unwritten))
    return Exit.DONE if found.ok else Exit.WRONG


def _compared(
    inputs: Path, folder: Path | None, live: Live
) -> "tuple[Bundle, RecordedInputs, Comparison]":
    try:
        from checkrein.evals.both_engines import bundle_of, load_bundle
        from checkrein.evals.parity import compare_recorded, real_opa
        from checkrein.evals.recorded_inputs import read_recorded
    except ImportError as error:
        raise InputError(
            "Asking an OPA server needs its client, which is not installed. "
            "Run: pip install 'checkrein[opa]'",
            op="cli.policy_parity",
            code="opa_extra_missing",
        ) from error
    # What can be wrong is found before anything is started.
    recorded = read_recorded(inputs)
    chosen = bundle_of(None) if folder is None else load_bundle(folder)
    binary, count = real_opa(), len(recorded.lines)

    def told(done: int) -> None:
        live.waiting(f"both engines, {done} of {count} inputs are compared")

    async def compared() -> "Comparison":
        task = asyncio.current_task()
        assert task is not None
        # The server that is started for this must not outlive it.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await compare_recorded(binary, chosen, recorded, told)

    live.waiting("an OPA server")
    try:
        found = asyncio.run(compared())
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise InterruptedWork from None
    return chosen, recorded, found


def _facts(bundle: "Bundle", recorded: "RecordedInputs", found: "Comparison") -> dict[str, Any]:
    return {
        "ok": found.ok,
        "path": bundle.origin,
        "version": bundle.version,
        "compared": found.compared,
        "same": {str(verdict): count for verdict, count in sorted(found.verdicts.items())},
        "grants_more": found.grants,
        "not_compared": found.unasked,
        "without_input": recorded.unwritten,
        "differences": found.differences,
    }


def _unwritten(count: int) -> str:
    lines = "1 line holds" if count == 1 else f"{count} lines hold"
    return f"{lines} no input: none could be written when it was decided"
