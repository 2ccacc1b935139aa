"""The routing table holds every outcome that a node can give, and none that it cannot."""

import pytest
from node_outcomes import outcomes

from checkrein.graph.build import NODES
from checkrein.graph.routing import RETURNS, ROUTES, destinations, next_node

END = "__end__"


@pytest.mark.parametrize("node", sorted(ROUTES))
def test_every_outcome_has_its_route_and_every_route_its_outcome(node: str) -> None:
    assert outcomes(node) == ROUTES[node].keys()


def test_suspend_has_one_answer_and_goes_back() -> None:
    assert outcomes("suspend") == {"resumed"}
    assert "suspend" not in ROUTES
    for node in RETURNS:
        assert next_node("suspend", "resumed", node) == node
    for elsewhere in ("decide", "approval", "nowhere", None):
        assert next_node("suspend", "resumed", elsewhere) == "compile_context"


def test_tables_name_only_nodes_that_there_are() -> None:
    assert NODES.keys() == {*ROUTES, "suspend"}
    reached = {target for routes in ROUTES.values() for target in routes.values()} | {*RETURNS}
    assert reached - {END} == NODES.keys()


def test_an_outcome_that_is_in_no_table_is_a_fault_of_ours() -> None:
    for node in ROUTES:
        with pytest.raises(KeyError):
            next_node(node, "prophecy")


def test_destinations_are_the_tables_targets_once_each() -> None:
    for node, routes in ROUTES.items():
        assert list(destinations(node)) == list(dict.fromkeys(routes.values()))
    assert destinations("suspend") == RETURNS


@pytest.mark.shows(31)
def test_the_ways_that_must_not_be_short_are_not() -> None:
    """Nothing reaches commit_effect but through policy, and nothing ends well but at the gate."""
    into: dict[str, set[str]] = {}
    for node, routes in ROUTES.items():
        for target in routes.values():
            into.setdefault(target, set()).add(node)
    assert into["commit_effect"] == {"policy"}
    assert into["approval"] == {"policy"}
    assert into["policy"] == {"decide", "approval", "commit_effect"}
    assert into["completion_gate"] == {"decide"}
    assert into["decide"] == {"compile_context"}
    assert [n for n, routes in ROUTES.items() if "verified" in routes] == ["completion_gate"]
