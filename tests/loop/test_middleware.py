"""The harness inside of an agent of LangChain's own: theirs is the loop, ours the authority."""

import asyncio
from typing import Any

import loops
import pytest
from guarded import ASKED, DONE, NO, PAY, READ, THREAD, YES, agent, work
from langchain.agents.middleware import (
    AgentMiddleware,
)
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langgraph.types import Command
from payment_account import Account
from talking import Talking, calling

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.errors import InputError
from checkrein.settings import Settings


@pytest.mark.shows(31)
async def test_a_write_waits_for_its_person_and_happens_once(
    settings: Settings, bank: Account
) -> None:
    """Protects the whole promise: asked about, run by the ledger, never by the tool node."""
    async with agent(settings, bank, [calling(PAY), DONE]) as its:
        asked = (await its.asks())["__interrupt__"]
        assert len(asked) == 1
        assert asked[0].value["action_requests"][0]["args"] == PAY[1]
        assert await bank.paid() == 0
        report = await its.harness.status(await its.attempt)
        assert report.status is AttemptStatus.WAITING_FOR_APPROVAL
        done = await its.asks(Command(resume={"decisions": [{"type": "approve"}]}))
        report = await its.harness.status(await its.attempt)
        await loops.payloads(its.parts, report.attempt_id)
    assert done["messages"][-1].content == "It is paid."
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert report.effects == {"COMMITTED": 1}
    assert await bank.paid() == 1
    assert its.ran == []
    assert len(its.model.heard) == 2


async def test_a_no_is_told_to_the_model_and_nothing_happens(
    settings: Settings, bank: Account
) -> None:
    """Protects: a person's reason reaches the model, and the tool never runs."""
    async with agent(settings, bank, [calling(PAY), DONE]) as its:
        await its.asks()
        await its.asks(NO)
        (told,) = await its.told()
        await loops.payloads(its.parts, await its.attempt)
    assert told.status == "error"
    assert "not acme" in str(told.content)
    assert (await bank.paid(), its.ran) == (0, [])


async def test_parallel_calls_have_one_question_at_a_time(
    settings: Settings, bank: Account
) -> None:
    """Protects people's programs, which answer one interrupt: each write is asked about in turn."""
    twice = calling(PAY, ("payments_charge", PAY[1] | {"to": "emca"}), READ)
    async with agent(settings, bank, [twice, DONE]) as its:
        first = (await its.asks())["__interrupt__"]
        second = (await its.asks(NO))["__interrupt__"]
        done = await its.asks(YES)
        told = await its.told()
        await loops.payloads(its.parts, await its.attempt)
    assert (len(first), len(second)) == (1, 1)
    assert [one[0].value["action_requests"][0]["args"]["to"] for one in (first, second)] == [
        "acme",
        "emca",
    ]
    assert "__interrupt__" not in done
    assert [message.tool_call_id for message in told] == ["c1", "c2", "c3"]
    assert [message.status for message in told] == ["error", "success", "error"]
    assert "not_found" in str(told[2].content)
    assert (await bank.paid(), its.ran) == (1, [])


async def test_a_message_in_between_loses_no_question(settings: Settings, bank: Account) -> None:
    """Protects an open approval: new input drops LangGraph's interrupt, and the record keeps it."""
    async with agent(settings, bank, [calling(PAY), DONE]) as its:
        (first,) = (await its.asks())["__interrupt__"]
        (again,) = (await its.asks({"messages": [{"role": "user", "content": "Well?"}]}))[
            "__interrupt__"
        ]
        assert again.value["approval_id"] == first.value["approval_id"]
        assert len(its.model.heard) == 1
        await its.asks(YES)
        report = await its.harness.status(await its.attempt)
    assert report.effects in ({}, {"COMMITTED": 1})
    assert await bank.paid() == report.effects.get("COMMITTED", 0)


class Breaks(AgentMiddleware[Any, Any, Any]):
    """Fails once after the model has answered, as a process does that dies there."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Answer, or fail for the first time."""
        answer = await handler(request)
        if not self.broken:
            self.broken = True
            raise RuntimeError("gone")
        return answer


async def test_an_answer_that_was_stored_is_not_asked_for_again(
    settings: Settings, bank: Account
) -> None:
    """Protects: a model call that was paid for is on record, and serves the recovered loop."""
    async with agent(settings, bank, [calling(PAY), DONE], before=[Breaks()]) as its:
        with pytest.raises(RuntimeError, match="gone"):
            await its.asks()
        found = await its.asks(None)
        assert len(its.model.heard) == 1
        assert "__interrupt__" in found
        await its.asks(YES)
        await loops.payloads(its.parts, await its.attempt)
    assert (await bank.paid(), len(its.model.heard)) == (1, 2)


