"""Faults that others reported in public and that concern approvals, each tried on whole runs.

Those of LangChain's and deepagents' own middleware are in test_public_faults_of_tools.py, and those
that need LangGraph's server in tests/studio/test_public_faults.py. Of the reports these cannot
apply here, and have no test:

- langgraph 8531 (pruning loses a pending approval) and 8443 (a fork replays the branch that was
  left): what waits and what was answered is in our own tables. The server refuses pruning and going
  back (tests/studio/test_refusals.py), and no state is a DeltaChannel.
- langgraph 5682 and langgraphjs 2755 (cancelling in the middle of a commit): no reports on
  approvals; tests/faults has them.
"""

from pathlib import Path
from typing import Any, TypedDict

import pytest
from asking import asking
from intruders import RUN, Intruder
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from loops import model_calls, opened, payloads
from tills import WAITS, paying, till

from checkrein import capability
from checkrein.contracts.attempt import AttemptStatus
from checkrein.errors import InputError
from checkrein.settings import Settings

YES = {"decisions": [{"type": "approve"}]}


class Nothing(TypedDict, total=False):
    """The state of an outer graph that passes nothing on."""

    word: str


async def test_langgraph_7780_asking_until_it_is_valid_replays_the_node(
    tmp_path: Path, settings: Settings
) -> None:
    """interrupt() in a loop ran the node's calls 14 times for 4 answers.

    Protects: however often something unusable comes, nothing is asked, judged or paid again.
    """
    paid: list[int] = []
    async with opened(settings, till(paid)) as (harness, parts):
        waits = await harness.run(paying(tmp_path, 5))
        (request,) = waits.approvals
        intruder = Intruder(parts, tmp_path, waits.attempt_id)
        for wrong in ("perhaps", {"cents": "all"}, {"type": "edit"}):
            await intruder.invoke(Command(resume=wrong))
            with pytest.raises(InputError):
                await harness.edit(request.approval_id, {"cents": str(wrong)}, by="bob")
        assert (paid, (await harness.status(waits.attempt_id)).approvals) == ([], [request])
        await harness.approve(request.approval_id, by="bob")
        await harness.resume(waits.attempt_id)
        told = [payload.type for payload in await payloads(parts, waits.attempt_id)]
    assert (paid, model_calls(tmp_path)) == ([5], ["turn 1", "turn 2"])
    for once in ("action_proposed", "approval_prepared", "approval_requested", "approval_decided"):
        assert told.count(once) == 1, once


async def test_langgraph_6208_a_node_with_two_interrupts_runs_again_after_each_answer(
    tmp_path: Path, settings: Settings
) -> None:
    """What stood between two interrupts of a node happened once more with each answer.

    Protects: the allowed action between two that are asked about happens once, and in its place.
    """
    paid: list[int] = []
    bundle = asking(tmp_path)
    (bundle / "asking.rego").write_text(
        "package checkrein.rules.asking\n\n"
        'allow contains {"reason_code": "small"} if input.action.args.cents < 10\n\n'
        'ask contains {"reason_code": "large"} if input.action.args.cents >= 10\n'
    )
    async with opened(settings, till(paid)) as (harness, _):
        report = await harness.run(paying(tmp_path, 50, 5, 70, policy=bundle))
        for waiting in (2, 1):
            assert (report.status, len(report.approvals), paid) == (WAITS, waiting, [])
            await harness.approve(report.approvals[0].approval_id, by="bob")
            report = await harness.resume(report.attempt_id)
    assert (paid, report.effects) == ([50, 5, 70], {"COMMITTED": 3})
    assert model_calls(tmp_path) == ["turn 1", "turn 2"]


async def test_langgraph_5952_answering_one_of_several_runs_the_others_again(
    tmp_path: Path, settings: Settings
) -> None:
    """Of parallel interrupts the unanswered ones ran again with each answer.

    Protects: one answer changes nothing about the other requests, nor about who answered before.
    """
    paid: list[int] = []
    async with opened(settings, till(paid)) as (harness, parts):
        report = await harness.run(paying(tmp_path, 1, 2, 3))
        asked = report.approvals
        for number in (2, 0, 1):
            await harness.approve(asked[number].approval_id, by="bob")
            report = await harness.resume(report.attempt_id)
            assert all(request in asked for request in report.approvals)
        told = [payload.type for payload in await payloads(parts, report.attempt_id)]
    assert (paid, report.effects) == ([1, 2, 3], {"COMMITTED": 3})
    for each in ("action_proposed", "approval_prepared", "approval_decided"):
        assert told.count(each) == 3, each
    assert model_calls(tmp_path) == ["turn 1", "turn 2"]


