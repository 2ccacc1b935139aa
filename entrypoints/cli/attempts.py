"""run, retry, status, resume, recover: starting attempts, and telling how they stand."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli import exits, words
from checkrein.entrypoints.cli.console import error_json, out, out_json, out_table, short, warn
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet, driving, opened
from checkrein.entrypoints.cli.options import AttemptId, Json, NamedWho
from checkrein.entrypoints.cli.project import task_here
from checkrein.entrypoints.cli.stopping import StoppedEarly, Stopping
from checkrein.errors import CheckreinError, InputError, StoreError

if TYPE_CHECKING:
    from checkrein.compose import LoadedTask, Parts
    from checkrein.contracts.task import TaskContract
    from checkrein.entrypoints.cli.opening import Work
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.graph.report import Report

Told = tuple["Report", "TaskContract"]

OWNER_WAIT_S = 20.0
"""How long `recover` waits for a frozen owner's lease to expire, seconds; a lease lives shorter."""


def run(
    task: Annotated[
        Path | None,
        typer.Argument(
            metavar="TASK.yaml",
            help="The task file; else checkrein.yaml in this folder.",
        ),
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Work on this folder instead of the task's own."),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            metavar="local|narrow",
            help="Agree to less than the task's environment, where it asks: commands without a "
            "sandbox, or none at all. Needs --as.",
        ),
    ] = None,
    who: NamedWho = None,
    json: Json = False,
) -> int:
    """Run a task until it ends or must wait for somebody."""
    loaded = _agreed(_loaded(task or task_here(), workspace), environment, who)
    for mapped in loaded.mapping:
        warn(f"{mapped.source} is read as {mapped.target}: {mapped.meaning}", "note")
    for warning in loaded.warnings:
        warn(warning)

    async def work(parts: "Parts", watch: "Watch") -> Told:
        watch.expect(loaded.contract.budgets)
        report = await parts.front_door.start(loaded.contract)
        if json:  # people were told already
            warnings = [*loaded.warnings, *report.warnings]
            report = report.model_copy(update={"warnings": warnings})
        return report, loaded.contract

    return driven(work, json=json)


def retry(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id.")], json: Json = False
) -> int:
    """Make a new attempt of a task whose last attempt has ended."""
    task_id = words.identifier(task, "TASK")

    async def work(parts: "Parts", watch: "Watch") -> Told:
        last = await parts.records.attempts(task_id, limit=1)
        if last:
            watch.expect((await parts.events.contract(last[0].attempt_id)).budgets)
        report = await parts.front_door.retry(task_id)
        return report, await parts.events.contract(report.attempt_id)

    return driven(work, json=json)


def resume(attempt: AttemptId, json: Json = False) -> int:
    """Go on with an attempt, or say what it still waits for."""
    prefix = words.identifier(attempt, "ATTEMPT")

    async def work(parts: "Parts", watch: "Watch") -> Told:
        attempt_id = await _known(parts, watch, prefix)
        report = await parts.front_door.resume(attempt_id)
        return report, await parts.events.contract(attempt_id)

    return driven(work, json=json)


def recover(
    attempt: Annotated[str | None, typer.Argument(metavar="[ATTEMPT]")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every attempt whose process is gone.")
    ] = False,
    json: Json = False,
) -> int:
    """Take over attempts whose process died; nothing is done twice.

    One whose process is frozen is taken over when its lease expires, which is waited for where
    the attempt is named; --all leaves it to the next time.

    With --all the exit code is the highest among those of the attempts.
    """
    if (attempt is None) is not every:
        raise InputError("Name one attempt, or give --all.", op="cli.recover", code="usage")
    if attempt is None:
        return _recover_all(json=json)
    prefix = words.identifier(attempt, "ATTEMPT")

    async def work(parts: "Parts", watch: "Watch") -> Told:
        attempt_id = await _known(parts, watch, prefix)
        report = await parts.front_door.recover(attempt_id, wait_s=OWNER_WAIT_S)
        return report, await parts.events.contract(attempt_id)

    return driven(work, json=json)


def status(
    attempt: Annotated[str | None, typer.Argument(metavar="[ATTEMPT]")] = None, json: Json = False
) -> int:
    """Tell how an attempt stands; without an id, list them."""
    if attempt is None:
        return _listed(json=json)
    prefix = words.identifier(attempt, "ATTEMPT")

    async def work(parts: "Parts", watch: "Watch") -> Told:
        from checkrein.graph.report import report

        attempt_id = await parts.records.resolve(prefix)
        return await report(parts.records, attempt_id), await parts.events.contract(attempt_id)

    return told(*opened(work), json=json)


def driven(work: "Work[Told]", *, json: bool) -> int:
    """Do the work, print where it stands, and return the exit code; SIGTERM stops it softly."""
    stopping = Stopping(json=json)
    try:
        report, contract = driving(work, stopping)
    except StoppedEarly:
        stopping.tell()
        return exits.Exit.DONE
    stopping.spoken()
    code = told(report, contract, json=json)
    return exits.Exit.DONE if stopping.let_go(report) else code


