from edit_distance import distance, meant


def test_equal_words():
    assert distance("same", "same") == 0


def test_a_letter_more():
    assert distance("cat", "cart") == 1


def test_a_letter_less():
    assert distance("cart", "cat") == 1


def test_a_letter_changed():
    assert distance("cat", "cut") == 1


def test_what_was_meant():
    assert meant("comit", ["commit", "status"]) == "commit"
    assert meant("xyz", ["commit"]) is None
