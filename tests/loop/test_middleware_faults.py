"""Public faults of approvals inside of agents, tried against the harness in theirs."""

from pathlib import Path
from typing import Any

import loops
import pytest
from asking import asking
from guarded import DONE, PAY, YES, agent, work
from langgraph.types import Command
from payment_account import Account
from talking import calling

from checkrein.settings import Settings

ELSE = {"name": "payments_refund", "args": {"payment": "p1"}}
WRONG: dict[str, Any] = {
    "no decision": {"decisions": []},
    "more decisions than questions": {"decisions": [{"type": "approve"}, {"type": "approve"}]},
    "no type that is on offer": {"decisions": [{"type": "delete"}]},
    "an edit into another tool": {"decisions": [{"type": "edit", "edited_action": ELSE}]},
    "an edit without arguments": {"decisions": [{"type": "edit", "edited_action": {}}]},
    "no object": "yes",
    "null": None,
    "true": True,
}


@pytest.mark.parametrize("wrong", [one for one in WRONG if one != "null"])
async def test_a_wrong_answer_is_told_and_the_next_one_counts(
    wrong: str, settings: Settings, bank: Account
) -> None:
    """Protects from a poisoned thread, and from an edit into another tool: nothing runs by it."""
    async with agent(settings, bank, [calling(PAY), DONE]) as its:
        await its.asks()
        (again,) = (await its.asks(Command(resume=WRONG[wrong])))["__interrupt__"]
        assert again.value["problem"]
        assert again.value["kind"] == "approval"
        assert (await bank.counted(), its.ran) == ({"payments": 0, "refunds": 0}, [])
        done = await its.asks(YES)
        await loops.payloads(its.parts, await its.attempt)
    assert "__interrupt__" not in done
    assert (await bank.paid(), its.ran) == (1, [])


async def test_a_double_click_answers_no_other_question(settings: Settings, bank: Account) -> None:
    """Protects the next question: a second yes to the first one is no yes to it."""
    twice = calling(PAY, ("payments_charge", PAY[1] | {"to": "emca"}))
    async with agent(settings, bank, [twice, DONE], unnamed=False) as its:
        (first,) = (await its.asks())["__interrupt__"]
        (again,) = (await its.asks(YES))["__interrupt__"]
        assert again.value["approval_id"] == first.value["approval_id"]
        assert "which request" in again.value["problem"]
        yes: Any = {"decisions": [{"type": "approve"}], "approval_id": first.value["approval_id"]}
        seen = [(await its.asks(Command(resume=yes)))["__interrupt__"][0].value for _ in range(2)]
        report = await its.harness.status(await its.attempt)
        (left,) = report.approvals
        assert left.approval_id != first.value["approval_id"]
        assert [one["approval_id"] for one in seen] == [left.approval_id] * 2
    assert await bank.paid() == 0


async def test_one_of_two_needed_answers_is_not_counted_twice(
    settings: Settings, bank: Account, tmp_path: Path
) -> None:
    """Protects a quorum: an answer that LangGraph hands over anew is the same person's."""
    contract = work(
        policy=str(asking(tmp_path, '"roles": ["approver"], "quorum": 2')),
        approvals={"roles": {"approver": ["bob", "carol"]}},
    )
    async with agent(settings, bank, [calling(PAY), DONE], contract=contract) as its:
        await its.asks()
        seen = [(await its.asks(YES))["__interrupt__"][0].value for _ in range(3)]
        assert await bank.paid() == 0
        await its.harness.approve(seen[-1]["approval_id"], by="carol")
        await its.asks(Command(resume="look"))
        await loops.payloads(its.parts, await its.attempt)
    assert await bank.paid() == 1
