"""Whose yes counts now: by name and role, and by what has happened since it was given."""

from collections.abc import Iterable, Mapping, Sequence

from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.task import RISK_ORDER, TaskContract
from checkrein.ports.records import Position

ANONYMOUS = "anonymous"
"""The name of nobody in particular, whose answers count where the contract says so."""


def still_may(
    contract: TaskContract,
    position: Position,
    name: str,
    *,
    authenticated: bool,
    roles: Iterable[str],
    apart: frozenset[str] = frozenset(),
) -> bool:
    """Whether a yes that somebody gave counts right now.

    Args:
        roles: those of which they must have one.
        apart: those who may not approve, their duties being others.
    """
    if f"user:{name}" in position.revocations or name in apart:
        return False
    if not (authenticated or asserted_is_enough(contract)):
        return False
    if name == ANONYMOUS and contract.approvals.anonymous:
        return True
    return any(name in contract.approvals.roles.get(role, []) for role in roles)


def barred(request: ApprovalRequest, task_requested_by: str) -> frozenset[str]:
    """Who may not answer where duties are separated: who asked for the task, or wrote the edit."""
    apart = {request.requested_by, task_requested_by}
    return frozenset(apart if request.terms.separation_of_duty else ())


def may_answer(
    request: ApprovalRequest, people: Mapping[str, Sequence[str]], task_requested_by: str
) -> list[str]:
    """Who may answer a request now, in the contract's order; `people` by role."""
    named = (person for role in request.roles for person in people.get(role, ()))
    apart = barred(request, task_requested_by)
    return [person for person in dict.fromkeys(named) if person not in apart]


def asserted_is_enough(contract: TaskContract) -> bool:
    """Whether a name that nobody proved is good for the risk of this task."""
    limit = contract.approvals.asserted_up_to
    return RISK_ORDER.index(contract.risk) <= RISK_ORDER.index(limit)


def is_authority(contract: TaskContract, name: str) -> bool:
    """Whether a person is the commit authority: of the role that it names, or by that name."""
    named = contract.commit_authority
    return named is not None and (name == named or name in contract.approvals.roles.get(named, []))


def authorities(contract: TaskContract) -> list[str]:
    """The people who are the commit authority; where it is no role, the one of that name."""
    named = contract.commit_authority
    return [] if named is None else contract.approvals.roles.get(named, []) or [named]


ACCEPTER = "accepter"
"""The role whose people may sign what was verified, beside the requester."""


def accepts_as(contract: TaskContract, name: str) -> str | None:
    """As what a person may sign what was verified; None where they may not."""
    if name in contract.approvals.roles.get(ACCEPTER, []):
        return ACCEPTER
    return "requester" if name == contract.requested_by else None
