"""The graph's state: small, plain, and of no authority. Nodes find their place in the database."""

from typing import TypedDict


class GraphState(TypedDict, total=False):
    """What LangGraph saves.

    Attributes:
        attempt_id: the attempt; equal to the thread's id.
        turn: the newest turn, for people who watch.
        outcome: what the last node found.
        came_from: the node that suspended, so that `suspend` returns there.
        task: path or text of a task, for a thread that starts in LangGraph's own server.
    """

    attempt_id: str
    turn: int
    outcome: str
    came_from: str
    task: str
