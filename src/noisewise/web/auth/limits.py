"""How many requests somebody may make: a bucket of tries that fills up again as time goes by."""

import threading
import time
from collections.abc import Callable

#: Buckets that are remembered; a full one need not be.
MOST = 10_000


class RateLimit:
    """At most ``rate`` requests a second on average, and ``burst`` at once, for each key."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst = rate, burst
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # how much is left, and when that was
        self._changing = threading.Lock()

    def wait(self, key: str) -> float:
        """Take one; 0 if that is allowed, else the seconds until it is."""
        now = self._clock()
        with self._changing:
            left = self._left(key, now)
            if left < 1.0:
                return (1.0 - left) / self.rate
            if len(self._buckets) >= MOST:
                self._forget_full(now)
            self._buckets[key] = (left - 1.0, now)
            return 0.0

    def _left(self, key: str, now: float) -> float:
        left, then = self._buckets.get(key, (self.burst, now))
        return min(self.burst, left + (now - then) * self.rate)

    def _forget_full(self, now: float) -> None:
        kept = {key: self._buckets[key] for key in self._buckets if self._left(key, now) < self.burst}
        # If all are in use, somebody invents keys: those who are known begin anew.
        self._buckets = kept if len(kept) < MOST else {}
