from rolling import rolling_mean, steepest, windows


def test_a_window_as_long_as_the_series():
    assert list(windows("abc", 3)) == ["abc"]


def test_windows_of_one():
    assert rolling_mean([4, 6], 1) == [4, 6]


def test_no_window_is_short():
    assert {len(window) for window in windows(range(10), 4)} == {4}
    assert len(list(windows(range(10), 4))) == 7


def test_the_last_step_counts():
    assert steepest([0, 1, 9]) == 8
