"""Wire the nodes into a LangGraph state graph, from a source of runs."""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from checkrein.graph import routing
from checkrein.graph.state import GraphState
from checkrein.nodes.approval import approval
from checkrein.nodes.commit_effect import commit_effect
from checkrein.nodes.compile_context import compile_context
from checkrein.nodes.completion_gate import completion_gate
from checkrein.nodes.decide import decide
from checkrein.nodes.policy import policy
from checkrein.nodes.run import Node, Run
from checkrein.nodes.suspend import suspend

NODES: dict[str, Node] = {
    "compile_context": compile_context,
    "decide": decide,
    "policy": policy,
    "approval": approval,
    "commit_effect": commit_effect,
    "completion_gate": completion_gate,
    "suspend": suspend,
}
"""Names that never change: a thread may be paused at one of them."""

Graph = CompiledStateGraph[GraphState, None, GraphState, GraphState]


class Runs(Protocol):
    """Where a node gets its run from: the front door's own, or one taken for each node."""

    def enter(self, state: GraphState, config: RunnableConfig) -> AbstractAsyncContextManager[Run]:
        """Own the attempt while the context is open."""
        ...


def build(runs: Runs, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """Compile the graph. Without a checkpointer it is for a server that brings its own."""
    graph: StateGraph[GraphState, None, GraphState, GraphState] = StateGraph(GraphState)
    # LangGraph leaves type parameters of its own open here; pyright reports those, not ours.
    add_node = graph.add_node  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    for name, node in NODES.items():
        add_node(name, _step(name, node, runs), destinations=routing.destinations(name))
    graph.add_edge(START, "compile_context")
    return graph.compile(checkpointer)  # pyright: ignore[reportUnknownMemberType]


class _Step(Protocol):
    async def __call__(self, state: GraphState, config: RunnableConfig) -> Command[str]: ...


def _step(name: str, node: Node, runs: Runs) -> _Step:
    """A node as LangGraph calls it. No try here: an interrupt must pass through untouched."""

    async def step(state: GraphState, config: RunnableConfig) -> Command[str]:
        async with runs.enter(state, config) as run:
            found = await node(run)
            attempt_id = run.attempt_id
        update: GraphState = {"attempt_id": attempt_id, "outcome": found.outcome}
        if found.turn:
            update["turn"] = found.turn
        goto = routing.next_node(name, found.outcome, state.get("came_from"))
        if goto == "suspend":
            update["came_from"] = name
        return Command(update=update, goto=goto)

    step.__name__ = name
    return step


def mermaid(graph: Graph) -> str:
    """The compiled graph as Mermaid text, as it stands in the README."""
    return graph.get_graph().draw_mermaid(with_styles=False)
