"""What a person can do next about an attempt: exact commands, or the word that there is none."""

import shlex
from typing import NamedTuple

from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.task import TaskContract
from checkrein.graph.judgements import may_judge
from checkrein.graph.report import Report
from checkrein.nodes.approvers import asserted_is_enough, authorities, may_answer

_S = AttemptStatus


class NextSteps(NamedTuple):
    """Commands in the order in which they are given, and a word where there is none or a choice."""

    commands: list[str]
    note: str = ""


def people(contract: TaskContract, request: ApprovalRequest) -> list[str]:
    """Who may answer a request, in the contract's order."""
    return may_answer(request, contract.approvals.roles, contract.requested_by)


def who_answers(contract: TaskContract) -> str:
    """The option by which somebody answers requests of a task."""
    return "--as WHO" if asserted_is_enough(contract) else "--token-file FILE"


def approve_command(contract: TaskContract, request: ApprovalRequest) -> str | None:
    """The command that approves, as the first person who may; None where nobody may.

    Where a name alone is not enough it names nobody: it is whoever holds the token.
    """
    named = people(contract, request)
    if not named:
        return None
    if not asserted_is_enough(contract):
        return f"checkrein approve {request.approval_id}"
    return f"checkrein approve {request.approval_id} --as {shlex.quote(named[0])}"


def next_steps(report: Report, contract: TaskContract) -> NextSteps:
    """What goes on from where an attempt stands."""
    if report.status.is_terminal:
        return _after_the_end(report, contract)
    if not report.status.is_suspended:
        recover = f"checkrein recover {report.attempt_id}"
        if report.lease_alive:
            note = f"A process works on it. If that process has died, `{recover}` takes over."
            return NextSteps([], note)
        return NextSteps([recover], "No process works on it.")
    return _suspended(report, contract)


_AFTER = {
    _S.FAILED_VERIFICATION: "The checks refused it: read what they said before you try again.",
    _S.POLICY_BLOCKED: "It needs other rights or another plan; as it is, it would end the same. "
    "The trace names each denial.",
    _S.ENVIRONMENT_ERROR: "Mend what is broken on this machine first; `checkrein doctor` looks.",
    _S.MODEL_ERROR: "Another model may do: name it in the task file and run that.",
    _S.FAILED: "What failed for good would fail again; mend that first.",
    _S.CANCELLED: "It was cancelled; a retry begins anew.",
}


def _after_the_end(report: Report, contract: TaskContract) -> NextSteps:
    if report.verified:
        out = f"evidence-{report.task_id[:8]}"
        export = f"checkrein evidence export {report.task_id} --out {out}"
        people = authorities(contract)
        if report.task_status != "VERIFIED" or not people:
            return NextSteps([export])
        proof = f" --as {shlex.quote(people[0])}" if asserted_is_enough(contract) else ""
        return NextSteps([export, f"checkrein commit {report.task_id}{proof}"])
    if report.purpose == "commit":
        return NextSteps(
            [f"checkrein commit {report.task_id}"], "What was verified stands as it did."
        )
    return NextSteps(
        [f"checkrein retry {report.task_id}"],
        f"{_AFTER[report.status]} A retry is a new attempt of the same task, with budgets of its "
        "own.",
    )


def _suspended(report: Report, contract: TaskContract) -> NextSteps:
    attempt = report.attempt_id
    go_on = f"checkrein resume {attempt}"
    give_up = f"`checkrein cancel {attempt} --reason TEXT` ends it."
    match report.status:
        case _S.WAITING_FOR_APPROVAL | _S.APPROVAL_STALE:
            return _approvals(report, contract, go_on, give_up)
        case _S.WAITING_FOR_USER if report.judgements:
            return _judgements(report, contract, go_on, give_up)
        case _S.WAITING_FOR_USER | _S.TURN_STOPPED if report.waiting_for is not None:
            return NextSteps(
                [f"checkrein answer {attempt} TEXT", go_on], "Put the answer for TEXT."
            )
        case _S.BUDGET_EXHAUSTED:
            if report.waiting_for is None:
                return NextSteps([go_on], "The budget was raised.")
            return NextSteps(
                [f"checkrein budget show {attempt}"],
                f"`checkrein budget raise` raises it, then `{go_on}` goes on where it stopped. "
                f"{give_up}",
            )
        case _S.RECONCILE_REQUIRED:
            ask = [f"checkrein reconcile {effect}" for effect in report.unsettled]
            return NextSteps(
                [*ask, go_on],
                "Where the target proves nothing, a person settles it: checkrein reconcile EFFECT "
                "--as WHO --outcome committed|not-applied --evidence REF.",
            )
        case _S.WAITING_FOR_EFFECT:
            return NextSteps([go_on], "Resuming looks again: at the other run, or at the target.")
        case _:
            return NextSteps([go_on])


def _judgements(report: Report, contract: TaskContract, go_on: str, give_up: str) -> NextSteps:
    people = [may_judge(contract, judgement) for judgement in report.judgements]
    if not all(people):
        return NextSteps([], f"The task names nobody who may judge this. {give_up}")
    known = asserted_is_enough(contract)
    judge = f"checkrein judge {report.attempt_id} pass"
    found = [f"{judge} --as {shlex.quote(names[0])}" if known else judge for names in people]
    return NextSteps(
        [*dict.fromkeys(found), go_on],
        f"Look at {report.workspace}. `checkrein judge ATTEMPT fail {who_answers(contract)} --note "
        "TEXT` says no instead.",
    )


def _approvals(report: Report, contract: TaskContract, go_on: str, give_up: str) -> NextSteps:
    if report.waiting_for is None:
        return NextSteps([go_on])
    if not report.approvals:
        return NextSteps([], f"Its request can no longer be answered. {give_up}")
    found = [approve_command(contract, request) for request in report.approvals]
    commands = [command for command in found if command is not None]
    if len(commands) < len(found):
        return NextSteps([], f"The task names nobody who may approve this. {give_up}")
    return NextSteps(
        [*commands, go_on],
        f"`checkrein reject ID {who_answers(contract)} --reason TEXT` says no instead.",
    )
