"""Each answer, right and wrong and at once, through LangGraph's own SDK and its own dev server."""

import asyncio
from typing import Any

import pytest
from answering import YES, answer, files, pending, record, send, still_waits
from studio_server import StudioServer

WRITE = "one_write/task.yaml"
NAME = "workspace.write_file@1"
OTHER = {"path": "one.txt", "content": "edited"}


def edit(args: Any, name: str = NAME) -> dict[str, Any]:
    """An edit as LangChain's middleware takes it."""
    return {"decisions": [{"type": "edit", "edited_action": {"name": name, "args": args}}]}


async def test_yes_by_the_sdk(studio: StudioServer) -> None:
    """Protects the plainest way: one approval by the SDK, one effect, a verified result."""
    thread = await studio.begin("alice", WRITE)
    assert (await answer(studio, "bob", thread, YES)).state["outcome"] == "verified"
    done = await record(studio, thread)
    assert done.decided == [("bob", "approve", "")]
    assert (done.report.effects, files(done)) == ({"COMMITTED": 1}, {"one.txt": "1"})


async def test_an_edit_is_shown_and_runs_only_when_it_is_approved(studio: StudioServer) -> None:
    """Protects: an edit is no yes; what it became is another interrupt, for somebody else."""
    thread = await studio.begin("alice", WRITE)
    first = await pending(studio, thread)
    edited = await answer(studio, "bob", thread, edit(OTHER))
    assert edited.status == 200, edited
    second = await pending(studio, thread)
    assert second["id"] != first["id"]
    shown = second["value"]
    assert shown["action_requests"][0]["args"] == OTHER
    assert shown["operation_hash"] != first["value"]["operation_hash"]
    waits = await record(studio, thread)
    assert (waits.report.effects, files(waits)) == ({}, {})
    own = await answer(studio, "bob", thread, YES)
    assert (own.status, await record(studio, thread)) == (403, waits), "whoever edits asks"
    late = await answer(studio, "carol", thread, {first["id"]: YES})
    assert (late.status, await record(studio, thread)) == (409, waits)
    done = await answer(studio, "carol", thread, {second["id"]: YES})
    assert done.state["outcome"] == "verified"
    ended = await record(studio, thread)
    assert files(ended) == {"one.txt": "edited"}
    assert ended.report.effects == {"COMMITTED": 1}
    assert [by for by, _, _ in ended.decided] == ["bob", "carol"]


async def test_respond_is_the_result_and_nothing_runs(studio: StudioServer) -> None:
    """Protects: a person answers in the tool's place, and the model hears it as a person's."""
    thread = await studio.begin("alice", WRITE)
    said = {"decisions": [{"type": "respond", "message": "It is there already."}]}
    assert (await answer(studio, "carol", thread, said)).status == 200
    done = await record(studio, thread)
    assert (done.report.effects, files(done)) == ({}, {})
    (seen,) = done.observed
    assert seen.structured_result["answer"] == "It is there already."
    assert (seen.structured_result["answered_by"], seen.trust) == ("carol", "user")


async def test_reject_reaches_the_model_with_its_reason(studio: StudioServer) -> None:
    """Protects: a no by the SDK ends the call, and the model is told why."""
    thread = await studio.begin("alice", WRITE)
    said = {"decisions": [{"type": "reject", "message": "Not on a Friday."}]}
    assert (await answer(studio, "bob", thread, said)).status == 200
    done = await record(studio, thread)
    assert done.decided == [("bob", "reject", "Not on a Friday.")]
    assert (done.report.effects, files(done)) == ({}, {})
    (seen,) = done.observed
    assert (seen.status, "Not on a Friday." in seen.model_dump_json()) == ("rejected", True)


WRONG: list[tuple[int, Any, str]] = [
    (422, {"decisions": []}, "0 decisions"),
    (422, {"decisions": [{"type": "approve"}, {"type": "approve"}]}, "2 decisions"),
    (422, [], "0 decisions"),
    (422, {"decisions": [{"type": "maybe"}]}, "maybe"),
    (422, {"decisions": "approve"}, "decision with a type"),
    (422, "approve", "decision with a type"),
    (422, True, "decision with a type"),
    (409, None, "answer it by"),
    (422, edit(OTHER, "workspace.delete@1"), "never which tool"),
    (422, edit({"path": "one.txt"}), "content"),
    (422, edit({**OTHER, "mode": "0777"}), "mode"),
    (422, edit("everything"), "all arguments"),
    (422, {"decisions": [{"type": "edit"}]}, "all arguments"),
    (422, {"decisions": [{"type": "respond", "message": ""}]}, "message"),
    (409, {"0" * 32: YES}, "not pending"),
    (422, {"0" * 32: YES, "f" * 32: YES}, "one interrupt at a time"),
]


