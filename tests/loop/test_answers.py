"""The four answers, and what comes of each: nothing runs but what was approved as it was shown."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from asking import asking
from loops import DONE, call, contract, opened, payloads, says

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ActionProposed, Observed
from checkrein.errors import ConflictError, InputError
from checkrein.settings import Settings

WRITE = says("I write.", call("workspace.write_file", path="a.txt", content="two\n"))
OTHER = {"path": "b.txt", "content": "three\n"}


def written(workspace: str) -> dict[str, str]:
    return {path.name: path.read_text() for path in Path(workspace).iterdir()}


async def test_of_two_answers_at_once_the_second_is_told_who_was_first(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects whoever is slower: they hear whose answer counts, never a state table's words."""
    async with opened(settings) as (harness, _):
        report = await harness.run(contract(tmp_path, [WRITE, DONE], policy=asking(tmp_path)))
        (request,) = report.approvals
        people = ["bob", "carol"] * 2
        answers = [harness.approve(request.approval_id, by=person) for person in people]
        said = await asyncio.gather(*answers, return_exceptions=True)
        told = [str(one) for one in said if isinstance(one, ConflictError)]
        (first,) = [
            p for p, one in zip(people, said, strict=True) if not isinstance(one, Exception)
        ]
        assert len(told) == len(people) - 1
        assert all(f"is GRANTED by {first}" in one for one in told), told
        done = await harness.resume(report.attempt_id)
    assert done.effects == {"COMMITTED": 1}


@pytest.mark.shows(90)
async def test_an_edit_is_another_action_that_is_asked_about_anew(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: whoever edits, nothing runs before the gate has judged what it now is."""
    task = contract(tmp_path, [WRITE, DONE], policy=asking(tmp_path))
    async with opened(settings) as (harness, parts):
        first = await harness.run(task)
        (request,) = first.approvals
        answered = await harness.edit(request.approval_id, OTHER, by="bob", reason="b is better")
        assert answered.status == "SUPERSEDED"
        again = await harness.resume(first.attempt_id)
        assert again.status is AttemptStatus.WAITING_FOR_APPROVAL
        (fresh,) = again.approvals
        assert (fresh.args, fresh.requested_by) == (OTHER, "bob")
        assert fresh.operation_hash != request.operation_hash
        assert fresh.action_id != request.action_id
        assert "three" in fresh.preview
        assert written(first.workspace) == {"a.txt": "one\n"}
        with pytest.raises(ConflictError, match="SUPERSEDED"):
            await harness.approve(request.approval_id, by="carol")
        await harness.approve(fresh.approval_id, by="carol")
        done = await harness.resume(first.attempt_id)
        told = await payloads(parts, first.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    assert done.effects == {"COMMITTED": 1}
    assert written(first.workspace) == {"a.txt": "one\n", "b.txt": "three\n"}
    proposed = [p.action for p in told if isinstance(p, ActionProposed)]
    assert [(a.revision, a.edited_by) for a in proposed] == [(0, None), (1, "bob")]
    (seen,) = [p.observation for p in told if isinstance(p, Observed)]
    assert (seen.edited_by, seen.edited_args, seen.status) == ("bob", OTHER, "ok")


async def test_an_edit_of_an_edit(tmp_path: Path, settings: Settings) -> None:
    """Protects: each edit is judged, however many there are, and one result comes of the call."""
    task = contract(tmp_path, [WRITE, DONE], policy=asking(tmp_path))
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        for content in ("three\n", "four\n", "five\n"):
            (request,) = report.approvals
            await harness.edit(request.approval_id, {"path": "b.txt", "content": content}, by="bob")
            report = await harness.resume(report.attempt_id)
        await harness.approve(report.approvals[0].approval_id, by="carol")
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    assert written(report.workspace)["b.txt"] == "five\n"
    assert len([p for p in told if isinstance(p, Observed)]) == 1


async def test_an_edit_into_what_is_forbidden_is_denied(tmp_path: Path, settings: Settings) -> None:
    """Protects: a person's arguments have no more rights than a model's (langchain#40166)."""
    task = contract(
        tmp_path,
        [WRITE, DONE],
        policy=None,
        files={"a.txt": "one\n", "tests/test_a.py": "assert True\n"},
        constraints=[{"unchanged": ["tests/**"]}],
    )
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (request,) = report.approvals
        args = {"path": "tests/test_a.py", "content": "pass\n"}
        await harness.edit(request.approval_id, args, by="bob")
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert done.effects == {}
    assert (Path(done.workspace) / "tests/test_a.py").read_text() == "assert True\n"
    (seen,) = [p.observation for p in told if isinstance(p, Observed)]
    assert seen.status == "denied"


async def test_an_edit_that_the_policy_allows_runs(tmp_path: Path, settings: Settings) -> None:
    """Protects: the gate's answer to the new arguments counts, also where it is yes."""
    bundle = asking(tmp_path)
    (bundle / "asking.rego").write_text(
        "package checkrein.rules.asking\n\n"
        'allow contains {"reason_code": "small"} if input.action.args.path == "b.txt"\n\n'
        'ask contains {"reason_code": "asked"} if input.action.args.path != "b.txt"\n'
    )
    async with opened(settings) as (harness, _):
        report = await harness.run(contract(tmp_path, [WRITE, DONE], policy=bundle))
        await harness.edit(report.approvals[0].approval_id, OTHER, by="bob")
        done = await harness.resume(report.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    assert written(done.workspace) == {"a.txt": "one\n", "b.txt": "three\n"}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"path": "b.txt"}, "add content"),
        ({"path": "b.txt", "content": 7}, "type string"),
        ({"path": "b.txt", "content": "x", "sudo": True}, "remove sudo"),
        ({"path": "b\x00.txt", "content": "x"}, "NUL"),
        ({"path": "b.txt", "content": "\ud800"}, "surrogate"),
        ({"path": "a.txt", "content": "two\n"}, "asked about already"),
        ({"path": "b.txt", "content": "x" * 1_100_000}, "larger than"),
    ],
)
async def test_an_edit_that_cannot_be_used_changes_nothing(
    args: dict[str, Any], told: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: the editor hears at once what to mend, and the request stays open."""
    async with opened(settings) as (harness, _):
        report = await harness.run(contract(tmp_path, [WRITE, DONE], policy=asking(tmp_path)))
        (request,) = report.approvals
        with pytest.raises(InputError, match=told):
            await harness.edit(request.approval_id, args, by="bob")
        (still,) = (await harness.status(report.attempt_id)).approvals
        assert still == request


async def test_a_person_answers_in_the_tools_place(tmp_path: Path, settings: Settings) -> None:
    """Protects: respond is the call's result, marked as a person's, and the tool does not run."""
    task = contract(tmp_path, [WRITE, DONE], policy=asking(tmp_path))
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        await harness.respond(report.approvals[0].approval_id, "It is there already.", by="bob")
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    assert done.effects == {}
    (seen,) = [p.observation for p in told if isinstance(p, Observed)]
    assert (seen.status, seen.trust) == ("ok", "user")
    assert seen.structured_result["answer"] == "It is there already."
    assert seen.structured_result["answered_by"] == "bob"
    assert written(done.workspace) == {"a.txt": "one\n"}
