import itertools

from edit_distance import distance, meant

WORDS = ["kitten", "sitting", "sit", "", "kit", "tens"]


def test_both_ways_are_equally_far():
    assert all(distance(a, b) == distance(b, a) for a, b in itertools.product(WORDS, WORDS))


def test_well_known_distances():
    assert distance("kitten", "sitting") == 3
    assert distance("sitting", "sit") == 4
    assert distance("flaw", "lawn") == 2


def test_a_letter_taken_away_in_the_middle():
    assert distance("xaby", "xbya") == 2


def test_letters_too_many():
    assert meant("statusss", ["commit", "status"]) == "status"
