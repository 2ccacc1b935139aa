"""Whatever a client sends around the order of the graph, no grant and no effect comes of it."""

import uuid
from typing import Any

import pytest
from studio_server import StudioServer

from checkrein.contracts.event import ApprovalDecided
from checkrein.harness import Harness

APPROVE = {"decisions": [{"type": "approve"}]}
RESUME = {"assistant_id": "checkrein", "command": {"resume": APPROVE}}
TASK = "price_repair/task.yaml"


async def untouched(studio: StudioServer, thread: str) -> None:
    """The attempt waits as it did: one open request, nobody's decision, no effect."""
    async with Harness.open(settings=studio.settings) as harness:
        report = await harness.status(thread)
        events = [event.read() for event in await harness.trace(thread)]
    assert (str(report.status), len(report.approvals)) == ("WAITING_FOR_APPROVAL", 1)
    assert report.effects == {}
    assert not [event for event in events if isinstance(event, ApprovalDecided)]
    async with studio.client("alice") as client:
        assert (await client.threads.get(thread))["status"] == "interrupted"


async def newest(studio: StudioServer, thread: str, back: int = 0) -> str:
    """The id of a thread's newest checkpoint, or of one before it."""
    async with studio.client("alice") as client:
        history = await client.threads.get_history(thread, limit=back + 1)
    return str(history[back]["checkpoint"]["checkpoint_id"])


@pytest.mark.shows(94)
async def test_nobody_answers_without_being_signed_in(studio: StudioServer) -> None:
    """Protects that no token, a wrong one, or Studio's own scheme makes anybody a person."""
    thread = await studio.begin("alice", TASK)
    runs = f"/threads/{thread}/runs"
    for status, person, headers in (
        (401, None, {}),
        (401, "stranger", {}),
        (401, None, {"Authorization": "Basic Ym9iOnRva2Vu"}),
        (401, None, {"x-auth-scheme": "langsmith"}),
        (401, None, {"x-auth-scheme": "langsmith", "x-user-id": "bob"}),
    ):
        for path in (runs, f"{runs}/wait", f"{runs}/stream"):
            sent = await studio.send(person, "POST", path, RESUME, **headers)
            assert sent.status_code == status, (headers, path, sent.text)
        command = {"id": 1, "method": "run.start", "params": RESUME}
        sent = await studio.send(person, "POST", f"/threads/{thread}/commands", command, **headers)
        assert sent.status_code == status, (headers, sent.text)
        read = await studio.send(person, "GET", f"/threads/{thread}", **headers)
        assert read.status_code == status
    await untouched(studio, thread)


@pytest.mark.shows(94)
async def test_only_who_may_answers_and_only_as_themselves(studio: StudioServer) -> None:
    """Protects that the name comes from the token, and the right from the contract."""
    thread = await studio.begin("alice", TASK)
    as_bob: dict[str, Any] = {"type": "approve", "approver": "bob", "as": "bob", "identity": "bob"}
    for body in (
        {"command": {"resume": as_bob}},
        {"command": {"resume": {"decisions": [as_bob]}}},
        {"command": {"resume": APPROVE}, "metadata": {"user": "bob"}},
        {
            "command": {"resume": APPROVE},
            "config": {"configurable": {"langgraph_auth_user": "bob"}},
        },
        {"command": {"resume": APPROVE}, "context": {"langgraph_auth_user_id": "bob"}},
    ):
        sent = await studio.run("dave", thread, **body)
        assert sent.status_code == 403, (body, sent.text)
        assert "dave may not answer" in sent.text
    async with studio.client("dave") as client:
        ((interrupt,),) = (await client.threads.get(thread))["interrupts"].values()
    params = {"interrupt_id": interrupt["id"], "response": as_bob}
    command = {"id": 1, "method": "input.respond", "params": params}
    sent = await studio.send("dave", "POST", f"/threads/{thread}/commands", command)
    assert "dave may not answer" in sent.text
    await untouched(studio, thread)

    as_carol = {"type": "reject", "message": "No.", "approver": "carol"}
    assert (await studio.run("bob", thread, command={"resume": as_carol})).status_code == 200
    async with Harness.open(settings=studio.settings) as harness:
        events = [event.read() for event in await harness.trace(thread)]
    (decided,) = [event for event in events if isinstance(event, ApprovalDecided)]
    assert (decided.approver, decided.authenticated) == ("bob", True)


