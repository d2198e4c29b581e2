"""The loop of a run: ask, let measure, tell, until it may stop.

**Order.** Results are told in the order in which they were asked for, group by group, and every group that is
told is followed by one decision. So what a run does depends on what was measured and not on who was faster: a
run that was killed and begun again ends where an undisturbed one would have. A result that has waited for the
others longer than `PATIENCE` is told all the same: nothing that was measured is kept in memory for long.

**Groups.** With very many workers one decision serves several of them (`group_size`): deciding for each would
take longer than measuring.

**After a kill.** Suggestions are marked with the process that they are for. Those of a process that is no
more are measured again, under the same names, before anything else is asked for.
"""

import queue
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from noisewise.core.checks import AMOUNT, COUNT, check_choice, check_count_within, check_within
from noisewise.core.text import counted, printable
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.log.jobs import OPEN, Job
from noisewise.study.running.crews import Crew, Finished, fields_of
from noisewise.study.running.limits import Limits, LiveLine, Runnable
from noisewise.study.running.owners import is_left_behind, is_of, mark

REACHED = "certain enough to stop"
FAIL, RAISE, EXCLUDE = REACTIONS = ("fail", "raise", "exclude")
#: Seconds that a result waits for those that were asked for before it.
PATIENCE = 5.0
#: Workers that one decision serves: one in so many of all; of so many workers, more of them.
SHARED, MANY, SHARED_BY_MANY = 4, 32, 2
#: Failures of one option in a row after which a run ends, rather than asking for it for ever.
IN_A_ROW = 3
#: Seconds between looks at the clock while nothing happens.
TICK = 0.2


class MeasuringError(RuntimeError):
    """A measurement failed, and the run was to end then, or could not go on."""


@dataclass(frozen=True)
class StudyRun:
    """What a run did."""

    certificate: Certificate
    measured: int  # results that were told
    failed: int  # attempts that gave none
    seconds: float
    ended: str  # why

    @property
    def reached(self) -> bool:
        """Whether measuring may stop."""
        return self.certificate.reached

    def __str__(self) -> str:
        failures = f", {counted(self.failed, 'failure')}" if self.failed else ""
        did = f"{counted(self.measured, 'measurement')} in {self.seconds:.3g} s{failures}: {self.ended}."
        return f"{did}\n{self.certificate}"

    __repr__ = __str__


