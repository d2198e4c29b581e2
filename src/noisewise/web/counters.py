"""How many requests there were, how they ended, and how long they took."""

import threading
from collections import Counter

#: Upper ends of the classes of durations, in seconds.
CLASSES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Counters:
    """Counts, in the words of Prometheus."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._classes: Counter[float] = Counter()
        self._seconds, self._count = 0.0, 0
        self._changing = threading.Lock()

    def note(self, method: str, status: int, seconds: float) -> None:
        """A request that was answered."""
        with self._changing:
            # Methods are whatever somebody sends; only known ones get a line of their own.
            known = method if method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS") else "other"
            self._requests[known, status] += 1
            self._seconds += seconds
            self._count += 1
            self._classes[next((end for end in CLASSES if seconds <= end), float("inf"))] += 1

    def lines(self) -> list[str]:
        """All of them."""
        with self._changing:
            lines = ["# TYPE noisewise_requests_total counter"]
            lines += [
                f'noisewise_requests_total{{method="{method}",status="{status}"}} {count}'
                for (method, status), count in sorted(self._requests.items())
            ]
            lines.append("# TYPE noisewise_request_seconds histogram")
            so_far = 0
            for end in CLASSES:
                so_far += self._classes[end]
                lines.append(f'noisewise_request_seconds_bucket{{le="{end:g}"}} {so_far}')
            return [
                *lines,
                f'noisewise_request_seconds_bucket{{le="+Inf"}} {self._count}',
                f"noisewise_request_seconds_sum {self._seconds:.6f}",
                f"noisewise_request_seconds_count {self._count}",
            ]
