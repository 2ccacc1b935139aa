from outline import first, flatten, numbered


def nested(depth):
    outline = ["deepest"]
    for _ in range(depth):
        outline = [outline]
    return outline


def test_reading_order():
    assert flatten(["a", ["b", ["c"], "d"], "e"]) == ["a", "b", "c", "d", "e"]


def test_deep_outlines():
    assert flatten(nested(20_000)) == ["deepest"]


def test_numbers():
    assert list(numbered([["a"], "b"])) == ["1. a", "2. b"]


def test_the_first_text():
    assert first([[], [["x"]], "y"]) == "x"
