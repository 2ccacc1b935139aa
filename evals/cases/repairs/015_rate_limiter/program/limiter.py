"""A token bucket: so many calls a second, with short bursts."""

from collections.abc import Callable


class RateLimiter:
    """Lets `rate` calls a second through, and at most `burst` at once.

    `clock` gives seconds and never goes back, like time.monotonic.
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._filled_at = clock()

    def allow(self, cost: int = 1) -> bool:
        """Whether a call may go through now; what is refused costs nothing."""
        self._fill()
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def wait_for(self, cost: int = 1) -> float:
        """Seconds until a call of this cost would be let through."""
        self._fill()
        return max(0.0, (cost - self._tokens) / self._rate)

    def _fill(self) -> None:
        now = self._clock()
        self._tokens += (now - self._filled_at) * self._rate
        self._filled_at = now
