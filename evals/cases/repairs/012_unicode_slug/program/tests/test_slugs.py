from slugs import slug, unique


def test_words_are_joined_by_hyphens():
    assert slug("Ten Ways, to Say 'No'!") == "ten-ways-to-say-no"


def test_letters_stay_where_accents_go():
    assert slug("Crème brûlée") == "creme-brulee"


def test_nothing_left():
    assert slug("!?") == "untitled"


def test_long_titles_end_at_a_word():
    assert slug("word " * 20) == "-".join(["word"] * 8)


def test_a_taken_slug_gets_a_number():
    assert unique("A", {"a", "a-2"}) == "a-3"
