from search_tree import WordTree


def test_deep_words_are_found():
    tree = WordTree("mcxadzyb")
    assert all(letter in tree for letter in "mcxadzyb")
    assert not any(letter in tree for letter in "efghijkl")


def test_a_line_of_words():
    tree = WordTree("abcdefg")
    assert "g" in tree
    assert "h" not in tree


def test_nothing_is_in_an_empty_tree():
    assert "" not in WordTree()
