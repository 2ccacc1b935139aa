"""Agent Chat UI and Agent Inbox, from the card that they draw to what comes of each button."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from answering import answer, pending, record, send, still_waits
from studio_server import StudioServer
from ui_forms import Card, all_text, chat_ui, edited, inbox, inbox_hitl, pressed

PROGRAMS: list[Callable[[dict[str, Any]], Card | None]] = [chat_ui, inbox, inbox_hitl]
YES = {"chat": "approve", "inbox": "accept", "inbox_hitl": "accept"}
NO = {"chat": "reject", "inbox": "response", "inbox_hitl": "response"}
each = pytest.mark.parametrize("program", PROGRAMS, ids=[one.__name__ for one in PROGRAMS])


async def drawn(studio: StudioServer, thread: str, program: Any) -> Card:
    """The card that a program draws for what the server itself shows."""
    card = program((await pending(studio, thread))["value"])
    assert card is not None, f"{program.__name__} draws no card"
    return Card(*card)


def refunds(studio: StudioServer) -> list[Any]:
    """What was refunded so far, of all tests."""
    lines = studio.book.read_text().splitlines() if studio.book.exists() else []
    return [json.loads(line) for line in lines]


@each
async def test_its_yes_runs_what_it_showed(program: Any, studio: StudioServer) -> None:
    """Protects who approves there: the card has name, arguments and buttons, and a yes works."""
    thread = await studio.begin("alice", "refund/task.yaml")
    card = await drawn(studio, thread, program)
    assert (card.name, card.args) == (
        "orders.refund@1",
        {"order": "17", "cents": 500, "lines": [1, 2]},
    )
    before = refunds(studio)
    assert (await answer(studio, "bob", thread, pressed(card, YES[card.program]))).status == 200
    assert refunds(studio) == [*before, ["17", 500, [1, 2]]]
    assert (await record(studio, thread)).decided == [("bob", "approve", "")]


async def test_an_inbox_that_accepts_with_the_arguments_it_was_given(studio: StudioServer) -> None:
    """Protects Agent Inbox's accept after looking at the fields: it repeats the action request."""
    thread = await studio.begin("alice", "refund/task.yaml")
    card = await drawn(studio, thread, inbox)
    before = refunds(studio)
    await answer(studio, "bob", thread, pressed(card, "accept", card.args))
    assert refunds(studio) == [*before, ["17", 500, [1, 2]]]


@pytest.mark.shows(90)
@pytest.mark.parametrize("typed", [edited, all_text], ids=["one field", "every field"])
@each
async def test_its_edit_is_typed_by_the_schema_and_asked_about_anew(
    program: Any, typed: Callable[..., dict[str, Any]], studio: StudioServer
) -> None:
    """Protects edits in fields of text: "5" is the number 5 again, and is shown before it runs."""
    thread = await studio.begin("alice", "refund/task.yaml")
    card = await drawn(studio, thread, program)
    before = refunds(studio)
    said = pressed(card, "edit", typed(card, cents=5, lines=[2]))
    assert (await answer(studio, "bob", thread, said)).status == 200
    again = await drawn(studio, thread, program)
    assert again.args == {"order": "17", "cents": 5, "lines": [2]}
    assert refunds(studio) == before
    assert (await answer(studio, "carol", thread, pressed(again, YES[card.program]))).status == 200
    assert refunds(studio) == [*before, ["17", 5, [2]]]


@each
async def test_its_edit_that_no_schema_takes_is_told_and_waits(
    program: Any, studio: StudioServer
) -> None:
    """Protects from a field that says nothing usable: it is named, and the card is still there."""
    thread = await studio.begin("alice", "refund/task.yaml")
    card, waits = await drawn(studio, thread, program), await record(studio, thread)
    for field, value in (("cents", "five"), ("cents", "5.5"), ("lines", "[1"), ("cents", "")):
        told = await answer(
            studio, "bob", thread, pressed(card, "edit", edited(card, **{field: value}))
        )
        assert (told.status, field in told.text) == (422, True), told
        await still_waits(studio, thread, waits)


@each
async def test_its_no_gives_the_reason(program: Any, studio: StudioServer) -> None:
    """Protects a written no: Agent Inbox's `response` is one, and never the tool's result."""
    thread = await studio.begin("alice", "refund/task.yaml")
    card, before = await drawn(studio, thread, program), refunds(studio)
    said = pressed(card, NO[card.program], "Not this order.")
    assert (await answer(studio, "bob", thread, said)).status == 200
    assert (await record(studio, thread)).decided == [("bob", "reject", "Not this order.")]
    assert refunds(studio) == before


async def test_agent_inbox_ignores_by_a_no(studio: StudioServer) -> None:
    """Protects: "ignore", which old inboxes send without being offered it, runs nothing."""
    thread = await studio.begin("alice", "refund/task.yaml")
    card, before = await drawn(studio, thread, inbox), refunds(studio)
    assert "ignore" not in card.buttons
    await answer(studio, "bob", thread, [{"type": "ignore", "args": None}])
    assert (await record(studio, thread)).decided == [("bob", "reject", "")]
    assert refunds(studio) == before


async def test_resolving_and_ignoring_past_the_question_is_refused(studio: StudioServer) -> None:
    """Protects from "mark as resolved": nobody drops a question without having answered it."""
    thread = await studio.begin("alice", "refund/task.yaml")
    waits = await record(studio, thread)
    resolved = await send(studio, "bob", thread, input={}, command={"goto": "__end__"})
    assert (resolved.status, "is refused" in resolved.text) == (403, True)
    dropped = {"values": None, "as_node": "__end__"}
    ignored = await studio.send("bob", "POST", f"/threads/{thread}/state", dropped)
    assert ignored.status_code == 403
    await still_waits(studio, thread, waits)


async def test_agent_chat_ui_streams_its_answer(studio: StudioServer) -> None:
    """Protects its way of sending: an empty input beside the command, and a stream to the end."""
    thread = await studio.begin("alice", "refund/task.yaml")
    said = {"resume": pressed(await drawn(studio, thread, chat_ui), "approve")}
    async with studio.client("bob") as client:
        runs: Any = client.runs  # its types are partly unknown
        parts = [
            part
            async for part in runs.stream(
                thread,
                "checkrein",
                input={},
                command=said,
                stream_mode=["values"],
                stream_subgraphs=True,
                stream_resumable=True,
            )
        ]
    assert parts[-1].data["outcome"] == "verified"
    assert (await record(studio, thread)).report.effects == {"COMMITTED": 1}
