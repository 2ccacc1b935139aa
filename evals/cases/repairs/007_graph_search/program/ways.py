"""Ways through a directed graph, given as node -> the nodes that it leads to."""

from collections import deque
from collections.abc import Mapping, Sequence

Graph = Mapping[str, Sequence[str]]


def shortest_path(graph: Graph, start: str, goal: str) -> list[str] | None:
    """A path with the fewest edges, or None where there is none."""
    came_from: dict[str, str | None] = {start: None}
    waiting = deque([start])
    while waiting:
        node = waiting.pop()
        if node == goal:
            return _path(came_from, goal)
        for neighbour in graph.get(node, ()):
            if neighbour not in came_from:
                came_from[neighbour] = node
                waiting.append(neighbour)
    return None


def _path(came_from: Mapping[str, str | None], goal: str) -> list[str]:
    path = []
    node: str | None = goal
    while node is not None:
        path.append(node)
        node = came_from[node]
    return path[::-1]


def reachable(graph: Graph, start: str) -> set[str]:
    """Every node that can be reached, the start included."""
    found = {start}
    waiting = [start]
    while waiting:
        for neighbour in graph.get(waiting.pop(), ()):
            if neighbour not in found:
                found.add(neighbour)
                waiting.append(neighbour)
    return found
