import pytest
from retry import RetryPolicy, Transient, call


def failing(times, slept=None):
    left = [times]

    def function():
        if left[0]:
            left[0] -= 1
            raise Transient(f"{left[0]} left")
        return "done"

    return function


def test_a_good_call_is_made_once():
    slept = []
    assert call(failing(0), RetryPolicy(), slept.append) == "done"
    assert slept == []


def test_pauses_grow():
    slept = []
    assert call(failing(2), RetryPolicy(tries=3), slept.append) == "done"
    assert slept == [0.5, 1.0]


def test_the_last_error_is_raised():
    with pytest.raises(Transient):
        call(failing(3), RetryPolicy(tries=3), lambda pause: None)


def test_other_errors_are_not_retried():
    with pytest.raises(ZeroDivisionError):
        call(lambda: 1 // 0, RetryPolicy(), lambda pause: None)