def told(report: "Report", contract: "TaskContract", *, json: bool) -> int:
    """Print where an attempt stands, and return the exit code that says so."""
    from checkrein.entrypoints.cli.summary import print_report, report_json

    if json:
        out_json(report_json(report, contract))
    else:
        print_report(report, contract)
    return exits.of_report(report)


def _loaded(task: Path, workspace: str | None) -> "LoadedTask":
    """The task file as loaded, with the folder that the command line names, if it names one."""
    be_quiet()
    with Live("Checkrein to load"):
        from checkrein.compose import load_task
        from checkrein.contracts.task import WorkspaceSpec

        loaded = load_task(task)
        if workspace is None:
            return loaded
        path = str(Path(workspace).expanduser().absolute())
        if not workspace.strip() or len(path) > 4096:
            raise InputError("--workspace names no folder.", op="cli.run", code="unusable_argument")
        given = loaded.contract.workspace
        spec = WorkspaceSpec(path=path, mode="copy" if given is None else given.mode)
        contract = loaded.contract.model_copy(update={"workspace": spec})
        return loaded.model_copy(update={"contract": contract})


def _agreed(loaded: "LoadedTask", to: str | None, who: str | None) -> "LoadedTask":
    """The task with a person's word that less than its environment will do."""
    if to is None:
        return loaded
    from checkrein.contracts.environment import CONCESSIONS

    spec, choice = loaded.contract.environment, CONCESSIONS.get(to)
    if choice is None or who is None:
        problem = "--environment is `local` or `narrow`, and --as names who says so."
    elif spec is None or spec.on_missing != "ask":
        problem = "The task asks nobody: its environment has no `on_missing: ask`."
    else:
        agreed = spec.agreed_to(choice, words.person(who))
        contract = loaded.contract.model_copy(update={"environment": agreed})
        return loaded.model_copy(update={"contract": contract})
    raise InputError(problem, op="cli.run", code="unusable_argument")


async def _known(parts: "Parts", watch: "Watch", prefix: str) -> str:
    """The one attempt whose id begins so, made known to the live view."""
    attempt_id = await parts.records.resolve(prefix)
    watch.about(attempt_id, (await parts.records.position(attempt_id)).budgets)
    return attempt_id


def _listed(*, json: bool) -> int:
    async def work(parts: "Parts", watch: "Watch") -> list[dict[str, Any]]:
        return [summary.model_dump(mode="json") for summary in await parts.records.attempts()]

    found = opened(work)
    if json:
        out_json({"attempts": found})
    elif not found:
        out("There are no attempts yet. `checkrein run TASK.yaml` makes one.")
    else:
        rows = (
            (x["attempt_id"], x["status"], x["started_at"], x["number"], short(x["goal"], 60))
            for x in found
        )
        out_table(("attempt", "status", "started", "number", "goal"), rows)
    return exits.Exit.DONE


def _recover_all(*, json: bool) -> int:
    """One after the other; a fault of one does not keep the others from being recovered."""
    from checkrein.graph.lifecycle import unforeseen

    async def work(parts: "Parts", watch: "Watch") -> list[Told | CheckreinError]:
        found: list[Told | CheckreinError] = []
        for summary in await parts.records.unfinished():
            if parts.front_door.draining:
                break
            try:
                attempt_id = await _known(parts, watch, summary.attempt_id)
                report = await parts.front_door.recover(attempt_id)
                found.append((report, await parts.events.contract(attempt_id)))
            except StoreError:
                raise
            except Exception as error:
                # Also what nobody foresaw, which would stand in the others' way each time.
                told = unforeseen(error)
                told.context.setdefault("attempt_id", summary.attempt_id)
                found.append(told)
        return found

    stopping = Stopping(json=json)
    try:
        found = driving(work, stopping)
    except StoppedEarly:
        stopping.tell()
        return exits.Exit.DONE
    stopping.spoken()
    if json:
        out_json({"attempts": [_recovered_json(one) for one in found]})
    elif not found:
        out("Nothing to recover.")
    else:
        _print_recovered(found)
    return exits.of_reports(
        [
            exits.of_error(one) if isinstance(one, CheckreinError) else exits.of_report(one[0])
            for one in found
            if isinstance(one, CheckreinError) or not stopping.let_go(one[0])
        ]
    )


def _recovered_json(one: Told | CheckreinError) -> dict[str, Any]:
    from checkrein.entrypoints.cli.summary import report_json

    if isinstance(one, CheckreinError):
        return {"attempt_id": one.context["attempt_id"], **error_json(one)}
    return report_json(*one)


def _print_recovered(found: list[Told | CheckreinError]) -> None:
    from checkrein.entrypoints.cli.summary import print_report

    for place, one in enumerate(found):
        if place:
            out()
        if isinstance(one, CheckreinError):
            out(f"{one.context['attempt_id']}: {one}")
        else:
            print_report(*one)
