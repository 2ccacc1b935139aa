"""A signed-in person's work through LangGraph's own server, from the task to the verdict."""

from typing import Any

import pytest
from studio_server import StudioServer

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ApprovalDecided, ApprovalRequested, AttemptStarted
from checkrein.harness import Harness

APPROVE = {"decisions": [{"type": "approve"}]}


async def pending(studio: StudioServer, thread: str) -> dict[str, Any]:
    """The one interrupt that a thread shows."""
    async with studio.client("carol") as client:
        found = await client.threads.get(thread)
    assert found["status"] == "interrupted"
    ((interrupt,),) = found["interrupts"].values()
    return dict(interrupt)


@pytest.mark.shows(12, 14)
async def test_task_is_started_approved_and_verified_over_the_server(studio: StudioServer) -> None:
    """Protects the whole way: thread, task, interrupt, answer, one effect, verdict."""
    thread = await studio.begin("alice", "price_repair/task.yaml")
    interrupt = await pending(studio, thread)
    shown = interrupt["value"]
    assert shown["action_requests"][0]["args"]["path"] == "pricing.py"

    async with Harness.open(settings=studio.settings) as harness:
        waiting = await harness.status(thread)
        assert waiting.status is AttemptStatus.WAITING_FOR_APPROVAL
        assert [request.approval_id for request in waiting.approvals] == [shown["approval_id"]]
        assert waiting.effects == {}

        answered = await studio.by_sdk("bob", thread, command={"resume": APPROVE})
        assert answered["outcome"] == "verified"

        done = await harness.status(thread)
        assert done.status is AttemptStatus.CANDIDATE_VERIFIED
        assert done.effects == {"COMMITTED": 1}
        events = [event.read() for event in await harness.trace(thread)]
    (started,) = [event for event in events if isinstance(event, AttemptStarted)]
    assert started.contract["requested_by"] == "alice"
    (requested,) = [event for event in events if isinstance(event, ApprovalRequested)]
    assert requested.interrupt_id == interrupt["id"]
    (decided,) = [event for event in events if isinstance(event, ApprovalDecided)]
    assert (decided.approver, decided.authority, decided.authenticated) == ("bob", "approver", True)


async def test_what_studio_draws_from_answers(studio: StudioServer) -> None:
    """Protects the graph, state and history endpoints, and who may read them."""
    thread = await studio.begin("alice", "price_repair/task.yaml")
    async with studio.client("bob") as client:
        graph = await client.assistants.get_graph("checkrein")
        state = await client.threads.get_state(thread)
        history = await client.threads.get_history(thread, limit=50)
        threads = await client.threads.search(limit=100)
    assert {"compile_context", "decide", "policy", "approval"} <= {n["id"] for n in graph["nodes"]}
    assert state["next"] == ["approval"]
    assert state["tasks"][0]["interrupts"][0]["value"]["kind"] == "approval"
    assert len(history) > 5
    assert thread in {found["thread_id"] for found in threads}


async def test_rejection_reaches_the_model_and_nothing_runs(studio: StudioServer) -> None:
    """Protects Agent Inbox's form of an answer: its `response` is a rejection with a message."""
    thread = await studio.begin("alice", "price_repair/task.yaml")
    answer = [{"type": "response", "args": "Leave the pattern alone."}]
    answered = await studio.run("carol", thread, command={"resume": answer})
    assert answered.status_code == 200
    async with Harness.open(settings=studio.settings) as harness:
        report = await harness.status(thread)
        events = [event.read() for event in await harness.trace(thread)]
    assert report.status.is_terminal and not report.verified
    assert report.effects == {}
    (decided,) = [event for event in events if isinstance(event, ApprovalDecided)]
    assert (decided.approver, decided.reason) == ("carol", "Leave the pattern alone.")


@pytest.mark.shows(87)
async def test_two_actions_of_a_turn_are_asked_one_after_the_other(studio: StudioServer) -> None:
    """Protects that nothing of a turn runs before all of it is decided, and who decided what."""
    thread = await studio.begin("alice", "two_writes/task.yaml")
    first = await pending(studio, thread)
    again = await studio.run("bob", thread, command={"resume": {first["id"]: APPROVE}})
    assert again.status_code == 200
    second = await pending(studio, thread)
    assert second["id"] != first["id"]
    assert second["value"]["action_id"] != first["value"]["action_id"]
    async with Harness.open(settings=studio.settings) as harness:
        waiting = await harness.status(thread)
        assert (waiting.effects, waiting.lease_alive) == ({}, False)
        late = await studio.run("bob", thread, command={"resume": {first["id"]: APPROVE}})
        assert late.status_code == 409
        assert len((await harness.status(thread)).approvals) == 1
        await studio.run("carol", thread, command={"resume": {second["id"]: {"type": "reject"}}})
        report = await harness.status(thread)
        events = [event.read() for event in await harness.trace(thread)]
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert report.effects == {"COMMITTED": 1}
    decided = [event for event in events if isinstance(event, ApprovalDecided)]
    assert [(d.approver, str(d.answer)) for d in decided] == [
        ("bob", "approve"),
        ("carol", "reject"),
    ]


async def test_question_is_answered_by_text(studio: StudioServer) -> None:
    """Protects WAITING_FOR_USER: a text goes to the model under the name of who is signed in."""
    thread = await studio.begin("alice", "question/task.yaml")
    interrupt = await pending(studio, thread)
    assert (interrupt["value"]["status"], interrupt["value"]["why"]) == (
        "WAITING_FOR_USER",
        "Which word?",
    )
    refused = await studio.run("alice", thread, command={"resume": APPROVE})
    assert refused.status_code == 422
    answered = await studio.run("alice", thread, command={"resume": {"answer": "None at all."}})
    assert answered.status_code == 200
    async with Harness.open(settings=studio.settings) as harness:
        events = [event.read() for event in await harness.trace(thread)]
    (said,) = [event for event in events if event.type == "user_answered"]
    assert (said.by, said.text) == ("alice", "None at all.")
