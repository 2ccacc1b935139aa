from intervals import Interval, length, merge


def test_overlapping_intervals_become_one():
    assert merge([Interval(1, 4), Interval(3, 6)]) == [Interval(1, 6)]


def test_touching_intervals_become_one():
    assert merge([Interval(1, 3), Interval(3, 5)]) == [Interval(1, 5)]


def test_a_contained_interval_changes_nothing():
    assert merge([Interval(0, 9), Interval(2, 3)]) == [Interval(0, 9)]


def test_length_counts_each_number_once():
    assert length([Interval(0, 4), Interval(2, 6)]) == 6
