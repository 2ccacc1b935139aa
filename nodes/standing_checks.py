"""What is always looked at besides a contract's own checks, from the database's own record."""

from collections.abc import Sequence

from checkrein.contracts.artifact import Artifact
from checkrein.contracts.check import REPORTS_TESTS, Strength
from checkrein.contracts.decision import Verdict
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.task import TaskContract, shortfall
from checkrein.contracts.verification import PUBLISHABLE, CheckResult, CheckStatus
from checkrein.errors import IntegrityError
from checkrein.nodes.run import Run
from checkrein.ports.records import Position, SentEffect

MAX_NAMED = 20
"""Paths that are named of those that cannot be handed over."""

_ALLOWED = frozenset({Verdict.ALLOW, Verdict.CONSTRAINED_ALLOW})
_UNSETTLED = frozenset({EffectStatus.EXECUTING, EffectStatus.UNKNOWN_EFFECT})


async def policy_obeyed(run: Run) -> CheckResult:
    """Whether everything that left was allowed or approved, and nothing is on its way.

    No model can mend what was done without permission; a person must look.
    """
    sent = await run.lease.records.sent(run.attempt_id)
    wrong = [f"{effect.capability} {why}" for effect in sent for why in _disobeyed(effect)]
    return CheckResult(
        kind="policy_obeyed",
        name="policy obeyed throughout",
        status=CheckStatus.FAIL if wrong else CheckStatus.PASS,
        gap="; ".join(wrong[:5]),
        strength=Strength.GUARD,
        repairable=False,
        measured={"effects": len(sent)},
    )


def _disobeyed(effect: SentEffect) -> list[str]:
    if effect.status in _UNSETTLED:
        return ["was sent and nobody can say whether it happened"]
    if effect.verdict is None:
        return ["was sent without a decision of the policy"]
    if not effect.same_operation:
        return ["was sent as another operation than was decided on"]
    if effect.verdict in _ALLOWED or (
        effect.verdict is Verdict.REQUIRE_APPROVAL and effect.granted
    ):
        return []
    return [f"was sent although the policy said {effect.verdict} and nobody approved it"]


def strong_enough(contract: TaskContract) -> list[CheckResult]:
    """A failed check where the contract's checks prove too little for its risk.

    No contract is read that has too few; this one may have been made in another way.
    """
    short = shortfall(contract.risk, {check.strength for check in contract.success})
    if short is None:
        return []
    return [
        CheckResult(
            kind="strength",
            name="checks strong enough for the risk",
            status=CheckStatus.FAIL,
            gap=short,
            strength=Strength.GUARD,
            repairable=False,
        )
    ]


def acceptance(contract: TaskContract, position: Position, sealed: str) -> list[CheckResult]:
    """Whether a person accepted this very state, where the contract wants that."""
    if not contract.approvals.result:
        return []
    accepted = position.result_accepted == sealed
    late = "it was changed after a person accepted it" if position.result_accepted else None
    return [
        CheckResult(
            kind="accepted",
            name="a person accepted the result",
            status=CheckStatus.PASS if accepted else CheckStatus.FAIL,
            gap=""
            if accepted
            else f"{late or 'no person has accepted it'}; hand it in by result_submit",
            strength=Strength.PERSON,
        )
    ]


async def publishable(run: Run) -> list[CheckResult]:
    """Whether the final commit could apply all that was changed, where that is its part.

    What nobody could ever hand over is not accepted; so it is said while it can be mended.
    """
    if not run.contract.moves_files:
        return []
    status, gap = CheckStatus.PASS, ""
    try:
        found = await run.ports.workspace.unpublishable()
    except IntegrityError:
        # The message names folders of this machine.
        status, gap = CheckStatus.ERROR, "the record of the files as they were has been altered"
    else:
        if found:
            status, more = CheckStatus.FAIL, len(found) - MAX_NAMED
            gap = "these changes cannot be handed over; undo them, or make ordinary files of them"
            gap += "".join(f"\n- {one}" for one in found[:MAX_NAMED])
            gap += f"\nand {more} more" if more > 0 else ""
    return [
        CheckResult(
            kind=PUBLISHABLE,
            name="the result can be handed over",
            status=status,
            gap=gap,
            strength=Strength.GUARD,
        )
    ]


async def products(
    run: Run, results: Sequence[CheckResult], artifacts: Sequence[Artifact]
) -> list[CheckResult]:
    """Whether what the harness itself was to make is there, and is what it was when stored."""
    if not run.contract.artifacts:
        return []
    made = {
        "diff": [artifact.uri for artifact in artifacts],
        "test_report": reports_of_tests(results),
    }
    missing = [name for name in run.contract.artifacts if not made[name]]
    status, gap = CheckStatus.PASS, ""
    if missing:
        status, gap = CheckStatus.FAIL, f"there is no {' and no '.join(missing)}"
    try:
        for name in run.contract.artifacts:
            for ref in made[name]:
                await run.ports.artifacts.get(ref)
    except IntegrityError:
        # The message names folders of this machine.
        status, gap = CheckStatus.ERROR, "an artifact is not what it was when it was stored"
    return [
        CheckResult(
            kind="artifacts",
            name="declared artifacts present",
            status=status,
            gap=gap,
            strength=Strength.GUARD,
        )
    ]


def reports_of_tests(results: Sequence[CheckResult]) -> list[str]:
    """What tests said when they ran; an opinion or a scan is kept too, and is no such report."""
    return [
        result.evidence_ref
        for result in results
        if result.evidence_ref is not None and result.kind in REPORTS_TESTS
    ]


def moved(*, repairable: bool) -> CheckResult:
    """The state is not the one that was sealed.

    With hidden tests it cannot be mended: what ran among them may have written down what it saw.
    """
    return CheckResult(
        kind="digest",
        name="state unchanged while it was verified",
        status=CheckStatus.FAIL,
        gap="the workspace changed after the candidate was sealed; look at it again",
        strength=Strength.GUARD,
        repairable=repairable,
    )