def group_size(workers: int) -> int:
    """How many workers one decision serves."""
    return max(1, workers // (SHARED if workers < MANY else SHARED_BY_MANY))


class Attempt:
    """A suggestion that is being measured."""

    def __init__(self, job: Job, group: int) -> None:
        self.job, self.group, self.tries = job, group, 0
        self.done: Finished | None = None
        self.since = 0.0  # when it was done


class Runner:
    """One run.

    Args:
        study: The study.
        crew: Who measures.
        limits: When it ends.
        workers: How many measure at a time.
        timeout: Seconds that a measurement may take.
        retries: How often one that failed is tried again before it counts as failed.
        on_error: What a failure does.
        progress: What is told while it runs.
    """

    def __init__(
        self, study: Runnable, crew: Crew, limits: Limits, *, workers: int, timeout: float | None,
        retries: int, on_error: str, progress: LiveLine,
    ) -> None:  # fmt: skip
        self._study, self._crew, self._limits, self._progress = study, crew, limits, progress
        self._workers, self._each = workers, group_size(workers)
        # Where several wait for one decision, as many suggestions wait for them.
        self._window = workers + (self._each if self._each > 1 else 0)
        self._timeout, self._retries, self._on_error = timeout, retries, on_error
        self._mark, self._attempts, self._groups = mark(), 0, 0
        self._open: dict[str, Attempt] = {}  # by suggestion, in the order of asking
        self._by_attempt: dict[int, str] = {}
        self._in_a_row: Counter[str] = Counter()
        self._costs: dict[str, float] = {}  # by option: what its last measurement said it cost
        self._asking = False  # whether the log may have suggestions that this run has not seen yet
        self.measured = self.failed = 0

    def run(self) -> str:
        """Go on until it may stop; returns why it did."""
        try:
            self._take_over()
            while True:
                ended = self._go_on()
                while self._open:  # what was begun is told as well
                    self._hear()
                    self._tell_in_order(asking=False)
                # The last results may have raised the bound again.
                if ended != REACHED or self._ended() is not None:
                    return ended
        except BaseException:
            self._leave()
            raise
        finally:
            self._crew.close()

    def _go_on(self) -> str:
        """Ask and tell until there is a reason to end; returns it."""
        ended = self._ended()
        while ended is None:
            self._fill()
            if not self._open:
                return self._limits.spent() or "nothing is left to measure"
            self._hear()
            ended = self._tell_in_order()
        return ended

    def _take_over(self) -> None:
        """Measure what a run that was killed left behind."""
        for job in [job for job in self._study.pending if is_left_behind(job.by)]:
            if self._left() >= 1:
                self._launch(job)

    def _left(self) -> float:
        """How many more measurements may be begun."""
        return self._limits.left(len(self._open), self._under_way())

    def _under_way(self) -> float:
        """What is under way will cost."""
        return sum(self._cost_of(one.job) for one in self._open.values())

    def _cost_of(self, job: Job) -> float:
        """What a measurement costs: as the last one of this option said, or else as the study says."""
        return self._costs.get(job.option, self._study.cost_of(job.option))

    def _fill(self) -> None:
        """Ask until everybody has something to do."""
        while True:
            free = min(self._window - len(self._open), self._left())
            if free < 1:
                return
            each = int(min(self._each, free))
            self._asking = True
            try:
                jobs = self._study._ask_at_once(each, by=self._mark)
            except ValueError as nothing:  # such as: every option was excluded
                raise MeasuringError(str(nothing)) if self.failed else nothing from None
            if not jobs:
                self._asking = False
                return
            dear = []
            for job in jobs:
                if self._limits.affords(self._under_way(), self._cost_of(job)):
                    self._launch(job)
                else:
                    dear.append(job)
            if dear:
                self._study.release(dear, "the budget does not pay for it")
            self._asking = False

    def _launch(self, job: Job) -> None:
        if not self._open or len(self._group(self._groups)) >= self._each:
            self._groups += 1
        self._open[job.id] = Attempt(job, self._groups)
        self._begin(self._open[job.id])

    def _begin(self, attempt: Attempt) -> None:
        self._attempts += 1
        attempt.tries += 1
        self._by_attempt[self._attempts] = attempt.job.id
        self._crew.start(self._attempts, attempt.job)

    def _group(self, number: int) -> list[Attempt]:
        return [attempt for attempt in self._open.values() if attempt.group == number]

    def _hear(self) -> None:
        """Wait until something is done, or the clock has to be looked at."""
        self._progress.show(self._limits, len(self._open))
        with suppress(queue.Empty):
            self._take(self._crew.finished.get(timeout=TICK))
            while True:
                self._take(self._crew.finished.get_nowait())
        self._look_at_the_clock()

    def _take(self, done: Finished) -> None:
        id = self._by_attempt.pop(done.attempt, None)
        if id is None or id not in self._open:
            return
        attempt = self._open[id]
        if done.problem is None:
            try:
                fields_of(attempt.job, done.returned)
            except (ValueError, TypeError) as nonsense:
                done = done._replace(problem=str(nonsense))
        if done.problem is not None and attempt.tries <= self._retries:
            self.failed += 1
            self._begin(attempt)
            return
        attempt.done, attempt.since = done, time.monotonic()

    def _look_at_the_clock(self) -> None:
        if self._timeout is None:
            return
        now = time.monotonic()
        for number in list(self._by_attempt):
            began = self._crew.began(number)
            if began is not None and now - began > self._timeout:
                self._crew.give_up(number)
                said = f"it took longer than the time-out of {self._timeout:g} s"
                self._take(Finished(number, problem=said))

    def _tell_in_order(self, *, asking: bool = True) -> str | None:
        """Tell the groups that are done, each followed by a decision; returns why the run ends."""
        for group in self._ready():
            self._tell([attempt for attempt in group if attempt.done is not None])
            if not asking:
                continue
            if (ended := self._ended()) is not None:
                return ended
            self._fill()
        return None

    def _ready(self) -> Iterator[list[Attempt]]:
        """Groups that are done in the order of asking; whatever waited too long before them."""
        while self._open:
            group = self._group(next(iter(self._open.values())).group)
            if all(attempt.done is not None for attempt in group):
                yield group
                continue
            now = time.monotonic()
            late = [one for one in self._open.values() if one.done is not None and now - one.since > PATIENCE]
            if not late:
                return
            if not self._crew.finished.empty():  # telling took long: what it waits for may be done
                self._take(self._crew.finished.get_nowait())
                continue
            yield late

    def _tell(self, attempts: list[Attempt]) -> None:
        """Tell what came out, and what failed."""
        good = [attempt for attempt in attempts if attempt.done is not None and attempt.done.problem is None]
        rows = [fields_of(one.job, one.done.returned) for one in good if one.done is not None]
        if not self._tell_all(good, rows):
            for one, row in zip(good, rows, strict=True):
                self._tell_one(one, row)
        for attempt in attempts:
            if attempt.job.id in self._open and attempt.done is not None and attempt.done.problem is not None:
                self._fail(attempt, attempt.done)

    def _tell_all(self, attempts: Sequence[Attempt], rows: list[dict[str, Any]]) -> bool:
        """Tell them together, which is one change of the log; False if one of them is bad."""
        if len(attempts) < 2 or any("items" in row for row in rows):
            return False
        jobs = [one.job for one in attempts]
        try:
            self._study.tell_all(
                [{"job": job, "key": f"run {job.id}"} | row for job, row in zip(jobs, rows, strict=True)]
            )
        except (ValueError, TypeError, KeyError):
            return False
        for one, row in zip(attempts, rows, strict=True):
            self._told(one, row)
        return True

    def _tell_one(self, attempt: Attempt, row: dict[str, Any]) -> None:
        try:
            self._study.tell(attempt.job, **({"key": f"run {attempt.job.id}"} | row))
        except (ValueError, TypeError, KeyError) as nonsense:
            attempt.done = Finished(0, problem=str(nonsense.args[0] if nonsense.args else nonsense))
            return
        self._told(attempt, row)

    def _told(self, attempt: Attempt, row: dict[str, Any]) -> None:
        del self._open[attempt.job.id]
        self._in_a_row.pop(attempt.job.option, None)
        self.measured += 1
        self._limits.told += 1
        if row.get("cost") is not None:  # what it really cost
            self._costs[attempt.job.option] = float(row["cost"])
        self._limits.cost += self._cost_of(attempt.job)

    def _fail(self, attempt: Attempt, done: Finished) -> None:
        """A measurement that gave nothing."""
        job, why = attempt.job, printable(done.problem)  # whatever it said goes into the log and a terminal
        del self._open[job.id]
        self.failed += 1
        self._in_a_row[job.option] += 1
        self._study.fail(job, why[:500])
        if self._on_error == RAISE:
            raise MeasuringError(f"{job.id} ({job.what}) failed: {why}") from done.error
        if self._on_error == EXCLUDE:
            self._study.exclude(job.option, f"could not be measured: {why}"[:500])
        elif self._in_a_row[job.option] >= IN_A_ROW:
            raise MeasuringError(
                f"{job.what} failed {IN_A_ROW} times in a row, the last time with: {why.rstrip('.')}. Repair "
                f'what measures it, or exclude the option (`on_error="{EXCLUDE}"` does so by itself).'
            ) from done.error

    def _ended(self) -> str | None:
        if self._limits.wants_certificate(self._study):
            certificate = self._progress.certificate = self._study.certificate()
            if self._limits.reached(certificate):
                return REACHED
            if (why := self._limits.hopeless(certificate)) is not None:
                return why
        return self._limits.spent() if not self._limits.left(0) else None

    def _leave(self) -> None:
        """Tell what is done, and give the rest back."""
        for attempt in list(self._open.values()):
            if attempt.done is not None and attempt.done.problem is None:
                self._tell_one(attempt, fields_of(attempt.job, attempt.done.returned))
        rest = [id for id, one in self._open.items() if one.job.status == OPEN]
        if self._asking:  # it was interrupted before it heard what it was to measure
            unseen = (job for job in self._study.pending if is_of(job.by, self._mark))
            rest += [job.id for job in unseen if job.id not in self._open]
        if rest:
            self._study.release(rest, "the run ended")


def run(
    study: Runnable, measure: Any, *, workers: Any, until: Any, budget: Any, timeout: Any, retries: Any,
    on_error: Any, on: Any, progress: Any,
) -> StudyRun:  # fmt: skip
    """See `Study.run`."""
    from noisewise.study.running.crews import crew_of

    workers = check_count_within("workers", workers, COUNT)
    retries = 0 if retries == 0 else check_count_within("retries", retries, COUNT)
    timeout = None if timeout is None else check_within("timeout", timeout, AMOUNT)
    check_choice("on_error", on_error, REACTIONS)
    limits = Limits(study, until, budget)
    runner = Runner(
        study, crew_of(measure, workers, on), limits, workers=workers, timeout=timeout, retries=retries,
        on_error=on_error, progress=LiveLine(study, bool(progress)),
    )  # fmt: skip
    try:
        ended = runner.run()
    finally:
        runner._progress.close()
    return StudyRun(study.certificate(), runner.measured, runner.failed, limits.seconds, ended)
