"""A study that measures by itself: the changes, and a run that makes them."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from noisewise.study.certificates.bound import recommend
from noisewise.study.entries import Entries
from noisewise.study.log.jobs import Job

if TYPE_CHECKING:  # what a run stands on is loaded when there is one
    from noisewise.study.running.limits import Until
    from noisewise.study.running.run import StudyRun
    from noisewise.study.running.studied import Runnable
    from noisewise.study.telling.scale import ValueScale


class Measuring(Entries):
    """What asks, measures and tells by itself."""

    def _ask_at_once(self, n: int, *, by: str) -> list[Job]:
        """What n workers may measure at a time; one decision serves many of them."""
        return self._ask(n, by=by, at_once=True)

    def _bound_now(self) -> float:
        """The bound of what would be recommended, whether or not the measurements fit."""
        self._catch_up()
        found = recommend(self._now())
        return math.inf if found is None else found.bound

    @property
    def eps(self) -> float | None:
        """How far from the best is close enough; on a log scale, of logarithms."""
        return self.specification.eps

    @property
    def value_scale(self) -> "ValueScale":
        """How its numbers are read and shown."""
        return self.specification.value_scale

    def cost_of(self, option: str) -> float:
        """What one measurement of an option costs; 1 where no costs were given."""
        costs = self._state.costs
        return 1.0 if costs is None else float(costs[self._state.index[option]])

    def run(
        self,
        measure: Callable[[Job], Any],
        *,
        workers: int = 1,
        until: "Until" = "certified",
        budget: Any = None,
        timeout: float | None = None,
        retries: int = 0,
        on_error: str = "fail",
        on: Any = None,
        progress: bool = True,
    ) -> "StudyRun":
        """Ask, measure and tell until the certificate allows to stop.

        Suggestions are marked as this process's. If it is killed, the next run on this machine measures what
        was under way and goes on; nothing is lost or told twice. Results are told in the order of asking, so
        that a run does not depend on who was faster.

        Args:
            measure: A function of a job (`Job.option` says what to measure, `Job.items` on what) that returns
                a number, ``(value, se)``, or a mapping with the arguments of `tell`. It may be ``async``.
            workers: How many measurements at a time.
            until: ``"certified"``: the bound is at most eps. A number: it is at most that. ``"spent"``: the
                budget is spent. Or a function of the certificate.
            budget: What may be spent: a number of measurements, a time such as ``"2h"``, or a mapping such as
                ``{"measurements": 200, "cost": 5.0, "seconds": 3600, "deadline": "08:00"}``. Nothing is begun
                that would exceed the cost. Default: what is left of the study's own budget.
            timeout: Seconds that a measurement may take; one that takes longer has failed, and its option is
                asked for again.
            retries: How often a measurement that failed is tried again.
            on_error: After that: ``"fail"``: it is told as a failure, and the option may be asked for again
                (three failures of one option in a row end the run); ``"exclude"``: its option is excluded;
                ``"raise"``: the run ends.
            on: ``"threads"``, the default, ``"processes"``, an executor of `concurrent.futures`, or a Dask
                cluster: its ``Client``, the address of its scheduler, or its scheduler file. A cluster
                measures again what a worker was doing when it died.
            progress: Whether a terminal shows a line with bound, leader and rate.
        """
        from noisewise.study.running.run import run

        return run(
            cast("Runnable", self), measure, workers=workers, until=until, budget=budget, timeout=timeout,
            retries=retries, on_error=on_error, on=on, progress=progress,
        )  # fmt: skip
