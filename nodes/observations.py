"""Observations, made in one place, so that every call gets exactly one result of one shape."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from checkrein.contracts import ids
from checkrein.contracts.action import Action
from checkrein.contracts.approval import ApprovalGrant
from checkrein.contracts.codec import visible
from checkrein.contracts.context import Trust
from checkrein.contracts.decision import PolicyDecision, Reserved
from checkrein.contracts.event import Observed
from checkrein.contracts.observation import Diagnostics, Observation, ObservationStatus
from checkrein.contracts.proposal import Proposal, ToolProposal, UnusableProposal
from checkrein.errors import CapabilityError


def of_unusable(attempt_id: str, turn: int, proposals: Iterable[Proposal]) -> list[Observed]:
    """One observation for each call that no action can be made of."""
    return [
        _invalid(attempt_id, turn, proposal, proposal.name, proposal.error_type, proposal.advice)
        for proposal in proposals
        if isinstance(proposal, UnusableProposal)
    ]


def unusable(
    attempt_id: str, turn: int, proposal: ToolProposal, error: CapabilityError
) -> Observed:
    """A valid call whose object the capability could not name."""
    advice = error.advice or str(error)
    return _invalid(attempt_id, turn, proposal, proposal.capability, error.code, advice)


def _invalid(
    attempt_id: str,
    turn: int,
    proposal: ToolProposal | UnusableProposal,
    name: str,
    error_type: str,
    advice: str,
) -> Observed:
    return Observed(
        observation=Observation(
            action_id=ids.action_id(attempt_id, turn, proposal.position),
            turn=turn,
            position=proposal.position,
            call_id=visible(proposal.call_id),
            name=visible(name),
            status=ObservationStatus.INVALID,
            diagnostics=Diagnostics(error_type=error_type, retryable=True, advice=visible(advice)),
            trust=Trust.PLATFORM,
        )
    )


def of_action(
    action: Action,
    status: ObservationStatus,
    *,
    result: dict[str, Any] | None = None,
    diagnostics: Diagnostics | None = None,
    effect_id: str | None = None,
    version: str = "",
    trust: Trust = Trust.PLATFORM,
    original_ref: str | None = None,
    private: Literal[True] | None = None,
) -> Observed:
    """The one result of one action."""
    return Observed(
        observation=Observation(
            action_id=action.action_id,
            turn=action.turn,
            position=action.position,
            call_id=action.call_id,
            name=action.capability,
            status=status,
            structured_result=shown(result or {}),
            diagnostics=diagnostics,
            effect_id=effect_id,
            environment_revision=version,
            trust=trust,
            truncated=original_ref is not None,
            original_ref=original_ref,
            private=private,
            edited_by=action.edited_by,
            edited_args=action.args if action.edited_by else None,
        )
    )


def answered(action: Action, said: ApprovalGrant) -> Observed:
    """A person's words as the result of a call that did not run."""
    return of_action(
        action,
        ObservationStatus.OK,
        result={
            "answered_by": said.approver,
            "answer": said.reason,
            "note": "the tool did not run; a person answered in its place",
        },
        trust=Trust.USER,
    )


def denied(action: Action, decision: PolicyDecision, alternatives: list[str]) -> Observed:
    """What a model is told of a denial: the reason's code, and that arguing does not help.

    `alternatives`: what it is granted besides; each is judged when it is called.
    """
    return of_action(
        action,
        ObservationStatus.DENIED,
        diagnostics=Diagnostics(
            error_type=decision.reason_code,
            advice="The policy denies this. Do not call it again with the same arguments; reach "
            "the goal another way, or ask the person.",
            alternatives=alternatives,
        ),
    )


def no_preview(action: Action, why: str) -> Observed:
    """What a model is told where a person would have had to approve what cannot be shown."""
    return of_action(
        action,
        ObservationStatus.DENIED,
        diagnostics=Diagnostics(
            error_type=Reserved.PREVIEW_UNAVAILABLE.value,
            advice=f"A person would have to approve this, and its preview cannot be made ({why}). "
            "Nothing was asked and nothing was sent. Reach the goal another way.",
        ),
    )


def rejected(action: Action, reason: str) -> Observed:
    """What a model is told when a person said no."""
    return of_action(
        action,
        ObservationStatus.REJECTED,
        diagnostics=Diagnostics(
            error_type="rejected_by_person",
            advice=f"A person rejected this: {visible(reason)}"
            if reason
            else "A person rejected this. Propose another way.",
        ),
    )


def failed(action: Action, error: CapabilityError, trust: Trust = Trust.PLATFORM) -> Observed:
    """What a model is told when a capability could not do what was asked."""
    return of_action(
        action,
        ObservationStatus.FAILED,
        diagnostics=Diagnostics(
            error_type=error.code,
            retryable=error.retryable,
            effect_possible=error.effect_possible,
            advice=visible(error.advice or str(error)),
        ),
        trust=trust,
    )


def shown(value: Any) -> Any:
    """A structured result with text that any store can hold."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        items = cast(Mapping[Any, Any], value).items()
        return {visible(str(key)): shown(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [shown(item) for item in cast(Sequence[Any], value)]
    return value
