"""A study: options, measurements with their error bars, what to measure next, and when to stop."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack, cast

import polars as pl

from noisewise.core.support.checks import check_count
from noisewise.core.support.files import written_whole
from noisewise.core.support.garbage import without_collector
from noisewise.core.support.ranges import ASKED, LEASE, check_amount, check_count_within, check_within
from noisewise.core.support.text import check_text, printable
from noisewise.core.support.words import as_html, counted, number
from noisewise.study.asking.chooser import Chooser, pinned_policy
from noisewise.study.asking.suggestion import Asking
from noisewise.study.certificate.bound import certify
from noisewise.study.certificate.certificate import Certificate
from noisewise.study.certificate.check import Check, check_fit
from noisewise.study.certificate.diagnosis import explain
from noisewise.study.intake.batch import Batch, Parsed, Taken, check_batch
from noisewise.study.intake.changes import (
    added_options,
    amended,
    require_reason,
    switched_model,
)
from noisewise.study.intake.entry import (
    Measurement,
    Told,
    check_arguments,
    find_job,
    find_measurement,
    find_option,
    measurement_of,
    read_told,
    still_void,
    told_before,
)
from noisewise.study.intake.events import Happened, events_of
from noisewise.study.intake.sheets import read_sheet
from noisewise.study.log.export import write_log
from noisewise.study.log.flaws import rehearse
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import OPEN, Job, State, job_of, replay
from noisewise.study.log.unanswered import Unanswered, is_there, new_append
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.sums import Sums
from noisewise.study.planning.noise_menu import Noise, Priced
from noisewise.study.planning.plan import MOST_PATHS, Plan, make_plan
from noisewise.study.planning.slot import Slot, fill_slots
from noisewise.study.planning.worth import MOST_LOOKS, Worth, find_worth
from noisewise.study.showing.frames import make_frame
from noisewise.study.showing.plots import Plots
from noisewise.study.stores.chain import follow, start_of
from noisewise.study.stores.protocol import Event, LogMovedOnError, Storage, StoreChangedError, to_json

#: Seconds during which others may be faster before a change is given up.
PATIENCE = 30.0
Decide = Callable[[list[Event]], Happened]
Answer = TypeVar("Answer")
Frame = Literal["measurements", "options", "events"]


class Study:
    """A question about options, everything measured so far, and what follows from it.

    Made by `noisewise.create_study` and `noisewise.load_study`. Every change is an event that is appended to
    the study's log; nothing is ever deleted, and the same log always gives the same answers.
    """

    def __init__(self, storage: Storage, name: str, clock: Callable[[], float] = time.time) -> None:
        self._storage, self._clock = storage, clock
        plain = storage.specification(name)
        # The name is the store's business: a study may be renamed.
        self.specification = Specification.from_plain({**plain, "name": name})
        self._state = State(self.specification)
        self._start = self._head = start_of(to_json(plain)).hex()
        self._crowded = (
            False  # whether others wrote between the last changes: then it is better to look first
        )
        self._unanswered: list[Unanswered] = []
        self._analysis: Analysis | None = None
        self._judged: tuple[Check, Certificate] | None = None
        self._catch_up()

    @property
    def name(self) -> str:
        """The study's name in its store."""
        return self.specification.name

    @property
    def options(self) -> list[str]:
        """The names of all options, added ones last."""
        return list(self._state.ids)

    @property
    def notes(self) -> list[str]:
        """What was noticed when the catalogue was read, and whether there is anything to choose from."""
        self._catch_up()
        features = self._state.whitening.notes if self._state.whitening else ()
        alone = [] if len(self._state.ids) > 1 else [f"{self._state.ids[0]} is the only option: add others."]
        ignored = [one.advice for one in self._state.ignored.values()]
        return [*self.specification.catalogue.notes, *features, *alone, *ignored]

    @property
    def policy(self) -> str:
        """Who asks."""
        return self._state.policy.name

    @property
    def model(self) -> str:
        """The present model: "independent", "linear" or "linear+deviation"."""
        self._catch_up()
        return self._state.model.model

    @property
    def deviation(self) -> float | None:
        """How far options deviate from their weighted sums, stated or estimated; None in other models."""
        self._catch_up()
        return None if self._state.model.deviation is None else self._now().sizes.deviation

    @property
    def extra_scatter(self) -> float | None:
        """What is added to every error bar, in squares, stated or estimated; None if nothing is."""
        self._catch_up()
        return None if self._state.model.extra_scatter is None else self._now().sizes.extra_scatter

    @property
    def head(self) -> str:
        """The last hash of the log's chain, in hexadecimal: it stands for everything that happened."""
        self._catch_up()
        return self._head

    @property
    def chained(self) -> str | None:
        """When an older log was given its chain of hashes; None if it had one from the beginning."""
        told = getattr(self._storage, "chained", None)
        return None if told is None else told(self.name)

    @property
    def n_measurements(self) -> int:
        """How many measurements count."""
        self._catch_up()
        return self._state.measurements.n_live

    @property
    def pending(self) -> list[Job]:
        """Suggestions that are under way."""
        self._catch_up()
        return self._state.open_jobs(self._clock())

    def ask(
        self,
        n: int = 1,
        sigma: float | None = None,
        *,
        dry_run: bool = False,
        lease: float | None = None,
        by: str | None = None,
    ) -> list[Job]:
        """What to measure next: n suggestions, each reserved until it expires.

        Args:
            n: How many.
            sigma: The standard error the coming measurements will have, if it is known beforehand.
            dry_run: Only look; nothing is reserved or written.
            lease: Seconds for which they are reserved; default: the study's own, one week.
            by: Who will measure.
        """
        check_count_within("n", n, ASKED)
        sigma = None if sigma is None else check_amount("sigma", sigma)
        lease = self.specification.lease if lease is None else check_within("lease", lease, LEASE)
        by = None if by is None else check_text("by", by)

        bodies: list[dict[str, Any]] = []
        asking: Asking | None = None

        def ready(news: list[Event]) -> Asking:
            nonlocal asking
            if asking is None or not asking.still_holds(news):
                asking = Asking(self._now(), self._clock())
            return asking

        def suggested(news: list[Event]) -> Happened:
            nonlocal asking
            if not (bodies and all(event.kind == "tell" for event in news)):
                bodies[:] = ready(news).suggest(n=n, sigma=sigma, now=self._clock(), lease=lease, by=by)
                asking = None
            return [("ask", body) for body in bodies]

        if dry_run:
            self._catch_up()
            suggested([])
            return [job_of(body) for body in bodies]
        call = ("ask", n, sigma, lease, by)
        return self._record(
            suggested,
            call,
            lambda: [self._state.jobs[body["id"]] for body in bodies],
            before=lambda: ready(self._catch_up()),
            meanwhile=ready,
        )

    def tell(self, job: Job | str | None = None, value: Any = None, **told: Unpack[Told]) -> Measurement:
        """Take the result of a measurement, asked for or not.

        Args:
            job: The suggestion that was measured, or its id; or say ``option=``, or ``plus=`` and
                ``minus=`` for a measured difference.
            value: What came out: a number, "12.34(5)", or an object of the package uncertainties.
            told: Exactly one error bar: ``se=`` (one number, or two if asymmetric), ``var=``, ``sd=`` with
                ``n=``, ``ci=(lo, hi)`` with ``level=`` (default 0.95), ``values=[...]``, ``successes=`` with
                ``trials=``; none if you know none. Also ``block=``, ``instrument=``, ``key=`` (telling a key
                again is harmless), ``by=``, ``cost=``, ``at=``, ``note=``.
        """
        given = _given(job, value, told)
        number, body = 0, {}

        def read(news: list[Event]) -> Happened:
            nonlocal number, body
            body = read_told(self._state, given, now=self._clock())
            before = told_before(self._state, body)
            if before is not None and before.voided is not None:
                raise still_void(before)
            if before is not None:
                number, body = before.number, self._state.told[before.number - 1]
                return []
            number = len(self._state.told) + 1
            return [("tell", body)]

        return self._record(read, ("tell", given), lambda: measurement_of(number, body))

    def tell_many(
        self,
        measurements: Any,
        *,
        match: bool = False,
        repeat: bool = False,
        watch: Callable[[str, int, int], None] | None = None,
    ) -> Taken:
        """Take a table of results (a file or a frame); if one row is bad, none is taken.

        Columns are named like the arguments of `tell`; intervals are ``lo`` and ``hi``, asymmetric errors
        ``se_up`` and ``se_down``, and repeated readings in one cell are separated by semicolons. In a table
        with a column of error bars, a row that has none says ``none``.

        Args:
            measurements: The table.
            match: Take a row that names only its option for the answer to the oldest suggestion of that
                option that is under way; leave rows without any result for later.
            repeat: Take a table without keys although all its rows equal measurements that were told before.
            watch: Is called with what is being done, how many rows are done, and how many there are.
        """
        seen = watch or (lambda doing, done, of: None)
        with without_collector():
            sheet = read_sheet(measurements)
            parsed = Parsed(sheet, self.specification.noise_floor, not match, seen)
        batch: Batch | None = None

        def read(news: list[Event]) -> Happened:
            nonlocal batch
            # Parsed once; only what came in meanwhile can make another check necessary.
            now = self._clock()
            if batch is None or not batch.untouched_by(news):
                batch = check_batch(self._state, parsed, now=now, match=match, repeat=repeat, watch=seen)
            batch.first = len(self._state.told) + 1
            return batch

        call = ("tell_many", sheet, match, repeat)
        with without_collector():
            return self._record(
                read, call, lambda: Taken(cast(Batch, batch)), before=lambda: self._decided(read, [])
            )

    def fail(self, job: Job | str | Sequence[Job | str], reason: str) -> None:
        """A suggestion, or several, could not be measured; they are free again, and the reason is kept."""
        self._close("fail", job, require_reason(reason))

    def release(self, job: Job | str | Sequence[Job | str], reason: str | None = None) -> None:
        """Give a suggestion, or several, back unmeasured: all of them, or none."""
        self._close("release", job, None if reason is None else require_reason(reason))

    def void(self, measurement: Measurement | str | int, reason: str) -> None:
        """Let a measurement count no more; it stays in the log."""

        def voided(news: list[Event]) -> Happened:
            number = find_measurement(self._state, measurement)
            if number in self._state.voided:
                raise ValueError(f"m-{number} was voided before: {self._state.voided[number]}.")
            return [("void", {"number": number, "reason": require_reason(reason)})]

        self._record(voided, ("void", measurement, reason), lambda: None)

    def mend(self, event: int, reason: str) -> None:
        """Settle that an event of the log that cannot be used, and is ignored, stays so; say why.

        Such events come from older versions or from edited logs; `notes` names them. A measurement among them
        may be amended instead, with its right content.
        """

        def mended(news: list[Event]) -> Happened:
            open_ones = [one.event for one in self._state.ignored.values() if one.mended is None]
            if event not in open_ones:
                listed = ", ".join(map(str, open_ones)) or "none"
                raise ValueError(f"`event` must be one that is ignored ({listed}); got {event!r}.")
            return [("mend", {"event": event, "reason": require_reason(reason)})]

        self._record(mended, ("mend", event, reason), lambda: None)

    def amend(
        self, measurement: Measurement | str | int, reason: str, value: Any = None, **told: Any
    ) -> Measurement:
        """Correct a measurement: what is said anew replaces what was told; the old stays in the log."""
        given = _given(None, value, told)
        number, content = 0, {}

        def corrected(news: list[Event]) -> Happened:
            nonlocal number, content
            number = find_measurement(self._state, measurement)
            content = amended(self._state, number, given, now=self._clock())
            return [("amend", {"number": number, "reason": require_reason(reason), "content": content})]

        call = ("amend", measurement, reason, given)
        return self._record(corrected, call, lambda: measurement_of(number, content))

    def exclude(self, option: str, reason: str) -> None:
        """Take an option out: it is neither asked for nor recommended. Its measurements stay."""

        def excluded(news: list[Event]) -> Happened:
            name, before = find_option(self._state, option), self._state.excluded
            if self._state.index[name] in before:
                raise ValueError(f"{name} is excluded already: {before[self._state.index[name]]}.")
            return [("exclude", {"option": name, "reason": require_reason(reason)})]

        self._record(excluded, ("exclude", option, reason), lambda: None)

    def include(self, option: str) -> None:
        """Take an excluded option back in."""

        def included(news: list[Event]) -> Happened:
            name = find_option(self._state, option)
            if self._state.index[name] not in self._state.excluded:
                raise ValueError(f"{name} is not excluded.")
            return [("include", {"option": name})]

        self._record(included, ("include", option), lambda: None)

    def add_options(self, options: Any, *, id: str | None = None) -> list[str]:
        """Add options to the catalogue, with the same columns as the first ones; returns their names."""
        body: dict[str, Any] = {}

        def added(news: list[Event]) -> Happened:
            nonlocal body
            body = added_options(self._state, options, id)
            return [("add", body)]

        return self._record(added, ("add", options, id), lambda: list(body["ids"]))

    def set_policy(self, name: str | None = None, **options: Any) -> None:
        """Let another policy ask, or the same one in the version that is installed now."""

        def chosen(news: list[Event]) -> Happened:
            asked = name or self._state.policy.name
            choice = pinned_policy(
                asked, options, delta=self.specification.delta, seed=self.specification.seed
            )
            return [("policy", {"policy": asdict(choice)})]

        self._record(chosen, ("policy", name, options), lambda: None)

    def switch(
        self,
        model: str | None = None,
        *,
        deviation: float | str | None = None,
        extra_scatter: float | str | None = None,
        span: float | None = None,
        reason: str | None = None,
    ) -> None:
        """Use another model from now on; the log stays, and the change is an event of it.

        Args:
            model: ``"independent"``, ``"linear"`` or ``"linear+deviation"``; default: as it is.
            deviation: The size of deviations, in the unit of your values, or ``"estimate"``.
            extra_scatter: What every error bar lacks, in the same unit, or ``"estimate"``; 0: nothing.
            span: By how much options differ at most, if the study was made without it.
            reason: Why, for those who read the log later.
        """

        def changed(news: list[Event]) -> Happened:
            body = switched_model(
                self._state, model=model, span=span, deviation=deviation, extra_scatter=extra_scatter,
                reason=reason,
            )  # fmt: skip
            imagined = replay(self.specification, self._storage.read(self.name))
            imagined.apply(Event(imagined.n_events + 1, self._clock(), "switch", body))
            # A first choice, thrown away: a policy that this model cannot serve refuses now and not later.
            Chooser(Analysis(imagined), imagined.policy).choose(imagined.allowed(), 1.0, 1)
            return [("switch", body)]

        self._record(changed, ("switch", model, deviation, extra_scatter, span, reason), lambda: None)

    def certificate(self) -> Certificate:
        """Which option to take now, how far it can be from the best, and what that rests on."""
        self._catch_up()
        return self._judge()[1]

    def check(self) -> Check:
        """Whether the measurements fit the model and their own error bars, and what to do if not."""
        self._catch_up()
        check, certificate = self._judge()
        if not check.explained:  # which takes longer than the certificate, and no one else needs it
            check = explain(self._now(), check)
            self._judged = check, certificate
        return check

    def plan(
        self,
        noise: Noise | None = None,
        *,
        menu: Priced | None = None,
        eps: float | None = None,
        span: float | None = None,
        paths: int = MOST_PATHS,
        most: int = 1_000_000,
        seed: int = 0,
        compare: bool = True,
    ) -> Plan:
        """How many more measurements until the bound is at most eps, with the study simulated forward.

        Args:
            noise: How noisy they will be: one sigma, several (equally often), or ``(sigma, share)`` pairs;
                default: like those so far. With several, the plan also says what happens without the
                quietest.
            menu: Instead: ``(sigma, cost)`` pairs to choose from; the plan says which mix is cheapest.
            eps: Default: the study's.
            span: By how much options differ at most; default: the study's. Needed only before the first
                measurements.
            paths: Futures that are simulated, at most; fewer when each takes long.
            most: Measurements after which a future is given up.
            seed: Of the simulation.
            compare: Whether to say what happens without the quietest level, too.
        """
        self._catch_up()
        certificate = self._judge()[1]
        return make_plan(
            self._now(), noise=noise, menu=menu, eps=eps, span=span, paths=paths, most=most, seed=seed,
            compare=compare, withheld=certificate.withheld, bound=certificate.bound,
        )  # fmt: skip

    def worth(self, looks: int = MOST_LOOKS) -> Worth:
        """What each measurement contributed: precision, what it taught, the bound before and after.

        Args:
            looks: With more measurements, the bound is computed only after so many of them: those that taught
                most, and some evenly between.
        """
        self._catch_up()
        looks = check_count("looks", looks, least=8)
        return find_worth(self._now(), looks, self._judge()[1].withheld)

    def slot(self, sigma: float | Sequence[float], *, budget: float | None = None) -> list[Slot]:
        """What to do with opportunities whose error bar is known, and what each is worth. Reserves nothing.

        Args:
            sigma: The standard error of the slot, or of several.
            budget: What they may cost together, by the catalogue's cost column. Costs always count: the gain
                is per cost.
        """
        self._catch_up()
        index = self._state.index
        under_way = [(index[job.option], job.sigma) for job in self._state.open_jobs(self._clock())]
        return fill_slots(self._now(), sigma, budget, under_way, withheld=bool(self._judge()[1].withheld))

    def frame(self, what: Frame = "options") -> pl.DataFrame:
        """The measurements, options or events as a polars frame."""
        self._catch_up()
        events = self._storage.read(self.name) if what == "events" else []
        return make_frame(what, self._state, self._now(), self._judge()[1], events)

    def events(self, until: int | None = None) -> list[Event]:
        """The log, or its beginning."""
        events = follow(self._start, self._storage.read(self.name), verified=self._chains)
        return events if until is None else events[:until]

    def analysis(self) -> Analysis:
        """The fits behind everything that is said, at this moment."""
        self._catch_up()
        return self._now()

    @property
    def plot(self) -> Plots:
        """Charts: ``plot.intervals()``, ``.bound()``, ``.worth()``, ``.residuals()``, ``.plan()``."""
        return Plots(self)

    def report(
        self,
        path: str | PathLike[str],
        *,
        plan: Plan | None = None,
        most: int = 40,
    ) -> Path:
        """Write everything as one HTML page that needs no network.

        Args:
            path: Where to.
            plan: What `plan` returned; default: with the noise so far.
            most: Options in the chart of intervals.
        """
        from noisewise.study.showing.report import make_page

        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"`path` must end in .html; got {str(path)!r}.")
        with written_whole(target) as draft:
            draft.write_text(make_page(self._findings(plan), check_count("most", most)), encoding="utf-8")
        return target

    def export(self, path: str | PathLike[str]) -> None:
        """Write the specification and the log as JSON lines; `noisewise.rebuild_study` reads them."""
        write_log(self._storage, self.name, path)

    def _findings(self, plan: Plan | None) -> Any:
        from noisewise.study.showing.report import Findings

        planned: Plan | str
        try:
            planned = self.plan() if plan is None else plan
        except ValueError as reason:
            planned = f"There is no plan: {reason}"
        return Findings(
            analysis=self._now(),
            certificate=self.certificate(),
            check=self.check(),
            worth=self.worth(),
            plan=planned,
            options=self.frame("options"),
            measurements=self.frame("measurements"),
            events=self.frame("events"),
            under_way=len(self.pending),
            at=self._clock(),
        )

    def _close(self, kind: str, job: Job | str | Sequence[Job | str], reason: str | None) -> None:
        jobs = [job] if isinstance(job, Job | str) else list(job)

        def closed(news: list[Event]) -> Happened:
            found = [find_job(self._state, one) for one in jobs]
            for one in found:
                if one.status != OPEN:
                    raise ValueError(f"{one.id} is not under way: it was {one.status}.")
            return [(kind, {"job": id, "reason": reason}) for id in dict.fromkeys(one.id for one in found)]

        self._record(closed, (kind, job, reason), lambda: None)

    def _now(self) -> Analysis:
        if self._analysis is None:
            self._analysis = Analysis(self._state)
        return self._analysis

    def _judge(self) -> tuple[Check, Certificate]:
        if self._judged is None:
            check = check_fit(self._now())
            self._judged = check, replace(certify(self._now(), check), head=self._head)
        return self._judged

    def _record(
        self,
        decide: Decide,
        call: tuple[Any, ...],
        answer: Callable[[], Answer],
        *,
        before: Callable[[], object] | None = None,
        meanwhile: Callable[[list[Event]], object] | None = None,
    ) -> Answer:
        """Decide on the newest state and append; if others were faster, decide again.

        Args:
            decide: Makes the events; it is told what happened since it last returned.
            call: What was called, with its arguments: the same call after one whose outcome remained unknown
                is taken for its repetition.
            answer: What to return when the events are written.
            before: What takes so long that the others should not wait for it: it is done before this queues
                for its turn, and decided on in view of the news.
            meanwhile: What can be done with the news since ``before`` while this is the next in line.
        """
        # Forgotten only when something else is called, or when it is known what became of it.
        self._unanswered = [one for one in self._unanswered if one.same(call)]
        if self._unanswered and (found := self._answered(self._catch_up_to_unanswered())) is not None:
            return cast(Answer, found.answer())
        give_up = time.monotonic() + PATIENCE
        news: list[Event] = []

        def catch_up() -> None:
            news.extend(self._catch_up())
            cast(Callable[[list[Event]], object], meanwhile)(news)

        if before is not None:
            before()
        looks = self._crowded or before is not None or meanwhile is not None
        with self._turn(None if meanwhile is None else catch_up):
            if looks:
                news.extend(self._catch_up())
            self._crowded = bool(news)
            while happened := self._decided(decide, news):
                events = events_of(happened, self._state.n_events + 1, self._clock())
                rehearse(self._state, events)
                events[0] = events[0]._replace(append=new_append())
                try:
                    self._append(events)
                    break
                except LogMovedOnError:
                    self._crowded = True
                    news = self._news(give_up)
                    if is_there(events[0], news):
                        break  # by a store that tried twice
                    if (found := self._answered(news)) is not None:
                        return cast(Answer, found.answer())  # an earlier try, only just written
                except BaseException:
                    # Whatever it was, it may have been written: the next call will see.
                    self._unanswered.append(Unanswered(call, answer, events[0]))
                    raise
        self._unanswered = []
        return answer()

    @property
    def _chains(self) -> bool:
        """Whether the store keeps the hashes, and compares what it reads with them."""
        return hasattr(self._storage, "chained")

    def head_at(self, number: int) -> str:
        """The hash of an event, which stands for the log up to it; 0: of the specification alone."""
        return self._start if number == 0 else self.events(until=number)[-1].hash

    def _append(self, events: list[Event]) -> None:
        kept = self._storage.append(self.name, self._state.n_events, events)
        self._apply(follow(self._head, events if kept is None else kept, verified=kept is not None))

    def _turn(self, meanwhile: Callable[[], None] | None) -> AbstractContextManager[Any]:
        """The turn to change this study, where the store keeps a queue."""
        turn = getattr(self._storage, "turn", None)
        # Half of the patience: whoever waited in vain goes ahead without it.
        return nullcontext() if turn is None else turn(self.name, PATIENCE / 2.0, meanwhile)

    def _catch_up_to_unanswered(self) -> list[Event]:
        """The part of the log that may hold what got no answer."""
        self._catch_up()
        first = min(one.first.number for one in self._unanswered)
        return self._storage.read(self.name, first - 1) if first <= self._state.n_events else []

    def _answered(self, log: list[Event]) -> Unanswered | None:
        """The change without an answer that is in this part of the log."""
        for one in self._unanswered:
            if is_there(one.first, log):
                self._unanswered = []
                return one
        return None

    def _news(self, give_up: float) -> list[Event]:
        """What others appended when this study wanted to."""
        if news := self._catch_up():
            if time.monotonic() > give_up:
                raise TimeoutError(
                    f"others wrote to study {self.name!r} faster than this could be decided, for "
                    f"{PATIENCE:g} s. Nothing was written; run again."
                )
            return news
        length = len(self._storage.read(self.name))
        if length == self._state.n_events and time.monotonic() <= give_up:
            return []  # the two looks were of different moments
        raise StoreChangedError(
            f"the log of {self.name!r} was rolled back: it has {length} events, and had "
            f"{self._state.n_events}. Nothing was written; find out which copy is right, and open the study "
            "again."
        )

    def _decided(self, decide: Decide, news: list[Event]) -> Happened:
        """What is decided; something is refused only in view of everything that is in the log."""
        try:
            return decide(news)
        except (ValueError, KeyError, TypeError):
            more = self._catch_up()
            if not more:
                raise
            return self._decided(decide, [*news, *more])

    def _catch_up(self) -> list[Event]:
        """Apply what the log has beyond this state."""
        with without_collector():
            events = self._storage.read(self.name, self._state.n_events)
            events = follow(self._head, events, verified=self._chains)
            self._apply(events)
        return events

    def _apply(self, events: Sequence[Event]) -> None:
        if events:
            self._state.apply_all(events)
            self._head = events[-1].hash
            self._analysis = self._judged = None

    def __repr__(self) -> str:
        return "\n".join(map(printable, self._lines()))

    def _repr_html_(self) -> str:
        certificate = self.certificate()
        good = False if certificate.withheld else True if certificate.reached else None
        return as_html(f"Study {self.name}", self._lines(), good=good)

    def _lines(self) -> list[str]:
        specification, certificate = self.specification, self.certificate()
        word = "largest" if specification.goal == "max" else "smallest"
        lines = [
            certificate.sentence,
            f"Study {self.name!r}: the {word} of {counted(len(self._state.ids), 'option')}, "
            f"{self._state.model}, {counted(self.n_measurements, 'measurement')}, "
            f"{len(self.pending)} under way, policy {self._state.policy.name}.",
        ]
        if certificate.estimate is not None:
            estimate = f"Estimate for {certificate.option}: {number(certificate.estimate, 4)}"
            lines.append(f"{estimate}{_level_in_words(self._now().sums)}.")
        if certificate.beside:
            lines.append(certificate.beside)
        return lines


def _level_in_words(sums: Sums) -> str:
    """On which level estimates are shown, where that is a convention."""
    level = sums.minus < 0
    if not level.any():
        return ", around 0, because only differences were measured"
    several = len(set(sums.block[level].tolist())) > 1
    return ", on the level of the average measurement (blocks have levels of their own)" if several else ""


def _given(job: Any, value: Any, told: Any) -> dict[str, Any]:
    check_arguments(told)
    return {"job": job, "value": value, **told}
