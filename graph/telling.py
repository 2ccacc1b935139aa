"""The message that tells of one change of an approval request, made from what the outbox holds."""

from datetime import UTC

from checkrein.contracts.approval import ApprovalRequest, ApprovalStatus
from checkrein.contracts.approval_text import expires, facts, structured
from checkrein.contracts.display import short, shown
from checkrein.contracts.message import MAX_TEXT, AnswerTold, ApprovalMessage, MessageKind
from checkrein.contracts.task import Risk
from checkrein.nodes.approvers import may_answer
from checkrein.ports.outbox import Claim

PREVIEW = 4_000
"""Most characters of a preview in a message, about."""

_LONGEST_REASON = 500
_TITLES = {
    MessageKind.REQUESTED: "Approval wanted",
    MessageKind.ESCALATED: "Approval still wanted",
    MessageKind.DECIDED: "Answered",
    MessageKind.EXPIRED: "Expired unanswered",
    MessageKind.STALE: "No longer what was shown",
    MessageKind.REVOKED: "No longer wanted",
}


def message_of(claim: Claim) -> ApprovalMessage:
    """Make the message; the same claim makes the same message at every try.

    Raises:
        ValueError: the stored request cannot be read by this version.
    """
    request = ApprovalRequest.model_validate(claim.request)
    if request.expires_at is not None:
        # The database tells times in the zone of each session; a message is the same in all.
        request = request.model_copy(update={"expires_at": request.expires_at.astimezone(UTC)})
    kind = MessageKind(claim.kind)
    is_open = request.status is ApprovalStatus.PENDING
    may = may_answer(request, claim.people, claim.task_requested_by) if is_open else []
    answered = _answered(claim)
    how = _commands(request) if is_open else []
    title = f"{_TITLES[kind]}: {short(request.capability)} on {short(request.resource)}"
    return ApprovalMessage(
        key=claim.key,
        kind=kind,
        seq=claim.seq,
        at=claim.at.astimezone(UTC),
        tenant=claim.tenant,
        task_id=claim.task_id,
        attempt_id=claim.attempt_id,
        approval_id=claim.approval_id,
        status=request.status,
        title=title,
        text=_text(request, may, answered, how),
        request=structured(request, PREVIEW),
        roles=request.roles,
        may_answer=may,
        answered=answered,
        how_to_answer=how,
    )


def _answered(claim: Claim) -> AnswerTold | None:
    said = claim.answered
    if said is None:
        return None
    return AnswerTold(
        answer=short(said["answer"]),
        by=short(said["by"], 128),
        authenticated=bool(said["authenticated"]),
        reason=short(said["reason"] or "", _LONGEST_REASON),
    )


def _commands(request: ApprovalRequest) -> list[str]:
    # At low risk a name is always enough; above it a token always is.
    who = "--as WHO" if request.risk is Risk.LOW else "--token-file FILE"
    return [
        f"checkrein approve {request.approval_id} {who}",
        f"checkrein reject {request.approval_id} {who} --reason TEXT",
    ]


def _text(
    request: ApprovalRequest, may: list[str], answered: AnswerTold | None, how: list[str]
) -> str:
    lines = [f"Approval {request.approval_id} is {request.status}."]
    if answered is not None:
        proof = "" if answered.authenticated else " (name asserted, not proven)"
        reason = f": {answered.reason}" if answered.reason else ""
        lines.append(f"{answered.by}{proof} said {answered.answer}{reason}")
    lines += [f"{name}: {text}" for name, text in facts(request)]
    if how:
        lines.append(f"until: {expires(request)}")
        lines.append(f"may answer: {', '.join(map(shown, may)) or 'nobody that the task names'}")
        lines += [f"warning: {short(warning, 300)}" for warning in request.warnings[:10]]
        lines += ["", "To answer:", *(f"  {command}" for command in how)]
    return "\n".join(lines)[:MAX_TEXT]
