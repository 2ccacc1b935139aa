import pytest
from retry import RetryPolicy, Transient, call


def always(error):
    def function():
        raise error

    return function


def test_it_is_the_very_error_of_the_last_try():
    error = Transient("the line is down")
    with pytest.raises(Transient) as caught:
        call(always(error), RetryPolicy(tries=2), lambda pause: None)
    assert caught.value is error


def test_a_single_try_raises_too():
    with pytest.raises(Transient, match="once"):
        call(always(Transient("once")), RetryPolicy(tries=1), lambda pause: None)


def test_no_pause_after_the_last_try():
    slept = []
    with pytest.raises(Transient):
        call(always(Transient()), RetryPolicy(tries=4), slept.append)
    assert slept == [0.5, 1.0, 2.0]