async def test_langgraph_6534_goto_and_resume_while_paused(
    tmp_path: Path, settings: Settings
) -> None:
    """A command with `goto` entered the sending node past the approval, and ran it twice.

    Protects: the sending node asks the database for the approval, however it was entered.
    """
    paid: list[int] = []
    async with opened(settings, till(paid)) as (harness, parts):
        waits = await harness.run(paying(tmp_path, 5))
        intruder = Intruder(parts, tmp_path, waits.attempt_id)
        for command in (
            Command(goto="commit_effect"),
            Command(goto="commit_effect", update=RUN),
            Command(resume=YES, goto="commit_effect"),
            Command(resume=YES, goto=["commit_effect", "commit_effect"]),
        ):
            await intruder.invoke(command)
            assert (paid, (await harness.status(waits.attempt_id)).effects) == ([], {})
        await harness.approve(waits.approvals[0].approval_id, by="bob")
        for _ in range(2):
            await intruder.invoke(Command(resume=YES, goto="commit_effect"))
        report = await harness.status(waits.attempt_id)
        if not report.status.is_terminal:
            report = await harness.recover(waits.attempt_id)
    assert (paid, report.effects) == ([5], {"COMMITTED": 1})


async def test_updates_that_pile_up_on_a_paused_thread(tmp_path: Path, settings: Settings) -> None:
    """Found beside 6534: updates sent to a paused thread made it unusable, recovery included.

    Protects: what lies in LangGraph's tables is not believed, and cannot keep an attempt from its
    end either.
    """
    paid: list[int] = []
    async with opened(settings, till(paid)) as (harness, parts):
        waits = await harness.run(paying(tmp_path, 5))
        intruder = Intruder(parts, tmp_path, waits.attempt_id)
        for _ in range(3):
            await intruder.invoke(Command(update=RUN))
            await intruder.invoke(Command(goto="commit_effect", update=RUN))
        assert paid == []
        await harness.approve(waits.approvals[0].approval_id, by="bob")
        report = await harness.status(waits.attempt_id)
        if not report.status.is_terminal:
            report = await harness.recover(waits.attempt_id)
            report = await harness.resume(waits.attempt_id)
    assert (paid, report.effects) == ([5], {"COMMITTED": 1})


async def test_langgraph_4796_the_node_that_called_a_subgraph_runs_again(
    tmp_path: Path, settings: Settings
) -> None:
    """What stood before `subgraph.invoke` happened again when the subgraph was resumed.

    Protects: an outer node that runs again goes on with its attempt; it pays nothing twice.
    """
    paid: list[int] = []
    entered: list[str] = []
    task = paying(tmp_path, 5)
    async with opened(settings, till(paid)) as (harness, _):
        first = await harness.run(task)

        async def work(state: Nothing) -> Nothing:
            entered.append("work")
            report = await harness.status(first.attempt_id)
            if report.approvals:
                said = interrupt({"approval": report.approvals[0].approval_id})
                await harness.approve(said, by="bob")
                await harness.resume(first.attempt_id)
            interrupt("Is it to be published?")
            return state

        graph: Any = StateGraph(Nothing)
        graph.add_node("work", work)
        graph.add_edge(START, "work")
        graph.add_edge("work", END)
        outer = graph.compile(checkpointer=InMemorySaver())
        config: RunnableConfig = {"configurable": {"thread_id": "outer"}}
        await outer.ainvoke({}, config)
        await outer.ainvoke(Command(resume=first.approvals[0].approval_id), config)
        await outer.ainvoke(Command(resume="yes"), config)
        report = await harness.status(first.attempt_id)
    assert len(entered) > 1, "the outer node did run again"
    assert (paid, report.effects) == ([5], {"COMMITTED": 1})
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_langgraph_8217_a_wrapper_that_swallows_exceptions_swallows_the_interrupt(
    tmp_path: Path, settings: Settings
) -> None:
    """A tool's own `except Exception` took the interrupt for an error, and the tool went on.

    Protects: a call is not even entered before its yes, whatever its code would catch.
    """
    entered: list[int] = []

    @capability("till.pay")
    async def pay(cents: int) -> int:
        """Pay, whatever happens."""
        try:
            entered.append(cents)
            raise RuntimeError(cents)
        except BaseException:
            return cents

    async with opened(settings, pay) as (harness, _):
        report = await harness.run(paying(tmp_path, 5))
        assert (report.status, entered) == (WAITS, [])
        await harness.approve(report.approvals[0].approval_id, by="bob")
        await harness.resume(report.attempt_id)
    assert entered == [5]
