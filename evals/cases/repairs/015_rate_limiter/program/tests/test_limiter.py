import pytest
from limiter import RateLimiter


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_burst_and_no_more(clock):
    limiter = RateLimiter(rate=1, burst=3, clock=clock)
    assert [limiter.allow() for _ in range(4)] == [True, True, True, False]


def test_tokens_come_back(clock):
    limiter = RateLimiter(rate=2, burst=1, clock=clock)
    limiter.allow()
    clock.now += 0.5
    assert limiter.allow()


def test_a_quiet_hour_gives_one_burst(clock):
    limiter = RateLimiter(rate=1, burst=2, clock=clock)
    clock.now += 3600
    assert [limiter.allow() for _ in range(3)] == [True, True, False]


def test_how_long_to_wait(clock):
    limiter = RateLimiter(rate=4, burst=1, clock=clock)
    limiter.allow()
    assert limiter.wait_for() == pytest.approx(0.25)
