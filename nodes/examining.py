"""Examining a sealed candidate: which checks are run, in which order, and what they amount to.

Cheap guards come first and persons last. What costs money or a person's time is asked for only
where everything before it has passed; all other checks are run in any case, so that one repair can
mend all that is wrong.
"""

from collections.abc import Sequence
from typing import NamedTuple

from checkrein.contracts.artifact import Artifact
from checkrein.contracts.check import (
    Check,
    HumanCheck,
    PolicyObeyedCheck,
    Strength,
    UnchangedCheck,
)
from checkrein.contracts.check_tests import hides_tests
from checkrein.contracts.verification import (
    CheckResult,
    CheckStatus,
    VerificationResult,
    check_id,
)
from checkrein.errors import EnvironmentFault
from checkrein.nodes.compensation import not_shown
from checkrein.nodes.opinions import known, named, opinion
from checkrein.nodes.published import published
from checkrein.nodes.run import Run
from checkrein.nodes.standing_checks import (
    acceptance,
    moved,
    policy_obeyed,
    products,
    publishable,
    strong_enough,
)
from checkrein.ports.records import Position
from checkrein.ports.verifier import Examination, Verifier

VERSION = "gate/1"

ORDER = (
    Strength.GUARD,
    Strength.STATE,
    Strength.OUTPUT,
    Strength.TESTS,
    Strength.JUDGE,
    Strength.PERSON,
)
"""By what a check costs; not by what it proves."""

COSTLY = frozenset({Strength.JUDGE, Strength.PERSON})


class Examined(NamedTuple):
    """What was found, and by which verifiers."""

    results: list[CheckResult]
    versions: set[str]


async def examined(
    run: Run, position: Position, turn: int, sealed: str, artifacts: Sequence[Artifact]
) -> Examined:
    """Every check of the contract but those by people, and what is always looked at besides.

    Raises:
        EnvironmentFault: the machine lacks what a check needs.
        OutOfBudget: a judge's call does not fit, which is on record.
        WorkStopped: the run is to stop.
    """
    obeyed = await policy_obeyed(run)
    if position.attempt.commit is not None:
        # A commit is judged by what stands at its target, alone.
        target = await published(run, position.attempt.commit, sealed)
        return Examined([obeyed, *target, *await not_shown(run)], {VERSION})
    found = Examined(
        [
            obeyed,
            *strong_enough(run.contract),
            *await not_shown(run),
            *acceptance(run.contract, position, sealed),
            *await publishable(run),
        ],
        {VERSION},
    )
    if run.contract.protected:
        guard = UnchangedCheck(unchanged=run.contract.protected)
        found.results.append(await _judged(run, turn, guard, sealed, found.versions))
    checks = [check for check in run.contract.success if not isinstance(check, HumanCheck)]
    for check in sorted(checks, key=lambda check: ORDER.index(check.strength)):
        if check.strength in COSTLY and not all(map(_passed, found.results)):
            continue
        if isinstance(check, PolicyObeyedCheck):
            result = obeyed
        else:
            result = await _judged(run, turn, check, sealed, found.versions)
        found.results.append(result.model_copy(update={"check_id": check_id(check)}))
    found.results.extend(await products(run, found.results, artifacts))
    if await run.ports.workspace.digest() != sealed:
        found.results.append(_moved(run))
    return found


def _passed(result: CheckResult) -> bool:
    return result.status is CheckStatus.PASS


def _moved(run: Run) -> CheckResult:
    return moved(repairable=not hides_tests(run.contract.success))


async def _judged(
    run: Run, turn: int, check: Check, sealed: str, versions: set[str]
) -> CheckResult:
    """Run one check on a copy of its own, which must be a copy of what was sealed."""
    workspace, verifier = run.ports.workspace, _verifier_of(run, check)
    versions.add(verifier.version)
    if check.strength is Strength.JUDGE:
        said = await known(run, sealed, check)
        if said is not None:
            return said
    async with workspace.scratch() as folder:
        copy = folder / "candidate"
        if await workspace.copy_to(copy) != sealed:
            return _moved(run)
        examination = Examination(
            attempt_id=run.attempt_id, contract=run.contract, copy_root=copy, state_digest=sealed
        )
        found = await opinion(run, turn, check, verifier, examination)
    return found.model_copy(update=named(check))


def _verifier_of(run: Run, check: Check) -> Verifier:
    verifier = next((each for each in run.ports.verifiers if each.judges(check)), None)
    if verifier is None:
        raise EnvironmentFault(f"No verifier judges {type(check).__name__}.", op="gate.judge")
    return verifier


def verdict_of(run: Run, sealed: str, found: Examined) -> VerificationResult:
    """What the checks amount to. Any that could not run leaves it undecided."""
    bad = [check for check in found.results if not _passed(check)]
    undecided = any(check.status is CheckStatus.ERROR for check in bad)
    worst = CheckStatus.ERROR if undecided else CheckStatus.FAIL
    return VerificationResult(
        contract_version=run.contract_version,
        verifier_version=", ".join(sorted(found.versions)),
        # What was asked for stands first.
        checks=sorted(found.results, key=lambda check: check.check_id is None),
        status=worst if bad else CheckStatus.PASS,
        state_digest=sealed,
        evidence_refs=[check.evidence_ref for check in found.results if check.evidence_ref],
        environment_ref="copy",
        repairable=bool(bad) and not undecided and all(check.repairable for check in bad),
        gaps=[f"{check.name}: {check.gap}" for check in bad],
    )
