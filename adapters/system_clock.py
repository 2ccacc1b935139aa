"""The machine's clock."""

import time


class SystemClock:
    """ports.clock.Clock by time.time_ns."""

    def now_ns(self) -> int:
        """See the port."""
        return time.time_ns()
