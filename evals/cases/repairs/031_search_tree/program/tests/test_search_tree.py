from search_tree import WordTree


def test_words_come_sorted_and_once():
    assert list(WordTree(["pear", "apple", "pear", "fig"])) == ["apple", "fig", "pear"]


def test_the_root_is_found():
    assert "m" in WordTree("m")


def test_other_words_are_found():
    tree = WordTree(["m", "c", "x"])
    assert "c" in tree
    assert "x" in tree


def test_what_was_not_added_is_not_found():
    assert "z" not in WordTree(["m", "c"])
