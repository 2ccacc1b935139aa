from leaderboard import Score, ranking, ranks


def names(scores):
    return [score.name for score in ranking(scores)]


def test_most_points_first():
    assert names([Score("a", 1, 0), Score("b", 3, 0), Score("c", 2, 0)]) == ["b", "c", "a"]


def test_of_equal_points_the_earlier_first():
    assert names([Score("late", 5, 90), Score("early", 5, 10)]) == ["early", "late"]


def test_shared_ranks():
    scores = [Score("a", 5, 1), Score("b", 5, 2), Score("c", 4, 3)]
    assert ranks(scores) == {"a": 1, "b": 1, "c": 3}


def test_nobody():
    assert ranking([]) == []