async def test_a_tool_that_nobody_declared_does_not_run(settings: Settings, bank: Account) -> None:
    """Protects: what the harness was not told of is refused, and the model hears so."""
    unknown = calling(("delete_everything", {}))
    async with agent(settings, bank, [unknown, AIMessage(content="Pity.")]) as its:
        await its.asks()
        (told,) = await its.told()
    assert told.status == "error"
    assert its.ran == []


async def test_without_a_name_a_resumed_value_decides_nothing(
    settings: Settings, bank: Account
) -> None:
    """Protects: whoever holds the thread approves nothing unless the program says in whose name."""
    async with agent(settings, bank, [calling(PAY), DONE], answered_by=None) as its:
        (asked,) = (await its.asks())["__interrupt__"]
        assert "__interrupt__" in await its.asks(YES)
        assert await bank.paid() == 0
        await its.harness.approve(asked.value["approval_id"], by="bob")
        assert "__interrupt__" not in await its.asks(Command(resume="look"))
    assert await bank.paid() == 1


async def test_it_is_async_only(settings: Settings, bank: Account) -> None:
    """Protects: a synchronous call is refused, and goes around nothing."""
    async with agent(settings, bank, [calling(PAY), DONE]) as its:
        with pytest.raises(InputError, match="async only"):
            await asyncio.to_thread(its.graph.invoke, ASKED, THREAD)
    assert its.ran == []


async def test_two_that_resume_at_once_pay_once(settings: Settings, bank: Account) -> None:
    """Protects: LangGraph has no lock on a thread, and the attempt has."""
    async with agent(settings, bank, [calling(PAY), DONE, DONE]) as its:
        await its.asks()
        await asyncio.gather(its.asks(YES), its.asks(YES), return_exceptions=True)
        await loops.payloads(its.parts, await its.attempt)
    assert (await bank.paid(), its.ran) == (1, [])


async def test_a_claim_that_does_not_hold_goes_back_and_never_stands(
    settings: Settings, bank: Account
) -> None:
    """Protects: the agent's last word is a claim; what the checks found is told in its place."""
    contract = work(
        success=[{"command": {"argv": ["false"]}}], budgets={"repairs": 1}, constraints=[]
    )
    async with agent(settings, bank, [DONE, DONE, DONE], contract=contract) as its:
        found = await its.asks()
        report = await its.harness.status(await its.attempt)
        await loops.payloads(its.parts, report.attempt_id)
    assert report.status is AttemptStatus.FAILED_VERIFICATION
    assert len(its.model.heard) == 2
    assert "did not accept it" in str(its.model.heard[1][-1].content)
    assert "FAILED_VERIFICATION" in str(found["messages"][-1].content)


async def test_without_a_budget_the_model_is_not_called(settings: Settings, bank: Account) -> None:
    """Protects: what is used up stops their loop as well, and says how to go on."""
    may = {"roles": {"approver": ["bob"]}, "budget_role": "approver"}
    contract = work(budgets={"steps": 1}, approvals=may)
    async with agent(settings, bank, [calling(READ), DONE], contract=contract) as its:
        found = await its.asks()
        assert "budget raise" in str(found["messages"][-1].content)
        assert len(its.model.heard) == 1
        await its.harness.raise_budget(await its.attempt, Budget.STEPS, 9, by="bob")
        done = await its.asks({"messages": [{"role": "user", "content": "Go on."}]})
        report = await its.harness.status(await its.attempt)
    assert done["messages"][-1].content == "It is paid."
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED


class Down(Talking):
    """A model that is out of order."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise ValueError("no such model")


async def test_a_model_that_fails_raises_as_it_would(settings: Settings, bank: Account) -> None:
    """Protects: their own handling of a model's errors; the attempt ends, named."""
    async with agent(settings, bank, [], model=Down(lines=[])) as its:
        with pytest.raises(ValueError, match="no such model"):
            await its.asks()
        report = await its.harness.status(await its.attempt)
    assert report.status is AttemptStatus.MODEL_ERROR


async def test_a_tool_that_the_provider_runs_is_refused(settings: Settings, bank: Account) -> None:
    """Protects: what runs at the model's provider goes past every policy, so it is not offered."""

    class Searches(AgentMiddleware[Any, Any, Any]):
        """Adds a search of the provider's own."""

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            """Offer it."""
            search = {"type": "web_search_20250305", "name": "web_search"}
            return await handler(request.override(tools=[*request.tools, search]))

    async with agent(settings, bank, [DONE], before=[Searches()]) as its:
        with pytest.raises(InputError, match="web_search is run by the model's provider"):
            await its.asks()
        assert its.model.heard == []
