"""Public faults of approvals that need LangGraph's server to show; more of them in tests/loop.

Batched answers by position (langchain's middleware) cannot go wrong here: one action is asked about
at a time. Its poisoned threads are tried all the same.
"""

import asyncio
from typing import Any

import pytest
from answering import YES, answer, files, pending, record, send, still_waits
from studio_server import StudioServer
from ui_forms import inbox, pressed

from checkrein.contracts.attempt import AttemptStatus
from checkrein.errors import CheckreinError
from checkrein.harness import Harness

WRITE = "one_write/task.yaml"
TWO = "two_writes/task.yaml"


@pytest.mark.shows(144)
async def test_langgraph_8796_two_writers_on_one_thread(studio: StudioServer) -> None:
    """Two processes resumed one thread, both succeeded, and its chain forked.

    Protects: the server and another process go on with one approval at once; one of them does, the
    other is told, the chain is whole and the effect happens once.
    """
    thread = await studio.begin("alice", WRITE)
    (request,) = (await record(studio, thread)).report.approvals
    async with Harness.open(settings=studio.settings) as other:
        await other.approve(request.approval_id, by="carol")
        sent, resumed = await asyncio.gather(
            studio.run("bob", thread, input={}), other.resume(thread), return_exceptions=True
        )
    assert not isinstance(sent, BaseException)
    here = not isinstance(resumed, BaseException)
    there = sent.status_code == 200 and "__error__" not in sent.json()
    assert (here, there) in {(True, False), (False, True)}, (resumed, sent.text)
    assert here or isinstance(resumed, CheckreinError)
    done = await record(studio, thread)
    assert done.report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert (done.report.effects, done.count("effect_executing")) == ({"COMMITTED": 1}, 1)
    assert done.count("approval_granted") == 1


async def test_langgraph_8836_unknown_interrupt_ids_are_silently_ignored(
    studio: StudioServer,
) -> None:
    """A resume map with ids that nobody knows was taken, ignored, and the node ran again.

    Protects: such an answer is refused and says which interrupt is pending; nothing is recorded.
    """
    thread = await studio.begin("alice", WRITE)
    waits, interrupt = await record(studio, thread), await pending(studio, thread)
    unknown = await answer(studio, "bob", thread, {"0123456789abcdef" * 2: YES})
    assert (unknown.status, interrupt["id"] in unknown.text) == (409, True)
    both = await answer(studio, "bob", thread, {interrupt["id"]: YES, "f" * 32: YES})
    assert (both.status, "one interrupt at a time" in both.text) == (422, True)
    await still_waits(studio, thread, waits)


async def test_langgraph_8579_one_plain_answer_is_taken_for_two_interrupts(
    studio: StudioServer,
) -> None:
    """One scalar resumed two interrupts that waited at once.

    Protects: a plain yes is for the one action that is shown, and never for the next one.
    """
    thread = await studio.begin("alice", TWO)
    first = await pending(studio, thread)
    assert (await answer(studio, "bob", thread, YES)).status == 200
    waits = await record(studio, thread)
    assert (len(waits.decided), waits.report.effects, files(waits)) == (1, {}, {})
    second = await pending(studio, thread)
    assert second["value"]["approval_id"] != first["value"]["approval_id"]


async def test_langgraph_6534_commands_beside_an_answer(studio: StudioServer) -> None:
    """`goto` and `resume` with `goto` entered the sending node past the approval, and ran it twice.

    Protects: the server takes an answer alone; whatever leads elsewhere is refused by name.
    """
    thread = await studio.begin("alice", WRITE)
    waits = await record(studio, thread)
    for more in ({}, {"resume": YES}):
        told = await send(studio, "bob", thread, command={**more, "goto": "commit_effect"})
        assert (told.status, "goto" in told.text) == (403, True), told
    await still_waits(studio, thread, waits)


async def test_langgraph_6956_next_is_empty_after_the_second_interrupt(
    studio: StudioServer,
) -> None:
    """`next` was empty after a second interrupt, so that clients took the thread for finished.

    Protects: after each interrupt thread, state and our record say alike that it waits.
    """
    thread = await studio.begin("alice", TWO)
    for answered in range(2):
        interrupt = await pending(studio, thread)
        async with studio.client("bob") as client:
            state = await client.threads.get_state(thread)
            waiting = await client.threads.search(status="interrupted", limit=100)
        assert state["next"] == ["approval"]
        assert [one["id"] for one in state["tasks"][0]["interrupts"]] == [interrupt["id"]]
        assert thread in {one["thread_id"] for one in waiting}
        now = await record(studio, thread)
        assert (len(now.decided), len(now.report.approvals)) == (answered, 2 - answered)
        assert now.report.status is AttemptStatus.WAITING_FOR_APPROVAL
        await answer(studio, "bob", thread, YES)
    assert (await record(studio, thread)).report.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_langgraph_7361_an_answer_with_the_newest_checkpoint_replays(
    studio: StudioServer,
) -> None:
    """Studio names the newest checkpoint with each answer; that replayed instead of resuming.

    Protects: with and without it the same happens, event for event.
    """
    told: list[list[str]] = []
    for named in (False, True):
        thread = await studio.begin("alice", WRITE)
        async with studio.client("bob") as client:
            state = await client.threads.get_state(thread)
        head = {"checkpoint_id": state["checkpoint"]["checkpoint_id"]} if named else {}
        assert (await answer(studio, "bob", thread, YES, **head)).state["outcome"] == "verified"
        told.append([payload.type for payload in (await record(studio, thread)).payloads])
    assert told[0] == told[1]


