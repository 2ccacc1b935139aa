"""What makes a final commit true: its target is at the verified state, its act has a receipt."""

from checkrein.contracts.attempt import CommitOf
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.observation import ObservationStatus
from checkrein.contracts.task import PUBLISH
from checkrein.contracts.verification import PUBLISHED, CheckResult, CheckStatus
from checkrein.nodes.run import Run

DONE = frozenset({ObservationStatus.OK, ObservationStatus.NO_CHANGE})
"""Results of a commit that leave its target as it should be."""


async def published(run: Run, commit: CommitOf, found: str) -> list[CheckResult]:
    """Whether the target holds what was verified (`found`: its digest now), by an act of record."""
    stands = found == commit.state_digest
    state = "" if stands else f"the target is at {found[:19]}, not at {commit.state_digest[:19]}"
    return [_check("the target is at the verified state", state), await _act(run)]


async def _act(run: Run) -> CheckResult:
    """The commit's one act: with a receipt, or found done already where that is enough."""
    capability = run.contract.commit_act.capability
    effects = await run.lease.records.effects(run.attempt_id)
    committed = any(effect.status is EffectStatus.COMMITTED for effect in effects)
    history = await run.lease.records.history(run.attempt_id, before=1 << 30, limit=10)
    shown = [seen for turn in history for seen in turn.observations]
    name = f"{capability} has its receipt"
    if committed or (capability == PUBLISH and any(seen.status in DONE for seen in shown)):
        return _check(name, "")
    told = next((seen.diagnostics for seen in shown if seen.diagnostics is not None), None)
    return _check(
        name, "it did not happen" if told is None else f"{told.error_type}: {told.advice}"
    )


def _check(name: str, gap: str) -> CheckResult:
    status = CheckStatus.FAIL if gap else CheckStatus.PASS
    return CheckResult(kind=PUBLISHED, name=name, status=status, gap=gap, repairable=False)
