"""accept and commit: what people do with a verified result, each a fact of its own."""

from typing import TYPE_CHECKING, Annotated

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.attempts import driven, told
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.identity import Claim, claim
from checkrein.entrypoints.cli.opening import opened
from checkrein.entrypoints.cli.options import Json, NamedWho, TokenFile

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.task import TaskContract
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.graph.report import Report


def accept(
    what: Annotated[
        str, typer.Argument(metavar="TASK|ATTEMPT", help="A task's id, or an attempt's.")
    ],
    who: NamedWho = None,
    token_file: TokenFile = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="For the record.")] = "",
    json: Json = False,
) -> int:
    """Sign what was verified: the result is what you wanted. It publishes nothing."""
    found = words.identifier(what, "TASK|ATTEMPT")
    said = words.said(note, "--note") if note else ""
    by = claim(who, token_file)

    async def work(parts: "Parts", watch: "Watch") -> tuple["Report", "TaskContract"]:
        from checkrein.graph.acceptance import accept as sign

        person = await by.proved(parts, "approve")
        opener = parts.front_door.opener
        report = await sign(parts.events, parts.records, opener, found, person, said)
        return report, await parts.events.contract(report.attempt_id)

    told(*opened(work), json=json)
    return Exit.DONE


def commit(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A verified task's id.")],
    who: NamedWho = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Hand over what was verified, as the task's commit authority; doing it again is safe."""
    task_id = words.identifier(task, "TASK")
    by: Claim = claim(who, token_file)

    async def work(parts: "Parts", watch: "Watch") -> tuple["Report", "TaskContract"]:
        person = await by.proved(parts, "approve")
        watch.waiting("the final commit")
        report = await parts.front_door.commit(task_id, person)
        return report, await parts.events.contract(report.attempt_id)

    return driven(work, json=json)
