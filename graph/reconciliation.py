"""Settling an effect whose fate is not known: by its target's word, or by a person with evidence.

An unknown effect is never guessed at and never given a fresh key. Both ways take the attempt's
lease, so that no former owner can still write, and both append an event that says how it was known.
"""

from typing import Literal, NamedTuple

from checkrein.contracts.effect import FINAL, EffectStatus, Outcome, OutcomeSource
from checkrein.contracts.event import EffectReconciled
from checkrein.contracts.task import TaskContract
from checkrein.errors import ConflictError, InputError
from checkrein.graph.lifecycle import FrontDoor
from checkrein.graph.opening import reopened
from checkrein.nodes.approvers import is_authority
from checkrein.nodes.asking import prove
from checkrein.nodes.metering import booked
from checkrein.nodes.settling import shown
from checkrein.ports.leases import Lease
from checkrein.ports.records import EffectRecord

RECONCILER = "reconciler"
"""The role that may settle effects by hand, where the contract names somebody for it."""

MAX_EVIDENCE = 2_000
"""Characters of a person's evidence."""

Settled = Literal["committed", "not-applied"]


class Reconciled(NamedTuple):
    """An effect after it was asked about; `settled` tells whether its fate is known now."""

    record: EffectRecord
    settled: bool


async def reconcile_by_target(door: FrontDoor, effect_id: str) -> Reconciled:
    """Ask the target what became of an effect, and record what it proves.

    Raises:
        InputError: no such effect, or this process lacks its capability.
        ConflictError: it is settled already (code effect_final).
        BusyError: another owner works on its attempt.
    """
    record = await _open_record(door, effect_id)
    attempt_id = record.effect.attempt_id
    async with (
        reopened(door.events, door.records, door.opener, attempt_id) as (_, ports),
        door.leases.hold(attempt_id) as lease,
    ):
        name = record.capability.rpartition("@")[0]
        capability = ports.capabilities.get(name)
        if capability is None:
            raise InputError(
                f"The effect is one of {name}, which this process does not have. Name it in "
                "CHECKREIN_CAPABILITIES, or settle it by hand: checkrein reconcile "
                f"{effect_id} --as WHO --outcome committed|not-applied --evidence REF.",
                op="reconciliation.by_target",
                code="unknown_capability",
            )
        record = await _open_record(door, effect_id)  # now that nobody else can settle it
        outcome = await prove(capability, record.effect)
        if outcome is None:
            return Reconciled(record, settled=False)
        told = EffectReconciled(
            effect_id=effect_id,
            action_id=record.effect.action_id,
            outcome=shown(outcome),
            source=OutcomeSource.RECONCILED,
        )
        await _append(lease, told)
    return Reconciled(await door.records.effect(effect_id), settled=True)


async def reconcile_by_person(
    door: FrontDoor,
    effect_id: str,
    outcome: Settled,
    *,
    by: str,
    evidence: str,
    authenticated: bool = False,
) -> Reconciled:
    """Record a person's word on what became of an effect, marked as such, with what it rests on.

    Raises:
        InputError: no such effect; the person may not settle it (code reconciler_not_permitted);
            no evidence is named.
        ConflictError: it is settled already (code effect_final).
        BusyError: another owner works on its attempt.
    """
    if not 0 < len(evidence.strip()) <= MAX_EVIDENCE:
        raise InputError(
            f"Name the evidence in 1 to {MAX_EVIDENCE} characters: a receipt, a log line.",
            op="reconciliation.by_person",
            code="evidence_missing",
        )
    record = await _open_record(door, effect_id)
    attempt_id = record.effect.attempt_id
    authority = _authority(await door.events.contract(attempt_id), by)
    async with door.leases.hold(attempt_id) as lease:
        await _open_record(door, effect_id)
        committed = outcome == "committed"
        said = Outcome(
            status=EffectStatus.COMMITTED if committed else EffectStatus.NOT_APPLIED,
            error_type=None if committed else "not_applied",
            message=f"settled by hand: {outcome}",
        )
        told = EffectReconciled(
            effect_id=effect_id,
            action_id=record.effect.action_id,
            outcome=said,
            source=OutcomeSource.MANUAL,
            by=by,
            authority=authority,
            authenticated=authenticated,
            evidence=evidence.strip(),
        )
        await _append(lease, told)
    return Reconciled(await door.records.effect(effect_id), settled=True)


async def _open_record(door: FrontDoor, effect_id: str) -> EffectRecord:
    record = await door.records.effect(effect_id)
    if record.effect.status in FINAL:
        raise ConflictError(
            f"Effect {effect_id} is {record.effect.status}, which is final; nothing changes it. "
            "What it did can only be compensated, by an action of its own.",
            op="reconciliation.open",
            code="effect_final",
            context={"status": str(record.effect.status)},
        )
    return record


async def _append(lease: Lease, told: EffectReconciled) -> None:
    position = await lease.records.position(lease.attempt_id)
    turn = 0 if position.turn is None else position.turn.turn
    await lease.events.append(lease.attempt_id, [told, *booked(position, turn)], fence=lease.fence)


def _authority(contract: TaskContract, by: str) -> str:
    """The right by which a person may settle an effect of a task."""
    roles = contract.approvals.roles
    if RECONCILER in roles:
        wanted, people = RECONCILER, roles[RECONCILER]
    else:
        wanted, people = "approver", roles.get("approver", [])
        if is_authority(contract, by):
            return "commit_authority"
    if by in people:
        return wanted
    may = f"{', '.join(people)} may" if people else "the contract names nobody who may"
    raise InputError(
        f"{by} may not settle effects of this task: it wants the role {wanted}, and {may}.",
        op="reconciliation.by_person",
        code="reconciler_not_permitted",
    )
