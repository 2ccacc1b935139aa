import pytest
from rolling import rolling_mean, steepest, windows


def test_every_window_counts():
    assert rolling_mean([1, 2, 3, 4], 2) == [1.5, 2.5, 3.5]


def test_a_window_larger_than_the_series():
    assert list(windows([1, 2], 5)) == []


def test_a_window_of_nothing_is_refused():
    with pytest.raises(ValueError):
        list(windows([1], 0))


def test_the_steepest_step():
    assert steepest([0, 5, 6, 7]) == 5


def test_nothing_is_steep_in_an_empty_series():
    assert steepest([]) == 0
