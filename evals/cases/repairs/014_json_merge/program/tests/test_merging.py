from merging import diff, merge_patch


def test_objects_are_merged():
    assert merge_patch({"a": 1, "b": {"c": 2}}, {"b": {"d": 3}}) == {"a": 1, "b": {"c": 2, "d": 3}}


def test_null_removes():
    assert merge_patch({"a": 1, "b": 2}, {"a": None}) == {"b": 2}


def test_the_target_stays_as_it_was():
    defaults = {"colour": "red", "size": 1}
    merge_patch(defaults, {"colour": None, "size": 2})
    assert defaults == {"colour": "red", "size": 1}


def test_lists_are_replaced():
    assert merge_patch({"a": [1, 2]}, {"a": [3]}) == {"a": [3]}


def test_the_smallest_patch():
    assert diff({"a": 1, "b": {"c": 2}}, {"b": {"c": 3}}) == {"a": None, "b": {"c": 3}}
