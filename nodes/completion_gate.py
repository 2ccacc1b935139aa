"""completion_gate: seal the candidate, let independent code judge it, and compare again."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from checkrein.contracts.artifact import Artifact
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.check import Check, UnchangedCheck
from checkrein.contracts.codec import digest_of, visible
from checkrein.contracts.event import (
    AttemptEnded,
    BudgetSettled,
    CandidateSealed,
    VerificationFinished,
    VerificationStarted,
)
from checkrein.contracts.verification import CheckResult, CheckStatus, VerificationResult
from checkrein.errors import EnvironmentFault
from checkrein.nodes.compensation import not_shown
from checkrein.nodes.proposals import read_reply
from checkrein.nodes.published import published
from checkrein.nodes.run import Run, Step
from checkrein.nodes.stopping import WorkStopped
from checkrein.ports.records import Position
from checkrein.ports.verifier import Examination

SUMMARY_LIMIT = 4_000
"""Characters of the model's closing words that are sealed."""


async def completion_gate(run: Run) -> Step:
    """Judge the candidate. The model's word is no evidence."""
    position = await run.position()
    turn = position.turn
    if turn is None or turn.raw_ref is None or turn.status != "RESPONDED":
        return Step("repair")
    if run.stop.asked:
        return Step("stopped", turn.turn)
    reply = await run.stored_reply(turn.raw_ref)
    summary = visible(read_reply(reply.raw).text)[:SUMMARY_LIMIT]
    try:
        sealed = await run.ports.workspace.digest()
        artifacts = await _artifacts(run)
        await run.record(
            CandidateSealed(
                turn=turn.turn,
                summary=summary,
                state_digest=sealed,
                candidate_hash=digest_of([summary, sealed, [a.hash for a in artifacts]]),
                artifacts=artifacts,
                changed=await run.ports.workspace.changed_files() or [],
            ),
            VerificationStarted(turn=turn.turn, state_digest=sealed),
        )
        await run.reach("in_verifier")
        checks = await _checks(run, position, sealed)
        if await run.ports.workspace.digest() != sealed:
            checks.append(_moved())
    except EnvironmentFault as error:
        return await run.broken(error)
    except WorkStopped:
        return Step("stopped", turn.turn)
    await run.reach("before_verification")
    return await _verdict(run, position, turn.turn, _result(run, sealed, checks))


async def _verdict(run: Run, position: Position, turn: int, result: VerificationResult) -> Step:
    if result.accepted:
        await run.record(
            VerificationFinished(turn=turn, result=result, repair=False),
            AttemptEnded(status=AttemptStatus.CANDIDATE_VERIFIED, detail="every check passed"),
        )
        await run.reach("after_verification")
        return Step("verified", turn)
    if result.repairable and position.budgets[Budget.REPAIRS].left > 0:
        await run.record(
            BudgetSettled(turn=turn, released={}, spent={Budget.REPAIRS: 1}),
            VerificationFinished(turn=turn, result=result, repair=True),
        )
        await run.reach("after_verification")
        return Step("repair", turn)
    await run.record(
        VerificationFinished(turn=turn, result=result, repair=False),
        AttemptEnded(
            status=AttemptStatus.FAILED_VERIFICATION,
            detail="; ".join(result.gaps)[:1000],
            needs_escalation=result.repairable,
        ),
    )
    await run.reach("after_verification")
    return Step("not_verified", turn)


async def _checks(run: Run, position: Position, sealed: str) -> list[CheckResult]:
    """What the candidate must pass. A commit is judged by what stands at its target, alone."""
    if position.attempt.commit is not None:
        return [*await published(run, position.attempt.commit, sealed), *await not_shown(run)]
    return [
        *await _judged(run, sealed),
        *await not_shown(run),
        *_acceptance(run, position, sealed),
    ]


async def _judged(run: Run, sealed: str) -> list[CheckResult]:
    """Run every check, each on a copy of its own, which must be a copy of what was sealed."""
    workspace = run.ports.workspace
    protected = run.contract.protected
    checks: list[Check] = list(run.contract.success)
    if protected:
        checks.append(UnchangedCheck(unchanged=protected))
    results: list[CheckResult] = []
    for check in checks:
        verifier = next((v for v in run.ports.verifiers if v.judges(check)), None)
        if verifier is None:
            raise EnvironmentFault(f"No verifier judges {check}.", op="gate.judge")
        async with _scratch() as folder:
            copy = folder / "candidate"
            if await workspace.copy_to(copy) != sealed:
                return [*results, _moved()]
            examination = Examination(
                attempt_id=run.attempt_id,
                contract=run.contract,
                copy_root=copy,
                state_digest=sealed,
            )
            judging = verifier.verify(check, examination, workspace)
            results.append(await run.interruptible(judging))
    return results


@asynccontextmanager
async def _scratch() -> AsyncGenerator[Path]:
    """A folder for one check, made and removed off the event loop.

    Raises:
        EnvironmentFault: the machine has no room for one.
    """
    try:
        made = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="checkrein-verify-")
    except OSError as error:
        raise EnvironmentFault(
            f"There is no temporary folder to verify in: {error}. Make room, or set TMPDIR.",
            op="gate.scratch",
            code="no_temporary_folder",
        ) from error
    try:
        yield Path(made.name)
    finally:
        await asyncio.to_thread(made.cleanup)


def _result(run: Run, sealed: str, checks: list[CheckResult]) -> VerificationResult:
    bad = [check for check in checks if check.status is not CheckStatus.PASS]
    return VerificationResult(
        contract_version=run.contract_version,
        verifier_version=", ".join(sorted({v.version for v in run.ports.verifiers})),
        checks=checks,
        status=CheckStatus.PASS if not bad else CheckStatus.FAIL,
        state_digest=sealed,
        evidence_refs=[check.evidence_ref for check in checks if check.evidence_ref],
        environment_ref="copy",
        repairable=bool(bad) and all(check.status is CheckStatus.FAIL for check in bad),
        gaps=[f"{check.name}: {check.gap}" for check in bad],
    )


def _acceptance(run: Run, position: Position, sealed: str) -> list[CheckResult]:
    """Whether a person accepted this very state, where the contract wants that."""
    if not run.contract.approvals.result:
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
        )
    ]


def _moved() -> CheckResult:
    return CheckResult(
        kind="digest",
        name="state unchanged while it was verified",
        status=CheckStatus.FAIL,
        gap="the workspace changed after the candidate was sealed; look at it again",
    )


async def _artifacts(run: Run) -> list[Artifact]:
    """Make the artifacts that the contract expects of the candidate itself."""
    if "diff" not in run.contract.artifacts:
        return []
    data = (await run.ports.workspace.diff()).encode("utf-8", "backslashreplace")
    return [
        await run.ports.artifacts.put(
            data, name="changes.diff", media_type="text/x-diff", producer="completion_gate"
        )
    ]
