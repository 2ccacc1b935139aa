"""What people say of the sealed candidate, where the contract has `human` checks."""

from collections.abc import Sequence

from checkrein.contracts.check import HumanCheck
from checkrein.contracts.codec import visible
from checkrein.contracts.event import JudgementAsked
from checkrein.contracts.judgement import Judgement, check_name
from checkrein.contracts.task import TaskContract
from checkrein.contracts.verification import CheckResult, CheckStatus, check_id
from checkrein.nodes.approvers import still_may
from checkrein.nodes.run import Run
from checkrein.ports.records import Position

GAP_LIMIT = 2_000
"""Characters of a person's note that the model is shown."""


async def judged_by_people(
    run: Run, turn: int, sealed: str, others: Sequence[CheckResult]
) -> list[CheckResult] | None:
    """What people said of this very state; None where they have to be asked, and are now.

    Nobody's time is asked for while another check says no.
    """
    position = await run.position()
    if position.attempt.commit is not None:
        return []  # people judged what is handed over
    checks = {check_name(c.human): c for c in run.contract.success if isinstance(c, HumanCheck)}
    if not checks or any(other.status is not CheckStatus.PASS for other in others):
        return []
    asked = {j.check: j for j in position.judgements if j.state_digest == sealed}
    said = {
        name: asked[name]
        for name in checks
        if name in asked and counts(run.contract, position, asked[name])
    }
    refused = any(judgement.verdict == "fail" for judgement in said.values())
    missing = [name for name in checks if name not in said]
    if missing and not refused:
        await run.record(
            *(
                JudgementAsked(
                    turn=turn,
                    check=name,
                    role=checks[name].human.role,
                    question=checks[name].human.question,
                    state_digest=sealed,
                )
                for name in missing
                if name not in asked or not asked[name].open
            )
        )
        return None
    return [_result(checks[name], judgement) for name, judgement in said.items()]


def counts(contract: TaskContract, position: Position, judgement: Judgement) -> bool:
    """Whether somebody said so who still may; a yes of one who may not any more is asked anew."""
    if judgement.open:
        return False
    separate = contract.approvals.separation_of_duty
    return judgement.verdict == "fail" or still_may(
        contract,
        position,
        judgement.by,
        authenticated=judgement.authenticated,
        roles=[judgement.role],
        apart=frozenset({contract.requested_by} if separate else ()),
    )


def _result(check: HumanCheck, judgement: Judgement) -> CheckResult:
    passed = judgement.verdict == "pass"
    note = visible(judgement.note)[:GAP_LIMIT]
    told = f"{judgement.by}, who judged it as {judgement.role}, says no: {note}"
    return CheckResult(
        kind="human",
        name=judgement.check,
        status=CheckStatus.PASS if passed else CheckStatus.FAIL,
        gap="" if passed else told,
        strength=check.strength,
        check_id=check_id(check),
    )
