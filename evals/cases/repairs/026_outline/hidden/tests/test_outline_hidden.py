from outline import flatten


def test_texts_around_the_deep_part():
    outline = ["end"]
    for level in range(3000):
        outline = [f"before {level}", outline, f"after {level}"]
    texts = flatten(outline)
    assert texts[0] == "before 2999"
    assert texts[3000] == "end"
    assert texts[-1] == "after 2999"
    assert len(texts) == 6001


def test_the_outline_stays_as_it_was():
    outline = ["a", ["b", ["c"]]]
    flatten(outline)
    assert outline == ["a", ["b", ["c"]]]
