import pytest
from build_order import CircleError, build_order, needed_by


def test_what_is_needed_comes_first():
    assert build_order({"app": ["log", "net"], "net": ["log"]}) == ["log", "net", "app"]


def test_by_name_where_there_is_a_choice():
    assert build_order({"c": [], "a": [], "b": []}) == ["a", "b", "c"]


def test_a_circle_is_named():
    with pytest.raises(CircleError) as caught:
        build_order({"a": ["b"], "b": ["a"]})
    assert caught.value.packages == ["a", "b"]


def test_only_what_is_needed():
    assert needed_by({"app": ["log"], "doc": ["tex"]}, "app") == ["log", "app"]
