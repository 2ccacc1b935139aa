"""A person's signature under what was verified: the third finish, which no other implies."""

from checkrein.contracts.approval import Approver
from checkrein.contracts.event import UserAccepted
from checkrein.errors import ConflictError, InputError
from checkrein.graph.opening import Opener
from checkrein.graph.report import Report, report
from checkrein.graph.verified_state import (
    check_identity,
    check_stands,
    verified_attempt,
    verified_work,
)
from checkrein.nodes.approvers import ACCEPTER, accepts_as
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records

_OP = "acceptance.accept"

MAX_NOTE = 4_000
"""Longest note, in characters."""


async def accept(
    events: EventStore, records: Records, opener: Opener, what: str, who: Approver, note: str = ""
) -> Report:
    """Sign what was verified of a task, or in one attempt (`what` is the id of either).

    The signature binds the verified state's digest and the candidate's hash. It is stored in the
    attempt's chain, after its end, and publishes nothing.

    Raises:
        InputError: there is no such thing, or the person may not (accepter_not_permitted,
            identity_required, other_tenant or revoked).
        ConflictError: nothing was verified (not_verified), what was verified does not stand any
            more (state_moved), or they have signed already (accepted_already).
        EnvironmentFault: the workspace cannot be looked at from here.
    """
    if len(note) > MAX_NOTE:
        raise InputError(f"A note has at most {MAX_NOTE} characters.", op=_OP, code="note_too_long")
    try:
        verified = await verified_work(events, records, what, op=_OP)
    except InputError as unknown:
        if unknown.code != "unknown_task":
            raise
        verified = await verified_attempt(events, records, await records.resolve(what), op=_OP)
    check_identity(verified, who, op=_OP)
    contract, attempt_id = verified.contract, verified.attempt.attempt_id
    authority = accepts_as(contract, who.name)
    if authority is None:
        people = [contract.requested_by, *contract.approvals.roles.get(ACCEPTER, [])]
        raise InputError(
            f"{who.name} may not accept this result; {', '.join(dict.fromkeys(people))} may.",
            op=_OP,
            code="accepter_not_permitted",
        )
    if any(signed.by == who.name for signed in (await report(records, attempt_id)).signatures):
        raise ConflictError(f"{who.name} has accepted it already.", op=_OP, code="accepted_already")
    await check_stands(opener, verified, op=_OP)
    signed = UserAccepted(
        state_digest=verified.state_digest,
        candidate_hash=verified.candidate_hash,
        by=who.name,
        authority=authority,
        authenticated=who.authenticated,
        note=note,
    )
    await events.append(attempt_id, [signed], fence=None)
    return await report(records, attempt_id)
