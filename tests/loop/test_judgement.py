"""A person judges the sealed candidate: asked by the gate, bound to one state, heard once."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from loops import DONE, call, contract, model_calls, opened, payloads, says

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import JudgementAsked, JudgementGiven
from checkrein.contracts.judgement import Judgement
from checkrein.contracts.task import ApprovalRules, TaskContract
from checkrein.errors import CheckreinError, ConflictError, InputError
from checkrein.nodes.judgement import counts as judgement_counts
from checkrein.ports.records import Position
from checkrein.settings import Settings

HUMAN = {"human": {"role": "lawyer", "question": "Is every finding right?"}}
TRUE = {"command": {"argv": ["true"]}}
WRITE = says("I write.", call("workspace.write_file", path="a.txt", content="two\n"))
ROLES = {"lawyer": ["lea", "alice"], "approver": ["bob"]}


def task(folder: Path, turns: list[dict[str, Any]], **fields: Any) -> TaskContract:
    given: dict[str, Any] = {"success": [TRUE, HUMAN], "approvals": {"roles": ROLES}}
    return contract(folder, turns, **(given | fields))


@pytest.mark.shows(210)
async def test_the_gate_waits_for_a_person_and_goes_on_by_their_yes(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: without a person's word nothing is verified, and the model is not called again."""
    async with opened(settings) as (harness, parts):
        waits = await harness.run(task(tmp_path, [WRITE, DONE]))
        assert waits.status is AttemptStatus.WAITING_FOR_USER
        assert waits.waiting_for == "lawyer must judge the result: Is every finding right?"
        assert [j.role for j in waits.judgements] == ["lawyer"]
        still = await harness.resume(waits.attempt_id)
        assert still.status is AttemptStatus.WAITING_FOR_USER
        said = await harness.judge(waits.attempt_id, "pass", by="lea", note="read it twice")
        assert (said.by, said.verdict, said.authenticated) == ("lea", "pass", False)
        done = await harness.resume(waits.attempt_id)
        told = await payloads(parts, waits.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    assert done.verification is not None
    (human,) = [c for c in done.verification.checks if c.kind == "human"]
    assert (human.status, human.strength) == ("PASS", "person")
    (asked,) = [p for p in told if isinstance(p, JudgementAsked)]
    (given,) = [p for p in told if isinstance(p, JudgementGiven)]
    assert asked.state_digest == given.state_digest == done.verification.state_digest
    assert len(model_calls(tmp_path)) == 2


@pytest.mark.shows(212)
async def test_a_no_comes_back_to_the_model_as_a_persons_words(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a no can be mended; what is made then is another state, and asked about anew."""
    turns = [
        WRITE,
        DONE,
        says("Better.", call("workspace.write_file", path="a.txt", content="three\n")),
        DONE,
    ]
    async with opened(settings) as (harness, parts):
        waits = await harness.run(task(tmp_path, turns))
        with pytest.raises(InputError, match="Say what is wrong"):
            await harness.judge(waits.attempt_id, "fail", by="lea")
        await harness.judge(waits.attempt_id, "fail", by="lea", note="clause 3 is misread")
        again = await harness.resume(waits.attempt_id)
        assert again.status is AttemptStatus.WAITING_FOR_USER
        assert again.judgements[0].state_digest != waits.judgements[0].state_digest
        (turn,) = await parts.records.history(waits.attempt_id, before=3, limit=1)
        assert turn.feedback is not None
        assert "lea, who judged it as lawyer, says no: clause 3 is misread" in turn.feedback.gaps[0]
        await harness.judge(waits.attempt_id, "pass", by="lea")
        done = await harness.resume(waits.attempt_id)
        await payloads(parts, waits.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_the_same_state_is_not_asked_about_twice(tmp_path: Path, settings: Settings) -> None:
    """Protects people from a model that hands in again what they refused: their no stands."""
    async with opened(settings) as (harness, parts):
        waits = await harness.run(task(tmp_path, [WRITE, DONE, DONE, DONE], budgets={"repairs": 1}))
        await harness.judge(waits.attempt_id, "fail", by="lea", note="no")
        ended = await harness.resume(waits.attempt_id)
        told = await payloads(parts, waits.attempt_id)
    assert ended.status is AttemptStatus.FAILED_VERIFICATION
    assert len([p for p in told if isinstance(p, JudgementAsked)]) == 1


async def test_a_state_that_changed_after_the_yes_is_asked_about_anew(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a yes to abc says nothing about def, whoever changed it."""
    async with opened(settings) as (harness, parts):
        waits = await harness.run(task(tmp_path, [WRITE, DONE]))
        await harness.judge(waits.attempt_id, "pass", by="lea")
        (Path(waits.workspace) / "a.txt").write_text("changed behind everybody's back\n")
        again = await harness.resume(waits.attempt_id)
        assert again.status is AttemptStatus.WAITING_FOR_USER
        assert again.judgements[0].state_digest != waits.judgements[0].state_digest
        await payloads(parts, waits.attempt_id)


async def test_nobody_is_asked_about_what_a_machine_refuses(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects a person's time: the other checks come first."""
    checks = [HUMAN, {"command": {"argv": ["false"]}}]
    async with opened(settings) as (harness, parts):
        ended = await harness.run(
            task(tmp_path, [WRITE, DONE], success=checks, budgets={"repairs": 0})
        )
        told = await payloads(parts, ended.attempt_id)
    assert ended.status is AttemptStatus.FAILED_VERIFICATION
    assert not [p for p in told if isinstance(p, JudgementAsked)]


@pytest.mark.parametrize(
    ("by", "approvals", "risk", "code"),
    [
        ("bob", {}, "low", "judge_not_permitted"),
        ("mallory", {}, "low", "judge_not_permitted"),
        ("alice", {"separation_of_duty": True}, "low", "requester_excluded"),
        (None, {}, "low", "identity_required"),
        ("lea", {}, "medium", "identity_required"),
    ],
)
async def test_who_may_not_judge(
    by: str | None,
    approvals: dict[str, Any],
    risk: str,
    code: str,
    tmp_path: Path,
    settings: Settings,
) -> None:
    """Protects: identity and roles count exactly as for approvals; a refusal stores nothing."""
    given = task(tmp_path, [WRITE, DONE], approvals={"roles": ROLES} | approvals, risk=risk)
    async with opened(settings) as (harness, parts):
        waits = await harness.run(given)
        before = (await parts.records.position(waits.attempt_id)).head_seq
        with pytest.raises(InputError) as refused:
            await harness.judge(waits.attempt_id, "pass", by=by)
        assert refused.value.code == code
        assert (await parts.records.position(waits.attempt_id)).head_seq == before


async def test_a_yes_of_somebody_who_was_revoked_since_is_asked_for_anew(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: whose word was taken back verifies nothing any more."""
    async with opened(settings) as (harness, parts):
        waits = await harness.run(task(tmp_path, [WRITE, DONE]))
        await harness.judge(waits.attempt_id, "pass", by="lea")
        await parts.events.say(
            "local", "user", "lea", granted=False, by="root", reason="left the firm"
        )
        again = await harness.resume(waits.attempt_id)
        assert again.status is AttemptStatus.WAITING_FOR_USER
        with pytest.raises(InputError, match="revoked"):
            await harness.judge(waits.attempt_id, "pass", by="lea")
        await harness.judge(waits.attempt_id, "pass", by="alice")
        done = await harness.resume(waits.attempt_id)
        await payloads(parts, waits.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_several_people_are_asked_at_once(tmp_path: Path, settings: Settings) -> None:
    """Protects: each question gets its own answer, and all of them are needed."""
    other = {"human": {"role": "lawyer", "question": "Is the tone right?"}}
    async with opened(settings) as (harness, _):
        waits = await harness.run(task(tmp_path, [WRITE, DONE], success=[TRUE, HUMAN, other]))
        with pytest.raises(InputError, match="Several checks wait"):
            await harness.judge(waits.attempt_id, "pass", by="lea")
        await harness.judge(waits.attempt_id, "pass", by="lea", about="tone")
        half = await harness.resume(waits.attempt_id)
        assert [j.question for j in half.judgements] == ["Is every finding right?"]
        await harness.judge(waits.attempt_id, "pass", by="alice")
        done = await harness.resume(waits.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_nothing_is_judged_that_nobody_asked_about(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects the record from forged verdicts: the database refuses what was not asked."""
    async with opened(settings) as (harness, parts):
        waits = await harness.run(task(tmp_path, [WRITE, DONE]))
        (asked,) = waits.judgements
        word = JudgementGiven(
            check=asked.check, state_digest=asked.state_digest, verdict="pass", by="mallory"
        )
        with pytest.raises(ConflictError, match="may not judge as lawyer"):
            await parts.events.append(waits.attempt_id, [word], fence=None)
        forged = [
            JudgementGiven(check=asked.check, state_digest="sha256:x", verdict="pass", by="lea"),
            JudgementGiven(check="other", state_digest=asked.state_digest, verdict="pass", by="x"),
        ]
        for one in forged:
            with pytest.raises(CheckreinError, match="obody is asked"):
                await parts.events.append(waits.attempt_id, [one], fence=None)
        with pytest.raises(CheckreinError):
            question = JudgementAsked(
                **asked.model_dump(include={"turn", "check", "role", "question", "state_digest"})
            )
            await parts.events.append(waits.attempt_id, [question], fence=None)
        await harness.judge(waits.attempt_id, "pass", by="lea")
        with pytest.raises(ConflictError):
            await harness.judge(waits.attempt_id, "fail", by="alice", note="no")
        done = await harness.resume(waits.attempt_id)
        with pytest.raises(ConflictError, match="nobody is asked"):
            await harness.judge(waits.attempt_id, "fail", by="lea", note="no")
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_a_cancel_ends_the_waiting(tmp_path: Path, settings: Settings) -> None:
    """Protects: who waits for a person can still be stopped."""
    async with opened(settings) as (harness, parts):
        waits = await harness.run(task(tmp_path, [WRITE, DONE]))
        ended = await harness.cancel(waits.attempt_id, by="bob", reason="enough")
        await payloads(parts, waits.attempt_id)
    assert ended.status is AttemptStatus.CANCELLED


@pytest.mark.parametrize(
    ("by", "approvals", "risk", "code"),
    [
        ("alice", {"separation_of_duty": True}, "low", "approval_does_not_bind"),
        ("lea", {}, "medium", "approval_does_not_bind"),
        ("lea", {}, "low", "revoked"),
        ("anonymous", {}, "low", "approval_does_not_bind"),
    ],
)
async def test_the_database_itself_asks_who_judges(
    by: str,
    approvals: dict[str, Any],
    risk: str,
    code: str,
    tmp_path: Path,
    settings: Settings,
) -> None:
    """Protects: no program records a verdict of somebody who may not."""
    given = task(tmp_path, [WRITE, DONE], approvals={"roles": ROLES} | approvals, risk=risk)
    async with opened(settings) as (harness, parts):
        waits = await harness.run(given)
        (asked,) = waits.judgements
        if code == "revoked":
            await parts.events.say("local", "user", by, granted=False, by="root", reason="left")
        word = JudgementGiven(
            check=asked.check, state_digest=asked.state_digest, verdict="pass", by=by
        )
        with pytest.raises(ConflictError) as refused:
            await parts.events.append(waits.attempt_id, [word], fence=None)
        assert refused.value.code == code


def test_the_requesters_own_yes_does_not_count_where_duties_are_separated() -> None:
    """Protects the gate: it asks once more whose word counts, by the same rules as the door."""
    rules = ApprovalRules(roles=ROLES, separation_of_duty=True)
    asked = Judgement(
        turn=1, check="c", role="lawyer", question="?", state_digest="sha256:1", verdict="pass"
    )
    given = TaskContract.model_validate(
        {"goal": "x", "requested_by": "alice", "success": [TRUE], "approvals": rules}
    )
    nobody_revoked = SimpleNamespace(revocations=[])
    for by, counts in (("alice", False), ("lea", True)):
        word = asked.model_copy(update={"by": by})
        assert judgement_counts(given, cast("Position", nobody_revoked), word) is counts
