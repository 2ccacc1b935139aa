from intervals import Interval, gaps, merge


def test_a_chain_of_touching_intervals_becomes_one():
    chain = [Interval(n, n + 1) for n in range(5)]
    assert merge(chain) == [Interval(0, 5)]


def test_intervals_one_number_apart_stay_apart():
    assert merge([Interval(1, 3), Interval(4, 6)]) == [Interval(1, 3), Interval(4, 6)]


def test_touching_intervals_leave_no_gap():
    assert gaps([Interval(3, 5), Interval(1, 3), Interval(7, 8)]) == [Interval(5, 7)]
