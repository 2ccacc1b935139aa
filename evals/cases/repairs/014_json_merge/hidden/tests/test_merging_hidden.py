from merging import diff, merge_patch


def test_nested_objects_stay_as_they_were():
    defaults = {"font": {"size": 10, "name": "serif"}}
    merged = merge_patch(defaults, {"font": {"size": 12, "name": None}})
    assert merged == {"font": {"size": 12}}
    assert defaults == {"font": {"size": 10, "name": "serif"}}


def test_a_patch_can_be_used_twice():
    patch = {"a": {"b": 1}}
    first = merge_patch({}, patch)
    first["a"]["b"] = 2
    assert merge_patch({}, patch) == {"a": {"b": 1}}


def test_there_and_back():
    before, after = {"a": {"b": 1, "c": 2}}, {"a": {"c": 3}, "d": [1]}
    assert merge_patch(before, diff(before, after)) == after
