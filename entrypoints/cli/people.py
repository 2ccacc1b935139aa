"""answer, pause, cancel, approvals, approve, reject: a person's word, stored when it is said."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.opening import driving, opened
from checkrein.entrypoints.cli.options import ApprovalId, AttemptId, Json, MaybeWho, Who

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.approval import ApprovalRequest
    from checkrein.contracts.task import TaskContract
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.graph.report import Report

Told = tuple["Report", "TaskContract"]
Asked = list[tuple["ApprovalRequest", "TaskContract"]]

Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; the model is told as well.")
]


def answer(
    attempt: AttemptId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to tell the model.")],
    who: MaybeWho = None,
    json: Json = False,
) -> int:
    """Answer the model's question, or say how a stopped turn goes on."""
    prefix, text = words.identifier(attempt, "ATTEMPT"), words.said(text, "TEXT")
    by = words.someone(who)

    async def work(parts: "Parts", watch: "Watch") -> Told:
        attempt_id = await parts.records.resolve(prefix)
        report = await parts.front_door.answer(attempt_id, text, by=by)
        return report, await parts.events.contract(attempt_id)

    return _recorded(*opened(work), json=json)


def pause(attempt: AttemptId, who: MaybeWho = None, json: Json = False) -> int:
    """Ask an attempt at work to wait at its next safe point."""
    prefix, by = words.identifier(attempt, "ATTEMPT"), words.someone(who)

    async def work(parts: "Parts", watch: "Watch") -> Told:
        attempt_id = await parts.records.resolve(prefix)
        report = await parts.front_door.pause(attempt_id, by=by)
        return report, await parts.events.contract(attempt_id)

    return _recorded(*opened(work), json=json)


def cancel(attempt: AttemptId, reason: Reason, who: MaybeWho = None, json: Json = False) -> int:
    """End an attempt; what has happened stays on the record."""
    prefix, why = words.identifier(attempt, "ATTEMPT"), words.said(reason, "--reason")
    by = words.someone(who)

    async def work(parts: "Parts", watch: "Watch") -> Told:
        attempt_id = await parts.records.resolve(prefix)
        report = await parts.front_door.cancel(attempt_id, by=by, reason=why)
        return report, await parts.events.contract(attempt_id)

    return _recorded(*opened(work), json=json)


def approvals(
    attempt: Annotated[str | None, typer.Argument(metavar="[ATTEMPT]")] = None, json: Json = False
) -> int:
    """Show what people are asked to approve, oldest first."""
    prefix = None if attempt is None else words.identifier(attempt, "ATTEMPT")

    async def work(parts: "Parts", watch: "Watch") -> Asked:
        attempt_id = None if prefix is None else await parts.records.resolve(prefix)
        await parts.front_door.sweep()
        return await _asked(parts, attempt_id)

    found = driving(work)
    from checkrein.entrypoints.cli.summary import approval_json, print_approval

    if json:
        out_json({"approvals": [approval_json(*one) for one in found]})
    elif not found:
        out("Nothing waits for approval.")
    for place, one in enumerate([] if json else found):
        if place:
            out()
        print_approval(*one)
        out(f"    checkrein approve {one[0].approval_id} --as WHO")
        out(f"    checkrein reject {one[0].approval_id} --as WHO --reason TEXT")
    return Exit.DONE


def approve(
    approval: ApprovalId,
    who: Who,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")
    ] = "",
    json: Json = False,
) -> int:
    """Say yes to one request; it is checked again before the act."""
    return _decide(approval, "approve", who, words.said(reason, "--reason") if reason else "", json)


def reject(approval: ApprovalId, who: Who, reason: Reason, json: Json = False) -> int:
    """Say no to one request."""
    return _decide(approval, "reject", who, words.said(reason, "--reason"), json)


def _decide(approval: str, word: str, who: str, reason: str, json: bool) -> int:
    approval_id, by = words.identifier(approval, "ID"), words.person(who)

    async def work(parts: "Parts", watch: "Watch") -> tuple["ApprovalRequest", list[str]]:
        from checkrein.contracts.approval import Answer, Approver, Said
        from checkrein.entrypoints.cli.next_steps import next_steps
        from checkrein.graph.approvals import answer_approval
        from checkrein.graph.report import report

        said = Said(answer=Answer(word), reason=reason)
        request = await answer_approval(
            parts.events, parts.records, approval_id, said, Approver(name=by)
        )
        stands = await report(parts.records, request.attempt_id)
        contract = await parts.events.contract(request.attempt_id)
        return request, next_steps(stands, contract).commands

    request, commands = opened(work)
    if json:
        out_json({"approval": request.model_dump(mode="json"), "next": commands})
        return Exit.DONE
    out(f"{request.approval_id} is {request.status} by {by}.")
    for place, command in enumerate(commands):
        out(f"{'next:' if place == 0 else 'then:'} {command}")
    return Exit.DONE


async def _asked(parts: "Parts", attempt_id: str | None) -> Asked:
    """Open requests, each with the contract that says who may answer it."""
    contracts: dict[str, Any] = {}
    found: Asked = []
    for request in await parts.records.approvals(attempt_id):
        if request.attempt_id not in contracts:
            contracts[request.attempt_id] = await parts.events.contract(request.attempt_id)
        found.append((request, contracts[request.attempt_id]))
    return found


def _recorded(report: "Report", contract: "TaskContract", *, json: bool) -> int:
    """The word is stored, which is what was asked for; where the attempt stands is told besides."""
    from checkrein.entrypoints.cli.attempts import told

    told(report, contract, json=json)
    return Exit.DONE
