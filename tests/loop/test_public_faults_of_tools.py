"""Public faults of approvals in LangChain's and deepagents' own middleware, tried on whole runs."""

from pathlib import Path
from typing import Any

import pytest
from asking import asking
from intruders import RUN, Intruder
from langgraph.types import Command
from loops import ASK_WRITES, DONE, call, contract, opened, payloads, says
from tills import WAITS, paying, seen, till

from checkrein import capability
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ActionProposed
from checkrein.nodes.messages import result
from checkrein.settings import Settings

YES: dict[str, Any] = {"decisions": [{"type": "approve"}]}


async def test_langchain_40166_an_edit_switches_to_a_stricter_tool(
    tmp_path: Path, settings: Settings
) -> None:
    """An edit of one tool's call into another's ran, though that tool forbade edits.

    Protects: an edit keeps its capability (the server refuses another name), and its arguments go
    through the gate from the start; what the policy denies a model, it denies the editor.
    """
    paid: list[int] = []
    bundle = asking(tmp_path)
    (bundle / "asking.rego").write_text(
        "package checkrein.rules.asking\n\n"
        'ask contains {"reason_code": "small"} if input.action.args.cents < 100\n\n'
        'deny contains {"reason_code": "too_much"} if input.action.args.cents >= 100\n'
    )
    async with opened(settings, till(paid)) as (harness, parts):
        report = await harness.run(paying(tmp_path, 5, policy=bundle))
        await harness.edit(report.approvals[0].approval_id, {"cents": 500}, by="bob")
        report = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert (paid, report.effects) == ([], {})
    actions = [p.action for p in told if isinstance(p, ActionProposed)]
    assert {action.capability for action in actions} == {"till.pay"}
    (only,) = seen(told)
    assert (only.status, "too_much" in only.model_dump_json()) == ("denied", True)


async def test_langchain_40491_a_jump_runs_a_rejected_call(
    tmp_path: Path, settings: Settings
) -> None:
    """Another middleware's `jump_to="tools"` ran the call that a person had rejected.

    Protects: a no is enforced where things are sent, so that no way into that node matters.
    """
    paid: list[int] = []
    async with opened(settings, till(paid)) as (harness, parts):
        waits = await harness.run(paying(tmp_path, 5))
        await harness.reject(waits.approvals[0].approval_id, by="bob", reason="No.")
        intruder = Intruder(parts, tmp_path, waits.attempt_id)
        for command in (
            Command(goto="commit_effect"),
            Command(goto="commit_effect", update=RUN),
            Command(resume=YES, goto="commit_effect", update=RUN),
        ):
            await intruder.invoke(command)
            assert (paid, (await harness.status(waits.attempt_id)).effects) == ([], {})
        for node in ("policy", "approval", "commit_effect"):
            await intruder.update(RUN, node)
            assert paid == []
        report = await harness.status(waits.attempt_id)
        if not report.status.is_terminal:
            report = await harness.recover(waits.attempt_id)
        (only,) = seen(await payloads(parts, waits.attempt_id))
    assert (paid, report.effects, only.status) == ([], {}, "rejected")


async def test_langchain_40200_a_condition_that_turns_around_runs_a_rejected_call(
    tmp_path: Path, settings: Settings
) -> None:
    """`when` was asked again on resuming; where it now said "no approval", the rejected call ran.

    Protects: a person's no stands, also where the policy of now would allow without asking.
    """
    paid: list[int] = []
    bundle = asking(tmp_path)
    async with opened(settings, till(paid)) as (harness, parts):
        waits = await harness.run(paying(tmp_path, 5, policy=bundle))
        await harness.reject(waits.approvals[0].approval_id, by="bob", reason="No.")
        (bundle / "asking.rego").write_text(
            "package checkrein.rules.asking\n\n"
            'allow contains {"reason_code": "all"} if input.action.args.cents > 0\n'
        )
        report = await harness.resume(waits.attempt_id)
        (only,) = seen(await payloads(parts, waits.attempt_id))
    assert (paid, report.effects, only.status) == ([], {}, "rejected")


async def test_langchain_33787_the_model_repeats_the_call_that_was_edited(
    tmp_path: Path, settings: Settings
) -> None:
    """The model was shown its own arguments after an edit, and sent the call once more.

    Protects: its call stays as it made it, and the result says what ran instead and who said so.
    """
    paid: list[int] = []
    async with opened(settings, till(paid)) as (harness, parts):
        report = await harness.run(paying(tmp_path, 500))
        await harness.edit(report.approvals[0].approval_id, {"cents": 5}, by="bob")
        report = await harness.resume(report.attempt_id)
        await harness.approve(report.approvals[0].approval_id, by="carol")
        await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    proposed = [p.action for p in told if isinstance(p, ActionProposed)]
    assert ([action.args["cents"] for action in proposed], paid) == ([500, 5], [5])
    (only,) = seen(told)
    message = result(only)
    assert message.call_id == only.call_id
    for word in ('"called_with":{"cents":5}', '"by":"bob"', "do not repeat the first ones"):
        assert word in message.text


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["yes first", "no first"])
async def test_deepagents_554_one_approved_and_one_rejected_do_not_resume(
    order: tuple[int, int], tmp_path: Path, settings: Settings
) -> None:
    """A mixed answer to two calls of a turn did not resume, or reached the wrong call.

    Protects: an answer belongs to the request that it names, in whichever order they come.
    """
    paid: list[int] = []
    async with opened(settings, till(paid)) as (harness, parts):
        report = await harness.run(paying(tmp_path, 1, 2))
        asked = {request.args["cents"]: request.approval_id for request in report.approvals}
        for number in order:
            if number == 0:
                await harness.approve(asked[1], by="bob")
            else:
                await harness.reject(asked[2], by="carol", reason="Not this one.")
        report = await harness.resume(report.attempt_id)
        told = seen(await payloads(parts, report.attempt_id))
    assert (paid, report.effects) == ([1], {"COMMITTED": 1})
    reasons = {str(one.status): "Not this one." in one.model_dump_json() for one in told}
    assert reasons == {"ok": False, "rejected": True}


@pytest.mark.parametrize("answer", ["approve", "edit", "reject"])
async def test_deepagents_420_an_interrupt_runs_its_sibling_calls_again(
    answer: str, tmp_path: Path, settings: Settings
) -> None:
    """Calls beside the one that paused ran again when it was resumed.

    Protects: nothing of a turn runs before all of it is decided, and then each call runs once.
    """
    paid: list[int] = []
    looked: list[str] = []

    @capability("till.look", side_effect="READ")
    async def look() -> str:
        """Look."""
        looked.append("look")
        return "full"

    turns = [
        says("", call("till.look")),
        says("", call("till.look"), call("till.pay", cents=7), call("till.look")),
        DONE,
    ]
    names = ["till.look", "till.pay"]
    task = contract(tmp_path, turns, policy=ASK_WRITES, capabilities=names)
    async with opened(settings, till(paid), look) as (harness, _):
        report = await harness.run(task)
        assert (report.status, paid, looked) == (WAITS, [], ["look"])
        asked = report.approvals[0].approval_id
        if answer == "edit":
            await harness.edit(asked, {"cents": 8}, by="bob")
            report = await harness.resume(report.attempt_id)
            await harness.approve(report.approvals[0].approval_id, by="carol")
        elif answer == "approve":
            await harness.approve(asked, by="bob")
        else:
            await harness.reject(asked, by="bob", reason="No.")
        report = await harness.resume(report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert paid == {"approve": [7], "edit": [8], "reject": []}[answer]
    assert looked == ["look"] * 3
