"""Timing functions: loops long enough for the clock, and which of several functions is fastest."""

import gc
import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from noisewise.core.checks import check_choice, nearest
from noisewise.study.stores.address import MEMORY
from noisewise.timing.race import Race, Timed
from noisewise.timing.timings import Timings

#: A reading lasts at least so many seconds, and no loop is longer than so many calls.
SHORTEST, MOST_CALLS = 1e-3, 1 << 30
#: How often a loop is tried before its length is believed, and from how many seconds on once is enough.
TRIES, LONG = 5, 0.1
#: What is timed: seconds that pass, or seconds that this process computes.
CLOCKS: dict[str, Callable[[], int]] = {"wall": time.perf_counter_ns, "process": time.process_time_ns}
#: Below so many seconds a call, calling is a good part of what is timed.
CALLING = 2e-7


class Loop:
    """A function that is called in a loop, timed as a whole.

    Args:
        name: How messages call it.
        function: Called without arguments.
        clock: Nanoseconds.
    """

    def __init__(self, name: str, function: Callable[[], Any], clock: Callable[[], int]) -> None:
        self._name, self._function, self._clock = name, function, clock
        self.calls = 1

    def calibrate(self) -> None:
        """Find how many calls last `SHORTEST`, so that readings of all short functions last equally long.

        A busy machine interrupts a long reading more often than a short one. If one function's readings were
        several times as long as another's, it would seem slower in most rounds, and no number of rounds
        would show it. So the time of a call is the least of several readings: most are interrupted there.
        """
        least = math.inf
        for power in itertools.count():
            self.calls = 2**power
            for _ in range(TRIES):
                least = min(least, self.take())
                if least * self.calls >= LONG:  # much longer than an interruption: one reading says enough
                    break
            if least * self.calls >= SHORTEST or self.calls >= MOST_CALLS:
                break
        self.calls = min(self.calls, math.ceil(SHORTEST / least) if least > 0.0 else self.calls)

    def take(self) -> float:
        """Seconds of one call."""
        function, calls = self._function, itertools.repeat(None, self.calls)
        collects = gc.isenabled()
        gc.disable()  # as timeit: whose turn it is to collect everybody's garbage is chance
        try:
            began = self._clock()
            for _ in calls:
                function()
            ended = self._clock()
        finally:
            if collects:
                gc.enable()
        return (ended - began) * 1e-9 / self.calls


def best_of(
    functions: Mapping[str, Callable[[], Any]] | Iterable[Callable[[], Any]],
    *,
    eps: float | str = "2%",
    confidence: float = 0.95,
    budget: Any = None,
    baseline: str | None = None,
    candidate: str | None = None,
    clock: str = "wall",
    warmup: int = 1,
    seed: int | None = None,
    store: str | Path = MEMORY,
    progress: bool = True,
) -> Timings:
    """Find the fastest of some functions, and time them for as long as that takes.

    Functions are timed in rounds, in a random order, each in a loop that lasts a millisecond or more. A round
    cancels whatever slows the machine down for longer; functions that are certainly slower leave. It stops
    when the recommended function is certain to be at most `eps` slower than the fastest.

    Args:
        functions: By name; or functions with names of their own. They are called without arguments.
        eps: How much slower than the fastest is good enough: "2%", or 0.02.
        confidence: Of the certificate.
        budget: When to give up: a time such as "30s" or "2min", or a number of readings. Default: after five
            minutes, or twelve rounds if these take longer.
        baseline: The name of the function that `candidate` is compared with; then the answer is whether the
            candidate is at most `eps` slower. There must be no others.
        candidate: See there; default: the other one.
        clock: ``"wall"``, seconds that pass, or ``"process"``, seconds that this process computes.
        warmup: Rounds before the first that counts; the last of them orders the functions.
        seed: Of the order within rounds.
        store: Where the study is kept, if it is to be kept: a file.
        progress: Whether a terminal shows how it goes.

    Example:
        >>> fastest = best_of({"short": lambda: sum(range(100)), "long": lambda: sum(range(9999))})
        >>> fastest.option, fastest.certificate.reached
        ('short', True)
    """
    named = _named(functions)
    read = CLOCKS[check_choice("clock", clock, tuple(CLOCKS))]
    versus = versus_of(list(named), baseline, candidate)
    loops = {name: Loop(name, function, read) for name, function in named.items()}
    race = Race(
        [Timed(name, loop.take) for name, loop in loops.items()], eps=eps, confidence=confidence,
        budget=budget, warmup=warmup, seed=seed, store=store, versus=versus, progress=progress,
        asides=_asides,
    )  # fmt: skip
    for loop in loops.values():
        loop.calibrate()
    return race.run()


def _asides(times: dict[str, float]) -> tuple[str, ...]:
    """What is to be said about calls that are very short."""
    if min(times.values()) >= CALLING:
        return ()
    return (
        "the shortest call takes less than 0.2 µs, a good part of which is calling a function at all: let it "
        "do the work several times.",
    )


def _named(functions: Any) -> dict[str, Callable[[], Any]]:
    if isinstance(functions, Mapping):
        named = dict(functions)
    else:
        listed = list(functions) if isinstance(functions, Iterable) else [functions]
        named = {getattr(one, "__name__", repr(one)): one for one in listed}
        if len(named) < len(listed):
            raise ValueError(
                '`functions` have the same name; give each one of its own: {"first": f, "second": g}.'
            )
    for name, function in named.items():
        if not isinstance(name, str) or not callable(function):
            raise TypeError(
                f"`functions` must map names to functions that are called without arguments; got "
                f"{name!r}: {function!r}."
            )
    if len(named) < 2:
        raise ValueError(f"`functions` must be at least two, to be compared; got {len(named)}.")
    return named


def versus_of(names: list[str], baseline: str | None, candidate: str | None) -> tuple[str, str] | None:
    """Who is compared with whom; None if the fastest is looked for."""
    if baseline is None and candidate is None:
        return None
    if len(names) != 2:
        raise ValueError(
            f"`baseline` and `candidate` are two; got {len(names)} options: leave the others out, or leave "
            "`baseline` out to find the fastest."
        )
    for role, name in (("baseline", baseline), ("candidate", candidate)):
        if name is not None and name not in names:
            raise KeyError(f"`{role}` must be one of {', '.join(names)}; got {name!r}.{nearest(name, names)}")
    if baseline == candidate:
        raise ValueError(f"`baseline` and `candidate` must differ; both are {baseline!r}.")
    if baseline is None:
        baseline = next(name for name in names if name != candidate)
    return baseline, next(name for name in names if name != baseline)
