"""completion_gate: seal the candidate, let independent code judge it, and compare again."""

from checkrein.contracts.artifact import Artifact, ChangedFile
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.codec import digest_of, visible
from checkrein.contracts.event import (
    AttemptEnded,
    BudgetReserved,
    BudgetSettled,
    CandidateSealed,
    VerificationFinished,
    VerificationStarted,
)
from checkrein.contracts.verification import VerificationResult
from checkrein.errors import BudgetExceededError, EnvironmentFault, IntegrityError
from checkrein.nodes.examining import examined, verdict_of
from checkrein.nodes.judgement import judged_by_people
from checkrein.nodes.opinions import OutOfBudget
from checkrein.nodes.proposals import read_reply
from checkrein.nodes.run import Run, Step
from checkrein.nodes.stopping import WorkStopped

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
                changed=await _changed(run),
            ),
            VerificationStarted(turn=turn.turn, state_digest=sealed),
        )
        await run.reach("in_verifier")
        found = await examined(run, position, turn.turn, sealed, artifacts)
        said = await judged_by_people(run, turn.turn, sealed, found.results)
        if said is None:
            return Step("suspend", turn.turn)
        found.results.extend(said)
    except EnvironmentFault as error:
        return await run.broken(error)
    except OutOfBudget:
        return Step("suspend", turn.turn)  # whoever goes on asks the judge, and verifies anew
    except WorkStopped:
        return Step("stopped", turn.turn)
    await run.reach("before_verification")
    return await _verdict(run, turn.turn, verdict_of(run, sealed, found))


async def _verdict(run: Run, turn: int, result: VerificationResult) -> Step:
    if result.accepted:
        await run.record(
            VerificationFinished(turn=turn, result=result, repair=False),
            AttemptEnded(status=AttemptStatus.CANDIDATE_VERIFIED, detail="every check passed"),
        )
        await run.reach("after_verification")
        return Step("verified", turn)
    if result.undecided:
        await run.record(
            VerificationFinished(turn=turn, result=result, repair=False),
            AttemptEnded(
                status=AttemptStatus.ENVIRONMENT_ERROR,
                detail=f"a check could not run: {'; '.join(result.gaps)}"[:1000],
                error_type="check_not_run",
            ),
        )
        await run.reach("after_verification")
        return Step("environment_error", turn)
    if result.repairable and await _repaired(run, turn, result):
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


async def _repaired(run: Run, turn: int, result: VerificationResult) -> bool:
    """Give the model another round, where one fits into the budget."""
    one = {Budget.REPAIRS: 1}
    try:
        await run.record(
            BudgetReserved(turn=turn, amounts=one),
            VerificationFinished(turn=turn, result=result, repair=True),
            BudgetSettled(turn=turn, released=one, spent=one),
        )
    except BudgetExceededError:
        return False
    return True


async def _changed(run: Run) -> list[ChangedFile]:
    """Which files the candidate changed, for whoever reads the evidence; no check goes by it.

    Nothing is told where the record of the beginning is not on this machine, or was tampered with:
    the checks that need it say so themselves.
    """
    try:
        return await run.ports.workspace.changed_files() or []
    except (EnvironmentFault, IntegrityError):
        return []


async def _artifacts(run: Run) -> list[Artifact]:
    """Make the artifacts that the contract expects of the candidate itself."""
    if "diff" not in run.contract.artifacts:
        return []
    try:
        data = (await run.ports.workspace.diff()).encode("utf-8", "backslashreplace")
    except IntegrityError:
        return []  # the check for expected artifacts says that it is not there
    return [
        await run.ports.artifacts.put(
            data, name="changes.diff", media_type="text/x-diff", producer="completion_gate"
        )
    ]
