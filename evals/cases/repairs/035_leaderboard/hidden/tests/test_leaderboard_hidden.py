from leaderboard import Score, ranking


def names(scores):
    return [score.name for score in ranking(scores)]


def test_of_equal_times_by_name():
    assert names([Score("zoe", 5, 10), Score("amy", 5, 10), Score("max", 5, 10)]) == [
        "amy",
        "max",
        "zoe",
    ]


def test_all_three_together():
    scores = [Score("d", 1, 0), Score("c", 2, 9), Score("b", 2, 3), Score("a", 2, 9)]
    assert names(scores) == ["b", "a", "c", "d"]


def test_negative_points_come_last():
    assert names([Score("a", -1, 0), Score("b", 0, 0)]) == ["b", "a"]
