from ways import shortest_path


def test_the_order_of_the_edges_does_not_matter():
    graph = {"a": ["b", "c"], "b": ["x"], "x": ["d"], "c": ["d"]}
    mirrored = {node: list(reversed(to)) for node, to in graph.items()}
    assert shortest_path(graph, "a", "d") == ["a", "c", "d"]
    assert shortest_path(mirrored, "a", "d") == ["a", "c", "d"]


def test_a_direct_edge_is_taken_wherever_it_stands():
    graph = {"a": ["b", "d", "c"], "b": ["c"], "c": ["d"]}
    assert shortest_path(graph, "a", "d") == ["a", "d"]


def test_a_circle_ends():
    assert shortest_path({"a": ["b"], "b": ["a"]}, "a", "z") is None
