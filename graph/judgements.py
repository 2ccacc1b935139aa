"""Judging a sealed candidate: who may, and of what. Stored when it is said, whoever works on it."""

from checkrein.contracts.approval import Approver
from checkrein.contracts.event import JudgementGiven
from checkrein.contracts.judgement import NOTE_LIMIT, Judgement, Word
from checkrein.contracts.task import TaskContract
from checkrein.errors import ConflictError, InputError
from checkrein.nodes.approvers import ANONYMOUS, asserted_is_enough
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Position, Records

_OP = "judgements.give"


async def give_judgement(
    events: EventStore,
    records: Records,
    attempt_id: str,
    who: Approver,
    *,
    verdict: Word,
    note: str = "",
    about: str = "",
) -> Judgement:
    """Store what a person says of the sealed candidate.

    Args:
        note: why; a fail needs it, since the model is told.
        about: a part of the check's name, where more than one waits for this person.

    Raises:
        InputError: the person may not judge it, more than one check is meant, or a fail says not
            why.
        ConflictError: nobody is asked to judge anything, or somebody was faster.
    """
    contract = await events.contract(attempt_id)
    if who.tenant is not None and who.tenant != contract.tenant:
        raise _refused(f"There is no attempt {attempt_id} for {who.tenant}.", "other_tenant")
    if verdict == "fail" and not note.strip():
        raise _refused("Say what is wrong: the model is told, and may mend it.", "note_missing")
    if len(note) > NOTE_LIMIT:
        raise _refused(f"The note is longer than {NOTE_LIMIT} characters.", "note_too_long")
    position = await records.position(attempt_id)
    asked = position.asks_people
    if not asked:
        raise ConflictError(
            f"Attempt {attempt_id} is {position.attempt.status}; nobody is asked to judge it.",
            op=_OP,
            code="nothing_to_judge",
        )
    _check_known(contract, who)
    meant = _meant(_theirs(contract, position, asked, who), about)
    given = JudgementGiven(
        check=meant.check,
        state_digest=meant.state_digest,
        verdict=verdict,
        by=who.name,
        authenticated=who.authenticated,
        note=note,
    )
    await events.append(attempt_id, [given], fence=None)
    return meant.model_copy(update=given.model_dump(exclude={"v", "type"}))


def may_judge(contract: TaskContract, judgement: Judgement) -> list[str]:
    """Who may say something to it, in the contract's order."""
    people = contract.approvals.roles.get(judgement.role, [])
    apart = contract.requested_by if contract.approvals.separation_of_duty else None
    return [name for name in people if name != apart]


def _check_known(contract: TaskContract, who: Approver) -> None:
    if not (who.authenticated or asserted_is_enough(contract)):
        raise _refused(
            f"This task's risk is {contract.risk}, and a name that is only asserted is good up to "
            f"{contract.approvals.asserted_up_to}. Judge with a token (`checkrein token issue`).",
            "identity_required",
        )
    if who.name == ANONYMOUS and not contract.approvals.anonymous:
        raise _refused(
            "Nobody is named as the one who judges. Say who you are: --as WHO.",
            "identity_required",
        )


def _theirs(
    contract: TaskContract, position: Position, asked: list[Judgement], who: Approver
) -> list[Judgement]:
    """What this person may judge, of what is asked."""
    if who.name == ANONYMOUS:
        return asked
    if f"user:{who.name}" in position.revocations:
        raise _refused(f"{who.name} was revoked and may not judge.", "judge_not_permitted")
    theirs = [j for j in asked if who.name in may_judge(contract, j)]
    if theirs:
        return theirs
    roles = " or ".join(dict.fromkeys(j.role for j in asked))
    holds = any(who.name in contract.approvals.roles.get(j.role, []) for j in asked)
    if holds:
        raise _refused(
            f"{who.name} asked for this task and may not judge its result: duties are separated.",
            "requester_excluded",
        )
    people = sorted({name for j in asked for name in may_judge(contract, j)})
    may = f"{', '.join(people)} may" if people else "the contract names nobody who may"
    raise _refused(
        f"{who.name} may not judge this: it wants the role {roles}, and {may}.",
        "judge_not_permitted",
    )


def _meant(theirs: list[Judgement], about: str) -> Judgement:
    found = [j for j in theirs if about.casefold() in j.check.casefold()]
    if len(found) == 1:
        return found[0]
    names = "; ".join(j.check for j in theirs)
    problem = "Several checks wait" if found else f"No check that waits is called {about!r}"
    raise _refused(f"{problem}. Name one by a part of it (--check): {names}.", "which_check")


def _refused(message: str, code: str) -> InputError:
    return InputError(message, op=_OP, code=code)
