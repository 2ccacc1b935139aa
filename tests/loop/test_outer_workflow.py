"""A fixed workflow of somebody else's holds the governed loop as one of its steps."""

from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from loops import DONE, call, contract, opened, says

from checkrein.contracts.attempt import AttemptStatus
from checkrein.harness import Harness
from checkrein.settings import Settings

WRITE = says("", call("workspace.write_file", path="a.txt", content="two\n"))


class Release(TypedDict):
    """What the workflow passes on: ids and words, as the loop's own state."""

    attempt_id: str
    status: str
    approved: bool


def workflow(harness: Harness, task: Any, published: list[str]) -> Any:
    """Work, then a person, then publishing; only the first step is an agent's."""

    async def work(state: Release) -> dict[str, str]:
        report = await harness.run(task)
        return {"attempt_id": report.attempt_id, "status": report.status}

    async def approve(state: Release) -> dict[str, bool]:
        return {"approved": bool(interrupt({"attempt": state["attempt_id"]}))}

    async def publish(state: Release) -> None:
        published.append(state["attempt_id"])

    def verified(state: Release) -> str:
        return "approve" if state["status"] == AttemptStatus.CANDIDATE_VERIFIED else END

    def said_yes(state: Release) -> str:
        return "publish" if state["approved"] else END

    graph: Any = StateGraph(Release)
    for node in (work, approve, publish):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", verified, ["approve", END])
    graph.add_conditional_edges("approve", said_yes, ["publish", END])
    graph.add_edge("publish", END)
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.shows(51)
@pytest.mark.parametrize(
    ("argv", "yes", "steps"),
    [
        (["grep", "-q", "two", "a.txt"], True, ["work", "approve", "publish"]),
        (["grep", "-q", "two", "a.txt"], False, ["work", "approve"]),
        (["false"], True, ["work"]),
    ],
    ids=["published", "rejected", "not verified"],
)
async def test_the_workflow_owns_approval_and_publishing(
    argv: list[str], yes: bool, steps: list[str], tmp_path: Path, settings: Settings
) -> None:
    """Protects: the agent's part ends with a verified candidate, and leads to people alone."""
    published: list[str] = []
    config: RunnableConfig = {"configurable": {"thread_id": "release-7"}}
    task = contract(
        tmp_path, [WRITE, DONE], success=[{"command": {"argv": argv}}], budgets={"repairs": 0}
    )
    async with opened(settings) as (harness, _):
        graph = workflow(harness, task, published)
        into = {edge.source for edge in graph.get_graph().edges if edge.target == "publish"}
        assert into == {"approve"}
        ran = [next(iter(step)) async for step in graph.astream({}, config)]
        assert published == []
        if "approve" in steps:
            assert ran == ["work", "__interrupt__"]
            ran = ["work"]
            ran += [next(iter(step)) async for step in graph.astream(Command(resume=yes), config)]
        state = (await graph.aget_state(config)).values
        report = await harness.status(state["attempt_id"])
    assert ran == steps
    assert published == ([state["attempt_id"]] if steps[-1] == "publish" else [])
    assert report.effects == {"COMMITTED": 1}
