"""What makes a final commit true: its target is at the verified state, its act has a receipt."""

from checkrein.contracts.attempt import CommitOf
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.observation import Observation, ObservationStatus
from checkrein.contracts.verification import PUBLISHED, CheckResult, CheckStatus
from checkrein.nodes.run import Run


async def published(run: Run, commit: CommitOf, found: str) -> list[CheckResult]:
    """Whether the target holds what was verified (`found`: its digest now), by an act of record."""
    stands = found == commit.state_digest
    state = "" if stands else f"the target is at {found[:19]}, not at {commit.state_digest[:19]}"
    return [_check("the target is at the verified state", state), await _act(run)]


async def _act(run: Run) -> CheckResult:
    """The commit's one act: with a receipt, its own or that of an earlier commit, or not needed."""
    capability = run.contract.commit_act.capability
    effects = await run.lease.records.effects(run.attempt_id)
    committed = any(effect.status is EffectStatus.COMMITTED for effect in effects)
    history = await run.lease.records.history(run.attempt_id, before=1 << 30, limit=10)
    shown = [seen for turn in history for seen in turn.observations]
    name = f"{capability} has its receipt"
    if committed or any([await _done_already(run, seen) for seen in shown]):
        return _check(name, "")
    told = next((seen.diagnostics for seen in shown if seen.diagnostics is not None), None)
    return _check(
        name, "it did not happen" if told is None else f"{told.error_type}: {told.advice}"
    )


async def _done_already(run: Run, seen: Observation) -> bool:
    """Whether nothing had to be sent: the target says so, or the ledger has the receipt."""
    if seen.status is ObservationStatus.NO_CHANGE:
        return True
    if seen.status is not ObservationStatus.OK or seen.effect_id is None:
        return False
    effect = (await run.lease.records.effect(seen.effect_id)).effect
    return effect.status is EffectStatus.COMMITTED and effect.verified is not False


def _check(name: str, gap: str) -> CheckResult:
    status = CheckStatus.FAIL if gap else CheckStatus.PASS
    return CheckResult(kind=PUBLISHED, name=name, status=status, gap=gap, repairable=False)
