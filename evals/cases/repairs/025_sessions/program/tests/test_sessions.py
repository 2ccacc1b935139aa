import pytest
from sessions import Sessions


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_use_keeps_a_session(clock):
    sessions = Sessions(10, clock)
    sessions.open("k", "ann")
    clock.now = 9
    assert sessions.use("k") == "ann"
    clock.now = 18
    assert sessions.use("k") == "ann"


def test_a_session_ends(clock):
    sessions = Sessions(10, clock)
    sessions.open("k", "ann")
    clock.now = 10
    assert sessions.use("k") is None


def test_old_sessions_are_swept(clock):
    sessions = Sessions(10, clock)
    sessions.open("a", "ann")
    clock.now = 5
    sessions.open("b", "bob")
    clock.now = 11
    assert sessions.sweep() == ["ann"]
    assert len(sessions) == 1


def test_nothing_to_sweep(clock):
    sessions = Sessions(10, clock)
    sessions.open("a", "ann")
    assert sessions.sweep() == []
