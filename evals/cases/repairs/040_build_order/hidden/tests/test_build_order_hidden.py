import pytest
from build_order import CircleError, build_order, needed_by


def test_a_circle_beside_good_packages():
    with pytest.raises(CircleError) as caught:
        build_order({"a": ["b"], "b": ["a"], "fine": [], "also": ["fine"]})
    assert caught.value.packages == ["a", "b"]


def test_what_waits_for_a_circle_cannot_be_built_either():
    with pytest.raises(CircleError, match="a, b, z"):
        build_order({"z": ["a"], "b": ["a"], "a": ["b"]})


def test_a_package_that_needs_itself():
    with pytest.raises(CircleError):
        build_order({"a": ["a"], "b": []})


def test_a_circle_elsewhere_does_not_matter():
    assert needed_by({"app": ["log"], "x": ["y"], "y": ["x"]}, "app") == ["log", "app"]
