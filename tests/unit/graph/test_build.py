"""The compiled graph: seven nodes, the edges of the table, and a state of no weight."""

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_type_hints

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from checkrein.graph import routing
from checkrein.graph.build import NODES, build, mermaid
from checkrein.graph.routing import RETURNS, ROUTES
from checkrein.graph.state import GraphState
from checkrein.nodes.run import Run, Step

SEVEN = (
    "compile_context",
    "decide",
    "policy",
    "approval",
    "commit_effect",
    "completion_gate",
    "suspend",
)
START, END = "__start__", "__end__"
PICTURE = Path(__file__).with_name("graph.mmd")


class FakeRuns:
    """Runs that own nothing: what the nodes do here is scripted."""

    @asynccontextmanager
    async def enter(self, state: GraphState, config: RunnableConfig) -> AsyncGenerator[Run]:
        yield cast(Run, SimpleNamespace(attempt_id=state.get("attempt_id", "a")))


def compiled(saver: InMemorySaver | None = None) -> Any:
    """The graph; LangGraph's own types leave open what it takes and gives."""
    return build(FakeRuns(), saver)


@pytest.mark.shows(28)
def test_the_graph_has_its_seven_nodes_and_only_the_tables_edges() -> None:
    drawn = build(FakeRuns()).get_graph()
    assert tuple(NODES) == SEVEN
    assert set(drawn.nodes) == {*SEVEN, START, END}
    expected = {(START, "compile_context")}
    expected |= {(node, target) for node, routes in ROUTES.items() for target in routes.values()}
    expected |= {("suspend", node) for node in RETURNS}
    assert {(edge.source, edge.target) for edge in drawn.edges} == expected


def test_the_picture_is_stable() -> None:
    pictures = {mermaid(build(FakeRuns())) for _ in range(3)}
    assert pictures == {PICTURE.read_text(encoding="utf-8")}


def test_state_is_text_and_a_number() -> None:
    hints = get_type_hints(GraphState)
    assert set(hints.values()) <= {str, int}
    assert set(hints) == {"attempt_id", "turn", "outcome", "came_from", "task"}


def way_to(node: str) -> list[tuple[str, str]]:
    """The shortest way from the start to a node, as nodes with their outcomes."""
    ways: list[tuple[str, list[tuple[str, str]]]] = [("compile_context", [])]
    seen: set[str] = set()
    while ways:
        place, way = ways.pop(0)
        if place == node:
            return way
        if place not in seen and place in ROUTES:
            seen.add(place)
            ways += [(target, [*way, (place, said)]) for said, target in ROUTES[place].items()]
    raise AssertionError(f"no way leads to {node}")


def way_out(node: str) -> list[tuple[str, str]]:
    """The shortest way from a node to the end."""
    if node == END:
        return []
    ways: list[tuple[str, list[tuple[str, str]]]] = [(node, [])]
    while ways:
        place, way = ways.pop(0)
        if place == END:
            return way
        if place == "suspend":
            ways.append(("compile_context", [*way, (place, "resumed")]))
        else:
            ways += [(target, [*way, (place, said)]) for said, target in ROUTES[place].items()]
    raise AssertionError(f"no way leads out of {node}")


def scripted(monkeypatch: pytest.MonkeyPatch, script: Iterable[tuple[str, str]]) -> list[str]:
    """Nodes that say what the script says next; returns the list of those that were asked."""
    lines, asked = iter(script), list[str]()

    def node_called(name: str) -> Any:
        async def node(run: Run) -> Step:
            expected, outcome = next(lines)
            assert name == expected
            asked.append(name)
            return Step(outcome, turn=len(asked))

        return node

    for name in NODES:
        monkeypatch.setitem(NODES, name, node_called(name))
    return asked


@pytest.mark.shows(28)
@pytest.mark.parametrize(
    ("node", "said"), [(node, said) for node, routes in ROUTES.items() for said in routes]
)
async def test_every_outcome_leads_where_the_table_says(
    node: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = ROUTES[node][said]
    back = []
    if target == "suspend":
        target = routing.next_node("suspend", "resumed", node)
        back = [("suspend", "resumed")]
    way = [*way_to(node), (node, said), *back, *way_out(target)]
    asked = scripted(monkeypatch, way)
    state = await compiled().ainvoke({"attempt_id": "a-1"})
    assert asked == [place for place, _ in way]
    assert state["outcome"] == way[-1][1]
    assert state["attempt_id"] == "a-1"
    assert state["turn"] == len(way)
    assert state.keys() <= get_type_hints(GraphState).keys()
    assert len(json.dumps(state)) < 500


async def test_an_outcome_out_of_nowhere_stops_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [("compile_context", "prophecy")])
    with pytest.raises(KeyError, match="prophecy"):
        await compiled().ainvoke({"attempt_id": "a"})


async def paused(graph: Any, config: RunnableConfig) -> tuple[str, ...]:
    snapshot = await graph.aget_state(config)
    assert len(json.dumps(snapshot.values)) < 500
    waiting: tuple[str, ...] = snapshot.next
    return waiting


async def test_an_interrupt_passes_through_the_step_and_the_node_runs_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is said to the interrupt counts nothing: the node is asked again, from its start."""
    asked = scripted(
        monkeypatch,
        [
            ("compile_context", "ready"),
            ("decide", "proposed"),
            ("policy", "ask"),
            ("policy", "run"),
            ("commit_effect", "ran"),
            ("compile_context", "cancelled"),
        ],
    )
    rings: list[str] = []

    async def doorbell(run: Run) -> Step:
        rings.append(run.attempt_id)
        interrupt({"kind": "approval"})
        return Step("rung")

    monkeypatch.setitem(NODES, "approval", doorbell)
    graph = compiled(InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    await graph.ainvoke({"attempt_id": "a"}, config)
    assert await paused(graph, config) == ("approval",)
    assert asked == ["compile_context", "decide", "policy"]
    await graph.ainvoke(Command(resume={"type": "approve"}), config)
    assert await paused(graph, config) == ()
    assert rings == ["a", "a"]
    assert asked[3:] == ["policy", "commit_effect", "compile_context"]


def test_langgraph_repeats_caches_and_cuts_off_nothing() -> None:
    """Protects effects: a node that LangGraph ran again by itself, or cut off in the middle, would
    send outside of the ledger's rules. Retries are the ledger's."""
    graph = compiled()
    for name in SEVEN:
        node = graph.nodes[name]
        assert (node.retry_policy, node.cache_policy, node.timeout) == (None, None, None), name
    assert not graph.retry_policy
    assert graph.cache_policy is None
    assert graph.step_timeout is None
