from limiter import RateLimiter


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_bucket_that_was_used_fills_no_further_either():
    clock = Clock()
    limiter = RateLimiter(rate=1, burst=5, clock=clock)
    limiter.allow(3)
    clock.now += 1000
    assert limiter.allow(5)
    assert not limiter.allow()


def test_short_rests_do_not_add_up():
    clock = Clock()
    limiter = RateLimiter(rate=10, burst=2, clock=clock)
    for _ in range(50):
        clock.now += 0.1
        limiter.wait_for()
    assert [limiter.allow() for _ in range(3)] == [True, True, False]


def test_asking_for_more_than_a_burst_is_never_free():
    clock = Clock()
    limiter = RateLimiter(rate=1, burst=2, clock=clock)
    clock.now += 100
    assert limiter.wait_for(3) == 1.0
