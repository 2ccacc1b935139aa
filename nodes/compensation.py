"""Compensation: an action of its own that undoes an effect, which stays on the record."""

from typing import Any

from checkrein.contracts.check import Strength
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.proposal import ToolProposal
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import CapabilityError, InputError
from checkrein.nodes.run import Run
from checkrein.ports.records import EffectRecord, Position

ARGUMENT = "effect_id"
"""The argument by which a compensating capability is told what it undoes."""


async def compensated(run: Run, position: Position, proposal: ToolProposal) -> str | None:
    """The effect that a proposal would undo; None where its capability compensates nothing.

    Raises:
        CapabilityError: it names no committed effect of this task by the capability it undoes.
    """
    undone = run.ports.capabilities[proposal.capability].spec.compensates
    if undone is None:
        return None
    named: Any = proposal.args.get(ARGUMENT)
    record = await _record(run, named) if isinstance(named, str) else None
    if record is None or record.task_id != position.attempt.task_id:
        raise _refused(proposal, f"{ARGUMENT} names no effect of this task")
    if record.capability.rpartition("@")[0] != undone:
        raise _refused(proposal, f"the effect is one of {record.capability}, not of {undone}")
    if record.effect.status is not EffectStatus.COMMITTED:
        raise _refused(proposal, f"the effect is {record.effect.status}: there is nothing to undo")
    return record.effect.effect_id


async def not_shown(run: Run) -> list[CheckResult]:
    """A failed check for each effect that reading back did not show, unless it is compensated."""
    ledger = await run.lease.records.ledger(run.attempt_id)
    undone = {
        record.args.get(ARGUMENT)
        for record in ledger
        if record.effect.status is EffectStatus.COMMITTED and _compensates(run, record)
    }
    return [
        CheckResult(
            kind="read_back",
            name=f"{record.capability} shows in the real system",
            status=CheckStatus.FAIL,
            gap=f"effect {record.effect.effect_id} has its receipt, and reading it back does not "
            "show it; compensate it, or ask the person",
            strength=Strength.STATE,
        )
        for record in ledger
        if record.effect.verified is False and record.effect.effect_id not in undone
    ]


def _compensates(run: Run, record: EffectRecord) -> bool:
    capability = run.ports.capabilities.get(record.capability.rpartition("@")[0])
    return capability is not None and capability.spec.compensates is not None


async def _record(run: Run, effect_id: str) -> EffectRecord | None:
    try:
        return await run.lease.records.effect(effect_id)
    except InputError:
        return None


def _refused(proposal: ToolProposal, why: str) -> CapabilityError:
    return CapabilityError(
        f"{proposal.capability} cannot undo that: {why}.",
        op="compensation.named",
        code="nothing_to_compensate",
        advice=f"It undoes one committed effect: {why}. The effect's id stands in its result.",
    )
