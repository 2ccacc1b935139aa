"""Where an attempt stands, as JSON for programs and as text for people."""

from typing import Any

from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.task import TaskContract
from checkrein.entrypoints.cli.console import out, short, shown
from checkrein.entrypoints.cli.next_steps import NextSteps, approve_command, next_steps, people
from checkrein.graph.report import Report


def report_json(report: Report, contract: TaskContract) -> dict[str, Any]:
    """The object that run, retry, resume, recover, status, answer, pause and cancel print."""
    steps = next_steps(report, contract)
    whole = report.model_dump(mode="json")
    return whole | {
        "approvals": [approval_json(request, contract) for request in report.approvals],
        "next": steps.commands,
        "next_note": steps.note or None,
    }


def approval_json(request: ApprovalRequest, contract: TaskContract) -> dict[str, Any]:
    """One request as programs see it: all of it, and who may answer."""
    return request.model_dump(mode="json") | {
        "may_answer": people(contract, request),
        "approve": approve_command(contract, request),
    }


def print_report(report: Report, contract: TaskContract) -> None:
    """Tell people where an attempt stands."""
    out(f"{report.status}  attempt {report.attempt_id}")
    _fact("task", report.task_id)
    _fact("goal", short(contract.goal))
    if report.detail and report.detail != report.waiting_for:
        _fact("detail", report.detail)
    if report.waiting_for is not None:
        _fact("waits for", report.waiting_for)
    effects = ", ".join(f"{count} {status}" for status, count in sorted(report.effects.items()))
    _fact("effects", effects or "none")
    _print_verification(report)
    budgets = (f"{name} {line.spent}/{line.limit}" for name, line in report.budgets.items())
    _fact("turns", f"{report.turns}; budgets {', '.join(budgets)}")
    _fact("workspace", report.workspace)
    if report.evidence is not None:
        _fact("evidence", f"event chain ends in {report.evidence}")
    for warning in report.warnings:
        _fact("warning", warning)
    for request in report.approvals:
        out()
        print_approval(request, contract)
    _print_next(next_steps(report, contract))


def _print_verification(report: Report) -> None:
    if report.verification is None:
        return
    _fact("verified", f"{report.verification.status} of {report.verification.state_digest[:19]}")
    for check in report.verification.checks:
        out(f"    {check.status:5} {short(check.name)}")
        for line in check.gap.splitlines():
            out(f"          {shown(line)}")


def print_approval(request: ApprovalRequest, contract: TaskContract) -> None:
    """Show one request as a person needs it to decide."""
    named = ", ".join(people(contract, request)) or "nobody"
    until = "" if request.expires_at is None else f", until {request.expires_at:%Y-%m-%d %H:%M} UTC"
    out(f"Approval {request.approval_id} is {request.status}{until}")
    _fact("what", f"{request.capability} on {request.resource}")
    _fact("why", f"the model says: {short(request.purpose, 300) or '(nothing)'}")
    _fact("asked by", f"{request.requested_by}; rule {request.reason_code}")
    _fact("may answer", f"{named} (as {' or '.join(request.roles)})")
    _fact("undo", "it can be undone" if request.reversible else "it can NOT be undone")
    _fact("on failure", request.on_failure)
    _fact("a yes is for", f"this action once, on version {request.resource_version[:19]}")
    if request.replaces is not None:
        _fact("replaces", f"{request.replaces}, which went stale")
    for line in shown(request.preview, lines=True).splitlines():
        out(f"    {line}")


def _fact(name: str, text: object) -> None:
    out(f"  {name:<12} {shown(text)}")


def _print_next(steps: NextSteps) -> None:
    if steps.commands or steps.note:
        out()
    for place, command in enumerate(steps.commands):
        out(f"{'next:' if place == 0 else 'then:'} {command}")
    if steps.note:
        out(steps.note)
