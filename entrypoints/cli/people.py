"""answer, pause, cancel, approvals: a person's word, stored when it is said, and what is asked."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.identity import Claim, check_tenant, claim_or_me
from checkrein.entrypoints.cli.opening import driving, opened
from checkrein.entrypoints.cli.options import AttemptId, Json, MaybeWho, Reason, TokenFile

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.approval import ApprovalRequest
    from checkrein.contracts.task import TaskContract
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.graph.report import Report

Told = tuple["Report", "TaskContract"]
Asked = list[tuple["ApprovalRequest", "TaskContract"]]


def answer(
    attempt: AttemptId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to tell the model.")],
    who: MaybeWho = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Answer the model's question, or say how a stopped turn goes on."""
    prefix, text = words.identifier(attempt, "ATTEMPT"), words.said(text, "TEXT")
    claimed = claim_or_me(who, token_file)

    async def work(parts: "Parts", watch: "Watch") -> Told:
        attempt_id, by = await _spoken(parts, prefix, claimed)
        report = await parts.front_door.answer(attempt_id, text, by=by)
        return report, await parts.events.contract(attempt_id)

    return _recorded(*opened(work), json=json)


def pause(
    attempt: AttemptId, who: MaybeWho = None, token_file: TokenFile = None, json: Json = False
) -> int:
    """Ask an attempt at work to wait at its next safe point."""
    prefix, claimed = words.identifier(attempt, "ATTEMPT"), claim_or_me(who, token_file)

    async def work(parts: "Parts", watch: "Watch") -> Told:
        attempt_id, by = await _spoken(parts, prefix, claimed)
        report = await parts.front_door.pause(attempt_id, by=by)
        return report, await parts.events.contract(attempt_id)

    return _recorded(*opened(work), json=json)


def cancel(
    attempt: AttemptId,
    reason: Reason,
    who: MaybeWho = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """End an attempt; what has happened stays on the record."""
    prefix, why = words.identifier(attempt, "ATTEMPT"), words.said(reason, "--reason")
    claimed = claim_or_me(who, token_file)

    async def work(parts: "Parts", watch: "Watch") -> Told:
        attempt_id, by = await _spoken(parts, prefix, claimed)
        report = await parts.front_door.cancel(attempt_id, by=by, reason=why)
        return report, await parts.events.contract(attempt_id)

    return _recorded(*opened(work), json=json)


def approvals(
    attempt: Annotated[str | None, typer.Argument(metavar="[ATTEMPT]")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show previews and arguments unfolded, however long.")
    ] = False,
    json: Json = False,
) -> int:
    """Show what people are asked to approve, oldest first."""
    prefix = None if attempt is None else words.identifier(attempt, "ATTEMPT")

    async def work(parts: "Parts", watch: "Watch") -> Asked:
        attempt_id = None if prefix is None else await parts.records.resolve(prefix)
        await parts.front_door.sweep()
        return await _asked(parts, attempt_id)

    found = driving(work)
    from checkrein.entrypoints.cli.next_steps import who_answers
    from checkrein.entrypoints.cli.summary import approval_json, print_approval

    if json:
        out_json({"approvals": [approval_json(*one, full=full) for one in found]})
    elif not found:
        out("Nothing waits for approval.")
    for place, one in enumerate([] if json else found):
        if place:
            out()
        print_approval(*one, full=full)
        request, who = one[0], who_answers(one[1])
        out(f"    checkrein approve {request.approval_id} {who}")
        out(f"    checkrein reject {request.approval_id} {who} --reason TEXT")
    return Exit.DONE


async def _spoken(parts: "Parts", prefix: str, claimed: Claim) -> tuple[str, str]:
    """The attempt that is meant, and who speaks to it."""
    who = await claimed.proved(parts, "run")
    attempt_id = await parts.records.resolve(prefix)
    await check_tenant(parts, attempt_id, who)
    return attempt_id, who.name


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
