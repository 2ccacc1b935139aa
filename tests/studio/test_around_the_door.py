"""Answers that come twice, at once, to the running server: one person is heard, one effect made."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from studio_server import StudioServer

from checkrein.contracts.event import ApprovalDecided
from checkrein.harness import Harness

TASK = "price_repair/task.yaml"
YES: dict[str, Any] = {"command": {"resume": {"decisions": [{"type": "approve"}]}}}
NO: dict[str, Any] = {"command": {"resume": {"type": "reject", "message": "No."}}}


async def _told(studio: StudioServer, thread: str) -> tuple[dict[str, int], list[Any]]:
    async with Harness.open(settings=studio.settings) as harness:
        report = await harness.status(thread)
        return report.effects, [event.read() for event in await harness.trace(thread)]


@pytest.mark.shows(144)
async def test_eight_scalar_answers_at_once_make_one_effect(studio: StudioServer) -> None:
    """Protects from a button that is pressed again and again, by two people."""
    thread = await studio.begin("alice", TASK)
    people = ["bob", "carol"] * 4
    sent = await asyncio.gather(*(studio.run(person, thread, **YES) for person in people))
    statuses = Counter(answer.status_code for answer in sent)
    assert (statuses[200], set(statuses)) == (1, {200, 409}), [a.text for a in sent]
    effects, told = await _told(studio, thread)
    kinds = Counter(payload.type for payload in told)
    assert effects == {"COMMITTED": 1}
    assert kinds["approval_decided"] == kinds["approval_granted"] == 1
    assert kinds["effect_executing"] == kinds["effect_committed"] == 1


async def test_yes_and_no_at_once_make_one_truth(studio: StudioServer) -> None:
    """Protects: who is told yes was heard, and what happened is what that one said."""
    for number in range(4):
        thread = await studio.begin("alice", TASK)
        asked = [studio.run("bob", thread, **YES), studio.run("carol", thread, **NO)]
        sent = await asyncio.gather(*(asked if number % 2 else reversed(asked)))
        assert sorted(answer.status_code for answer in sent) == [200, 409], [a.text for a in sent]
        effects, told = await _told(studio, thread)
        (decided,) = [payload for payload in told if isinstance(payload, ApprovalDecided)]
        yes, no = sent if number % 2 else reversed(sent)
        heard = "approve" if yes.status_code == 200 else "reject"
        assert (decided.answer, no.status_code) == (heard, 409 if heard == "approve" else 200)
        assert effects == ({"COMMITTED": 1} if heard == "approve" else {})


async def test_after_all_that_was_refused_a_yes_makes_one_effect(studio: StudioServer) -> None:
    """Protects: pressing at closed doors leaves the attempt as it was, and able to go on."""
    thread = await studio.begin("alice", TASK)
    for body in (
        {"command": {"goto": "commit_effect"}},
        {"command": {**YES["command"], "goto": "commit_effect"}},
        {"input": {"task": TASK}},
        {"input": None},
    ):
        assert (await studio.run("bob", thread, **body)).status_code in {403, 409}
    forged = {"values": {"outcome": "run"}, "as_node": "policy"}
    refused = await studio.send("bob", "POST", f"/threads/{thread}/state", forged)
    assert refused.status_code == 403
    assert (await _told(studio, thread))[0] == {}
    answered = await studio.run("bob", thread, **YES)
    assert answered.json()["outcome"] == "verified", answered.text
    assert (await _told(studio, thread))[0] == {"COMMITTED": 1}
    assert (await studio.run("bob", thread, **YES)).status_code == 409