@pytest.mark.shows(87)
async def test_every_wrong_answer_is_refused_and_then_a_right_one_counts(
    studio: StudioServer,
) -> None:
    """Protects the thread: a wrong answer is told what is wrong and leaves all as it was."""
    thread = await studio.begin("alice", WRITE)
    before = await record(studio, thread)
    for status, said, why in WRONG:
        told = await answer(studio, "bob", thread, said)
        assert (told.status, why in told.text) == (status, True), (said, told)
        await still_waits(studio, thread, before)
    assert (await answer(studio, "bob", thread, YES)).state["outcome"] == "verified"
    done = await record(studio, thread)
    assert (done.report.effects, files(done)) == ({"COMMITTED": 1}, {"one.txt": "1"})
    assert (done.count("run_resumed"), len(done.decided)) == (1, 1)


async def test_goto_and_update_by_the_sdk_are_refused(studio: StudioServer) -> None:
    """Protects the graph's order from the SDK's own commands; the thread then takes a yes."""
    thread = await studio.begin("alice", WRITE)
    before = await record(studio, thread)
    for command in (
        {"goto": "commit_effect"},
        {"goto": ["policy", "commit_effect"]},
        {"goto": "__end__"},
        {"goto": {"node": "commit_effect", "input": {"outcome": "run"}}},
        {"update": {"outcome": "run"}},
        {"resume": YES, "goto": "commit_effect"},
        {"resume": YES, "update": {"outcome": "run"}},
    ):
        told = await send(studio, "bob", thread, command=command)
        assert (told.status, "is refused" in told.text) == (403, True), (command, told)
        await still_waits(studio, thread, before)
    assert (await answer(studio, "bob", thread, YES)).state["outcome"] == "verified"


@pytest.mark.shows(144)
@pytest.mark.parametrize("by_id", [True, False], ids=["by id", "plain"])
@pytest.mark.parametrize("second", ["bob", "carol"], ids=["double click", "two people"])
async def test_two_clients_at_once_make_one_decision(
    second: str, by_id: bool, studio: StudioServer
) -> None:
    """Protects: of two answers at once one is heard, the other is told, one effect is made."""
    thread = await studio.begin("alice", WRITE)
    said = {(await pending(studio, thread))["id"]: YES} if by_id else YES
    told = await asyncio.gather(
        *(answer(studio, person, thread, said) for person in ("bob", second))
    )
    assert sorted(one.status for one in told) == [200, 409], told
    assert "cannot take the event" not in f"{told}", "a state table's words"
    (heard,) = [person for person, one in zip(("bob", second), told, strict=True) if one.state]
    done = await record(studio, thread)
    assert done.decided == [(heard, "approve", "")]
    assert (done.report.effects, done.count("effect_executing")) == ({"COMMITTED": 1}, 1)
    assert (await answer(studio, "bob", thread, said)).status == 409


async def test_a_second_click_after_the_first_has_no_effect(studio: StudioServer) -> None:
    """Protects a turn of two actions: the same answer again is never taken for the next one."""
    thread = await studio.begin("alice", "two_writes/task.yaml")
    said = {(await pending(studio, thread))["id"]: YES}
    assert (await answer(studio, "bob", thread, said)).status == 200
    waits = await record(studio, thread)
    assert (await answer(studio, "bob", thread, said)).status == 409
    assert await record(studio, thread) == waits
    assert (waits.decided, waits.report.effects) == ([("bob", "approve", "")], {})
    assert (await answer(studio, "bob", thread, YES)).state["outcome"] == "verified"
    done = await record(studio, thread)
    assert (done.report.effects, files(done)) == (
        {"COMMITTED": 2},
        {"one.txt": "1", "two.txt": "2"},
    )
