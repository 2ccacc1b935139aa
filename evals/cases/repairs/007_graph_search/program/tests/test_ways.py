from ways import reachable, shortest_path

TOWN = {"home": ["mill", "park"], "mill": ["school"], "park": ["lake"], "lake": ["school"]}


def test_the_way_with_the_fewest_edges():
    assert shortest_path(TOWN, "home", "school") == ["home", "mill", "school"]


def test_the_way_to_where_one_is():
    assert shortest_path(TOWN, "home", "home") == ["home"]


def test_no_way_back():
    assert shortest_path(TOWN, "school", "home") is None


def test_all_that_can_be_reached():
    assert reachable(TOWN, "park") == {"park", "lake", "school"}
