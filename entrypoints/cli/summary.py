"""Where an attempt stands, as JSON for programs and as text for people."""

from typing import Any

from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.approval_text import expires, facts, preview_lines
from checkrein.contracts.folding import folded, folded_text
from checkrein.contracts.retrying import RETRY
from checkrein.contracts.secrets import masked
from checkrein.contracts.task import TaskContract
from checkrein.entrypoints.cli.console import out, short, shown
from checkrein.entrypoints.cli.next_steps import NextSteps, approve_command, next_steps, people
from checkrein.graph.report import Report

PREVIEW_IN_JSON = 32_000
"""Most characters of a preview in JSON, about; --full shows all of it."""


def report_json(report: Report, contract: TaskContract) -> dict[str, Any]:
    """The object that run, retry, resume, recover, status, answer, pause and cancel print."""
    steps = next_steps(report, contract)
    whole, retry = report.model_dump(mode="json"), RETRY.get(report.status)
    return whole | {
        "approvals": [approval_json(request, contract) for request in report.approvals],
        "next": steps.commands,
        "next_note": steps.note or None,
        "retry_by_machine": retry and retry.model_dump(mode="json"),
    }


def approval_json(
    request: ApprovalRequest, contract: TaskContract, *, full: bool = False
) -> dict[str, Any]:
    """One request as programs see it, and who may answer."""
    return request_json(request, full=full) | {
        "may_answer": people(contract, request),
        "approve": approve_command(contract, request),
    }


def request_json(request: ApprovalRequest, *, full: bool = False) -> dict[str, Any]:
    """A request without credentials that are seen as such, and in bounds unless all is wanted.

    An edit that leaves a folded or masked argument as it stands here gets the whole back.
    """
    args = masked(request.args)[0] if full else folded(request.args)
    preview = request.preview if full else folded_text(request.preview, PREVIEW_IN_JSON)
    return request.model_dump(mode="json") | {"args": args, "preview": preview}


def print_report(report: Report, contract: TaskContract) -> None:
    """Tell people where an attempt stands."""
    out(f"{report.status}  attempt {report.attempt_id}")
    purpose = "" if report.purpose == "work" else ", by this final commit"
    _fact("task", f"{report.task_id}, {report.task_status}{purpose}")
    _fact("goal", short(contract.goal))
    if report.detail and report.detail != report.waiting_for:
        _fact("detail", report.detail)
    if report.waiting_for is not None:
        _fact("waits for", report.waiting_for)
    for text in report.unfinished:
        _fact("unfinished", text)
    effects = ", ".join(f"{count} {status}" for status, count in sorted(report.effects.items()))
    _fact("effects", effects or "none")
    _print_verification(report)
    budgets = (f"{name} {line.spent}/{line.limit}" for name, line in report.budgets.items())
    _fact("turns", f"{report.turns}; budgets {', '.join(budgets)}")
    _fact("workspace", report.workspace)
    _print_finishes(report)
    if report.evidence is not None:
        _fact("evidence", f"event chain ends in {report.evidence}")
    for warning in report.warnings:
        _fact("warning", warning)
    for request in report.approvals:
        out()
        print_approval(request, contract)
    _print_next(next_steps(report, contract))


def _print_finishes(report: Report) -> None:
    """Three facts, none of which implies the next."""
    found = report.finishes
    if found.protocol_final is None:
        return
    _fact("model done", found.protocol_final.isoformat(timespec="seconds"))
    accepted = found.task_accepted
    _fact("task done", "no" if accepted is None else accepted.isoformat(timespec="seconds"))
    for one in found.user_accepted:
        proof = "proved" if one.authenticated else "name asserted"
        when = one.at.isoformat(timespec="seconds")
        _fact("accepted", f"{when} by {one.by} ({proof}) {short(one.note)}".rstrip())
    if accepted is not None and not found.user_accepted and report.purpose == "work":
        _fact("accepted", "by no person yet")


def _print_verification(report: Report) -> None:
    if report.verification is None:
        return
    _fact("verified", f"{report.verification.status} of {report.verification.state_digest[:19]}")
    for check in report.verification.checks:
        look = (
            "  (drawn: a person should look at this verdict)"
            if check.measured.get("sampled")
            else ""
        )
        out(f"    {check.status:5} {short(check.name)}{look}")
        for line in check.gap.splitlines():
            out(f"          {shown(line)}")


def print_approval(request: ApprovalRequest, contract: TaskContract, *, full: bool = False) -> None:
    """Show one request as a person needs it to decide; a long preview is folded unless `full`."""
    out(f"Approval {request.approval_id} is {request.status}, until {expires(request)}")
    for name, text in facts(request):
        _fact(name, text)
        if name == "asked by":
            named = ", ".join(map(shown, people(contract, request))) or "nobody"
            _fact("may answer", f"{named} (as {' or '.join(map(shown, request.roles))})")
    for warning in request.warnings:
        _fact("LOOK", short(warning, 300))
    _fact("preview", request.preview_kind.value)
    if full:
        lines = shown(request.preview, lines=True).split("\n")
    else:
        whole = f"all of it: checkrein approvals {request.attempt_id} --full"
        lines = preview_lines(request.preview, whole)
    for line in lines:
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
