"""Where each outcome leads. Pure data: the graph is wired from it, and drawn from it."""

from langgraph.graph import END

ROUTES: dict[str, dict[str, str]] = {
    "compile_context": {
        "ready": "decide",
        "suspend": "suspend",
        "cancelled": END,
        "cancelling": END,
        "drained": END,
        "held": END,
        "failed": END,
    },
    "decide": {
        "proposed": "policy",
        "candidate": "completion_gate",
        "unusable": "compile_context",
        "stopped": "compile_context",
        "suspend": "suspend",
        "model_error": END,
    },
    "policy": {
        "ask": "approval",
        "run": "commit_effect",
        "answered": "compile_context",
        "suspend": "suspend",
        "blocked": END,
        "environment_error": END,
    },
    "approval": {"rung": "policy"},
    "commit_effect": {
        "ran": "compile_context",
        "changed": "policy",
        "suspend": "suspend",
        "held": END,
        "environment_error": END,
    },
    "completion_gate": {
        "verified": END,
        "not_verified": END,
        "environment_error": END,
        "repair": "compile_context",
        "stopped": "compile_context",
        "suspend": "suspend",
    },
}
"""node, then outcome, to the next node."""

RETURNS = ("compile_context", "commit_effect")
"""Where `suspend` returns to. What decide suspended for ends its turn, and the next one begins at
the top, where cancel, pause and budgets are heard."""


def next_node(node: str, outcome: str, came_from: str | None = None) -> str:
    """Return the node that follows; an outcome that is not in the table is a fault of ours."""
    if node == "suspend":
        return came_from if came_from in RETURNS else "compile_context"
    return ROUTES[node][outcome]


def destinations(node: str) -> tuple[str, ...]:
    """All nodes that can follow, in a stable order."""
    if node == "suspend":
        return RETURNS
    return tuple(dict.fromkeys(ROUTES[node].values()))