@pytest.mark.shows(94)
async def test_commands_around_the_graph_are_refused(studio: StudioServer) -> None:
    """Protects the order of the graph: even who may approve cannot send it elsewhere."""
    thread = await studio.begin("alice", TASK)
    old = await newest(studio, thread, back=3)
    resume = {"resume": APPROVE}
    pressed: list[tuple[int, dict[str, Any]]] = [
        (403, {"command": {"goto": "commit_effect"}}),
        (403, {"command": {**resume, "goto": "commit_effect"}}),
        (403, {"command": {**resume, "goto": {"node": "commit_effect", "input": {}}}}),
        (403, {"command": {**resume, "update": {"outcome": "run"}}}),
        (403, {"command": resume, "checkpoint_id": old}),
        (403, {"command": resume, "checkpoint": {"thread_id": thread, "checkpoint_id": old}}),
        (403, {"command": resume, "config": {"configurable": {"checkpoint_id": old}}}),
        (403, {"command": resume, "config": {"configurable": {"checkpoint_ns": "policy:1"}}}),
        (403, {"command": resume, "config": {"configurable": {"__pregel_resuming": True}}}),
        (403, {"command": resume, "interrupt_before": ["commit_effect"]}),
        (403, {"command": resume, "multitask_strategy": "rollback"}),
        (409, {"input": {"task": TASK}}),
        (409, {"input": {"outcome": "run", "came_from": "commit_effect"}}),
        (409, {"input": None}),
        (409, {"command": {"resume": {"0" * 32: APPROVE}}}),
        (422, {"command": {"resume": {"type": "edit", "args": {"path": "pricing.py"}}}}),
        (422, {"command": {"resume": "yes"}}),
        (422, {"command": {"resume": {"decisions": [{"type": "approve"}, {"type": "approve"}]}}}),
    ]
    for status, body in pressed:
        sent = await studio.run("bob", thread, **body)
        assert sent.status_code == status, (body, sent.text)
    await untouched(studio, thread)


async def test_state_and_records_cannot_be_written(studio: StudioServer) -> None:
    """Protects what the server keeps: no update of state, no copy to answer in, no side doors."""
    thread = await studio.begin("alice", TASK)
    forged = {"values": {"outcome": "run"}, "as_node": "policy"}
    for method, path, body in (
        ("POST", f"/threads/{thread}/state", forged),
        ("POST", f"/threads/{thread}/state", {"values": None, "as_node": "__end__"}),
        ("PATCH", f"/threads/{thread}", {"metadata": {"checkrein_tenant": "other"}}),
        ("DELETE", f"/threads/{thread}", None),
        ("POST", "/threads/prune", {"thread_ids": [thread], "strategy": "delete"}),
        ("POST", "/runs/cancel", {"status": "all"}),
        ("POST", f"/threads/{thread}/runs/crons", {**RESUME, "schedule": "* * * * *"}),
        ("POST", "/assistants", {"graph_id": "checkrein"}),
        ("POST", "/runs/wait", {"assistant_id": "checkrein", "input": {"task": TASK}}),
    ):
        sent = await studio.send("bob", method, path, body)
        assert sent.status_code == 403, (path, sent.text)
    for method, path in (("PUT", "/store/items"), ("POST", "/mcp"), ("POST", "/a2a/checkrein")):
        assert (await studio.send("bob", method, path, {})).status_code == 404
    fresh = str(uuid.uuid4())
    steps = {"thread_id": fresh, "supersteps": [{"updates": [forged]}]}
    made = await studio.send("bob", "POST", "/threads", steps)
    assert "Updating a thread is refused" in made.text  # the thread is there, and it is empty
    resume = {"command": {"resume": APPROVE}, "checkpoint_id": str(uuid.uuid4())}
    assert (await studio.run("bob", fresh, **resume)).status_code == 403
    copied = (await studio.send("bob", "POST", f"/threads/{thread}/copy")).json()["thread_id"]
    assert (await studio.run("bob", copied, command={"resume": APPROVE})).status_code == 409
    await untouched(studio, thread)


async def test_other_tenants_see_and_do_nothing(studio: StudioServer) -> None:
    """Protects tenants from each other: neither thread nor attempt is there for others."""
    thread = await studio.begin("alice", TASK)
    assert (await studio.send("mallory", "GET", f"/threads/{thread}")).status_code == 404
    assert (await studio.run("mallory", thread, command={"resume": APPROVE})).status_code == 404
    async with studio.client("mallory") as client:
        assert await client.threads.search() == []
    await untouched(studio, thread)

    own = str(uuid.uuid4())
    async with studio.client("mallory") as client:
        await client.threads.create(thread_id=own)
    told = await studio.run("mallory", own, input={"task": TASK})
    assert "signed in for other" in told.json()["__error__"]["message"]


async def test_studio_may_name_the_newest_checkpoint(studio: StudioServer) -> None:
    """Protects Studio's own way of answering: it names the newest checkpoint with each answer."""
    thread = await studio.begin("alice", TASK)
    head = await newest(studio, thread)
    sent = await studio.run("bob", thread, command={"resume": APPROVE}, checkpoint_id=head)
    assert sent.json()["outcome"] == "verified", sent.text
    again = await studio.run("bob", thread, command={"resume": APPROVE})
    assert again.status_code == 409