async def test_langchain_40166_an_edit_switches_the_tool(studio: StudioServer) -> None:
    """An edit renamed the call into one of a stricter tool, which then ran.

    Protects: an edit under any other name is refused, also under one that the task grants.
    """
    thread = await studio.begin("alice", WRITE)
    waits = await record(studio, thread)
    args = (await pending(studio, thread))["value"]["action_requests"][0]["args"]
    for name in ("workspace.apply_patch", "workspace.apply_patch@1", "orders.refund", "", None):
        said = {"type": "edit", "edited_action": {"name": name, "args": {**args, "content": "x"}}}
        told = await answer(studio, "bob", thread, {"decisions": [said]})
        assert (told.status, "never which tool" in told.text) == (422, True), (name, told)
    await still_waits(studio, thread, waits)


async def test_langchain_middleware_a_malformed_answer_poisons_the_thread(
    studio: StudioServer,
) -> None:
    """A wrong count, a kind not on offer, or null failed every run of the thread from then on.

    Protects: after each of them the next right answer works.
    """
    wrong: list[Any] = [
        {"decisions": [{"type": "approve"}] * 2},
        {"decisions": [{"type": "skip"}]},
        {"decisions": [{}]},
        None,
    ]
    for said in wrong:
        thread = await studio.begin("alice", WRITE)
        assert 400 <= (await answer(studio, "bob", thread, said)).status < 500
        assert (await answer(studio, "bob", thread, YES)).state["outcome"] == "verified"


async def test_agent_inbox_38_its_buttons_do_nothing(studio: StudioServer) -> None:
    """Agent Inbox answers by a list in a form of its own, which failed in the middleware.

    Protects: each of its buttons is recorded as what it says (more in test_ui_forms.py).
    """
    said: dict[str, str] = {"accept": "approve", "response": "reject", "edit": "edit"}
    for button, recorded in said.items():
        thread = await studio.begin("alice", WRITE)
        card = inbox((await pending(studio, thread))["value"])
        assert card is not None
        args = {"accept": None, "response": "No.", "edit": {**card.args, "content": "2"}}[button]
        told = await answer(studio, "bob", thread, pressed(card, button, args))
        assert told.status == 200, told
        assert [kind for _, kind, _ in (await record(studio, thread)).decided] == [recorded]


@pytest.mark.shows(87)
async def test_agent_chat_ui_85_typing_while_it_waits_restarts_the_graph(
    studio: StudioServer,
) -> None:
    """A message typed while an approval was open dropped the question and began anew.

    Protects: new input is refused, says that an answer is waited for, and restarts nothing.
    """
    thread = await studio.begin("alice", WRITE)
    waits = await record(studio, thread)
    typed: list[Any] = [
        {"messages": [{"type": "human", "content": "And now?"}]},
        {"task": WRITE},
        {"attempt_id": thread, "outcome": "run"},
        {},
        None,
    ]
    for given in typed:
        told = await send(studio, "alice", thread, input=given)
        assert (told.status, "The attempt waits" in told.text) == (409, True), (given, told)
        await still_waits(studio, thread, waits)
    assert (await answer(studio, "bob", thread, YES)).state["outcome"] == "verified"
    done = await record(studio, thread)
    assert (done.count("model_responded"), done.report.effects) == (2, {"COMMITTED": 1})


async def test_deep_agents_ui_45_nested_interrupts_are_not_shown(studio: StudioServer) -> None:
    """An interrupt of a subgraph was missing from what the user interface lists.

    Protects: there is one graph, and run, thread and state show the same interrupt at its root.
    """
    thread = await studio.begin("alice", TWO)
    state = (await answer(studio, "bob", thread, YES)).state
    ((shown,), listed) = (state["__interrupt__"], await pending(studio, thread))
    assert (shown["id"], shown["value"]) == (listed["id"], listed["value"])
    async with studio.client("bob") as client:
        seen = await client.threads.get_state(thread, subgraphs=True)
    assert [one["id"] for one in seen["tasks"][0]["interrupts"]] == [listed["id"]]
    assert seen["tasks"][0].get("state") is None
