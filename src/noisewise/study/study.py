"""A study: options, measurements with their error bars, what to measure next, and when to stop.

A `Study` is made of small objects: the log with the state that follows from it (`Log`), what records
measurements in it (`Recorder`), what makes suggestions (`Advisor`), and what follows from the state at one
moment (`Moment`: fits, check, certificate), from which plans, tables and reports are made.
"""

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from noisewise.core.checks import check_count
from noisewise.core.files import as_path, written_whole
from noisewise.core.text import as_html, counted, look_alikes, printable, some_of, titled
from noisewise.study.certificates.bound import certify, recommend
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.check import Check, check_fit
from noisewise.study.log.budget import left_of_budget, policy_in_words
from noisewise.study.log.events import Event, Happened
from noisewise.study.log.export import write_log
from noisewise.study.log.items import BATCH
from noisewise.study.log.log import Acted, Acting, Log
from noisewise.study.log.looks import check_blind
from noisewise.study.log.specification import BLIND, Specification
from noisewise.study.log.state import Job, State
from noisewise.study.log.told import Measurement, Told, check_arguments, measurement_of
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import Sums, only_differences
from noisewise.study.planning import FUTURES, MOST_LOOKS
from noisewise.study.stores.protocol import Storage
from noisewise.study.telling import changes
from noisewise.study.telling.recording import Recorder

if TYPE_CHECKING:  # what plans, frames and charts need is loaded when one is asked for
    import polars as pl

    from noisewise.study.certificates.gate import Gate
    from noisewise.study.planning.noise import Noise, Priced
    from noisewise.study.planning.plan import Plan
    from noisewise.study.planning.worth import Worth
    from noisewise.study.readers.readout import Readout
    from noisewise.study.readers.result_file import ResultFile
    from noisewise.study.report.figures import Plots
    from noisewise.study.report.league import League
    from noisewise.study.running.limits import Runnable, Until
    from noisewise.study.running.run import StudyRun
    from noisewise.study.telling.known_rows import Repeat
    from noisewise.study.telling.recording import Unknown
    from noisewise.study.telling.scale import ValueScale
    from noisewise.study.telling.table_rows import Taken
    from noisewise.study.telling.understanding import HowToRead

Frame = Literal["measurements", "options", "events", "items"]


class Moment:
    """What follows from a log at one moment; each part is computed once, when it is asked for.

    Args:
        log: The log, as far as it is read.
    """

    def __init__(self, log: Log) -> None:
        self.analysis, self.n_events, self._head = Analysis(log.state), log.state.n_events, log.head
        self._explained: Check | None = None

    def is_of(self, log: Log) -> bool:
        """Whether the log is still the same."""
        return self.analysis.state is log.state and self.n_events == log.state.n_events

    @functools.cached_property
    def check(self) -> Check:
        """Whether measurements fit, without the causes of a misfit."""
        return check_fit(self.analysis)

    @functools.cached_property
    def certificate(self) -> Certificate:
        """What may be claimed."""
        return replace(certify(self.analysis, self.check), head=self._head)

    @functools.cached_property
    def explained(self) -> Check:
        """The check with the causes of a misfit, which take longer than the certificate."""
        from noisewise.study.certificates.diagnosis import explain

        return self.check if self.check.explained else explain(self.analysis, self.check)

    @functools.cached_property
    def look_alikes(self) -> list[str]:
        """Sentences on names of one kind that are different and look alike."""
        state, said = self.analysis.state, []
        named = {
            "options": state.ids, "blocks": state.measurements.blocks, "items": state.items.names,
            "keys": state.keys,
        }  # fmt: skip
        for what, names in named.items():
            if pairs := [f"{one!r} and {other!r}" for one, other in look_alikes(names)]:
                said.append(f"{what} that look alike are different ones: {some_of(pairs)}.")
        return said


class Study:
    """A question about options, everything measured so far, and what follows from it.

    Made by `noisewise.create_study` and `noisewise.load_study`. Every change is an event that is appended to
    the study's log; nothing is ever deleted, and the same log always gives the same answers.
    """

    def __init__(self, storage: Storage, name: str, clock: Callable[[], float] = time.time) -> None:
        self._log = Log(storage, name, clock)
        self._recorder = Recorder(self._log)
        self._moment: Moment | None = None

    # What it is

    @property
    def specification(self) -> Specification:
        """The question."""
        return self._log.specification

    @property
    def name(self) -> str:
        """The study's name in its store."""
        return self.specification.name

    @property
    def eps(self) -> float | None:
        """How far from the best is close enough; on a log scale, of logarithms."""
        return self.specification.eps

    @property
    def value_scale(self) -> "ValueScale":
        """How its numbers are read and shown."""
        return self.specification.value_scale

    @property
    def options(self) -> list[str]:
        """The names of all options, added ones last."""
        return list(self._log.state.ids)

    @property
    def notes(self) -> list[str]:
        """What was noticed when the catalogue was read, and whether there is anything to choose from."""
        now = self._now()
        state = now.analysis.state
        features = state.whitening.notes if state.whitening else ()
        alone = [] if len(state.ids) > 1 else [f"{state.ids[0]} is the only option: add others."]
        return [*self.specification.catalogue.notes, *features, *alone, *now.look_alikes]

    @property
    def policy(self) -> str:
        """The rule that makes suggestions."""
        return self._log.state.policy.name

    @property
    def model(self) -> str:
        """The present model: "independent", "linear", "linear+deviation" or "smooth"."""
        return self._newest().model.model

    @property
    def looks(self) -> str:
        """How often its bounds may be looked at: "any time", or "once"."""
        return self._newest().looks

    @property
    def deviation(self) -> float | None:
        """How far options deviate from their weighted sums, stated or estimated; None in other models."""
        return None if self._newest().model.deviation is None else self.analysis().sizes.deviation

    @property
    def extra_scatter(self) -> float | None:
        """What is added to every error bar, in squares, stated or estimated; None if nothing is."""
        return None if self._newest().model.extra_scatter is None else self.analysis().sizes.extra_scatter

    @property
    def n_measurements(self) -> int:
        """How many measurements count."""
        return self._newest().measurements.n_live

    @property
    def budget_left(self) -> int | None:
        """Measurements that are left of the budget, below 0 if more were made; None if there is none."""
        return left_of_budget(self._newest())

    @property
    def pending(self) -> list[Job]:
        """Suggestions that are under way."""
        return self._newest().open_jobs(self._log.clock())

    def cost_of(self, option: str) -> float:
        """What one measurement of an option costs; 1 where no costs were given."""
        state = self._log.state
        return 1.0 if state.costs is None else float(state.costs[state.index[option]])

    # Its log

    @property
    def head(self) -> str:
        """The last hash of the log's chain, in hexadecimal, which identifies the whole log."""
        self._log.catch_up()
        return self._log.head

    @property
    def n_events(self) -> int:
        """How many events the log has."""
        return self._newest().n_events

    @property
    def last_change(self) -> float | None:
        """When the last event was appended, in seconds since 1970; None before the first."""
        self._log.catch_up()
        return self._log.last_at

    def events(self, until: int | None = None, *, first: int = 0) -> list[Event]:
        """The log, its beginning, or what is behind the first ones."""
        return self._log.events(until, first)

    def head_at(self, number: int) -> str:
        """The hash of an event, which identifies the log up to it; 0: of the specification alone."""
        return self._log.storage.read(self.name, number, number)[0].hash.hex()

    def acting(
        self,
        by: str | None = None,
        *,
        only_at: int | None = None,
        key: str | None = None,
        request: str | None = None,
    ) -> AbstractContextManager[Acted]:
        """Say who makes the changes of a block, on which state, and how they can be found again.

        The block is given an object that says what came of the change, when it is over.

        Args:
            by: Who corrects, closes or switches: kept with the event. `ask` and `tell` have their own ``by``.
            only_at: The number of events that the log must have; `LogMovedOnError` if it has others.
            key: Identifier of the change. Making it again with the same key does nothing, and gives the
                same answer; another change with it is refused.
            request: What tells a repetition from another change; default: a digest of the call.
        """
        return self._log.acting(Acting(by, only_at, key, request))

    def appended_as(self, key: str, request: str | None = None) -> list[Event]:
        """What was appended with a key (see `acting`), by this process or another; none if nothing was."""
        return self._log.with_key(key, request)

    def export(self, path: str | PathLike[str]) -> None:
        """Write the specification and the log as JSON lines; `noisewise.rebuild_study` reads them."""
        write_log(self._log.storage, self.name, path)

    # Asking and recording

    def ask(
        self,
        n: int = 1,
        sigma: float | str | None = None,
        *,
        block: str | None = None,
        probe: Literal["option", "difference"] | None = None,
        dry_run: bool = False,
        lease: float | None = None,
        by: str | None = None,
        items: int | None = None,
    ) -> list[Job]:
        """What to measure next: n suggestions, each reserved until it expires.

        Args:
            n: How many.
            sigma: The standard error the coming measurements will have, if it is known beforehand.
            block: The name of the block (day, plate, judge) that the coming measurements will be in, begun or
                new. Default, in a study with blocks: one suggestion goes on in the block of the last
                measurement; several are meant for one new block, which is named when they are recorded.
            probe: ``"option"``: options to measure; ``"difference"``: pairs of options whose difference to
                measure. Default: differences if nothing else was measured so far.
            dry_run: Only look; nothing is reserved or written.
            lease: Seconds for which they are reserved; default: one week.
            by: Who will measure.
            items: How many items each suggestion is for, where options are measured item by item: which
                these are is `Job.items`. Default there: 50, or what is left of the pool.
        """
        return self._ask(n, sigma, block=block, probe=probe, dry_run=dry_run, lease=lease, by=by, items=items)

    def _ask(self, n: int, sigma: float | str | None = None, **asked: Any) -> list[Job]:
        from noisewise.study.asking.ask import Advisor

        return Advisor(self._log, self.analysis).ask(n, sigma, **asked)

    def _ask_at_once(self, n: int, *, by: str) -> list[Job]:
        """What n workers may measure at a time; one decision serves many of them."""
        return self._ask(n, by=by, at_once=True)

    def tell(self, job: Job | str | None = None, value: Any = None, **told: Unpack[Told]) -> Measurement:
        """Record the result of a measurement, asked for or not.

        Args:
            job: The suggestion that was measured, or its id: its option, or the difference it asks for, and
                its block are taken from it unless told otherwise. Or say ``option=``, or ``plus=`` and
                ``minus=`` for a measured difference.
            value: What came out: a number, "12.34(5)", or an object of the package uncertainties.
            told: At most one error bar: ``se=`` (one number, or two if asymmetric), ``var=``, ``sd=`` with
                ``n=``, ``ci=(lo, hi)`` with ``level=`` (default 0.95), ``values=[...]``, ``successes=`` with
                ``trials=``; none if you know none. Or ``items={"q17": 1, ...}``, the values of items that
                options share, in the order that `next_items` says. Also ``block=``, ``arm=True`` (an arm of
                the trial that ``block=`` names), ``instrument=``,
                ``key=`` (telling a key again is harmless), ``by=``, ``cost=``, ``at=``, ``note=``.
        """
        given = _given(job, value, told)
        return self._recorder.record([given], ("tell", given))[0]

    def tell_all(self, results: Sequence[Mapping[str, Any]]) -> list[Measurement]:
        """Record several results at once, all of them or none: each a mapping with the arguments of `tell`.

        What is recorded already, by its key or as the answer to a suggestion, counts once. Items are recorded
        by `tell`, or as a table by `tell_many`.
        """
        given = [
            _given(one.get("job"), one.get("value"), {k: one[k] for k in one if k not in ("job", "value")})
            for one in results
        ]
        return self._recorder.record(given, ("tell all", given))

    def tell_many(
        self,
        measurements: Any,
        *,
        match: bool = False,
        repeat: "Repeat" = False,
        amend: str | None = None,
        unknown: "Unknown" = "refuse",
        dry_run: bool = False,
        watch: Callable[[str, int, int], None] | None = None,
        **reading: "Unpack[HowToRead]",
    ) -> "Taken":
        """Record a table of results (a file or a frame); if one row is bad, none is taken.

        Recording a table again is harmless: rows are known by their key, their suggestion, or, without these,
        if all rows of a table that was recorded before are in this one, in the same places with the same
        content. So a table may get more rows at its end, and repeats inside it count; the certificate names
        what was known so. Rows without keys that have an option and a value in common with another table are
        refused until `repeat` or `amend` says what they are.

        Columns are named like the arguments of `tell`; intervals are ``lo`` and ``hi``, asymmetric errors
        ``se_up`` and ``se_down``, and repeated readings in one cell are separated by semicolons. In a table
        with a column of error bars, a row that has none says ``none``. A table with a column ``item`` has one
        row for an option and an item: ``option``, ``item``, ``value``. It is recorded option by option.

        Args:
            measurements: The table, or what `noisewise.readers.read` made of other tools' files.
            match: Take a row that names only its option, or its difference, for the answer to the oldest
                suggestion of it that is under way, if possible one for the row's block; leave rows without
                any result for later.
            repeat: True: all rows without keys were measured again, whatever is recorded. ``"others"``:
                those were that do not belong to a known table, or that were voided; if all of this table is
                recorded and counts, all were.
            amend: Why rows that say something else than before are right: each is corrected, in one event.
                Without keys they are the rows in the same places of the table that has most in common.
            unknown: What becomes of options that are not in the catalogue: ``"refuse"``, ``"add"`` (they are
                added with the rows, or not at all), ``"skip"`` (their rows are left out).
            dry_run: Only look: nothing is recorded. The answer's ``understood`` shows how the table is read.
            watch: Is called with what is being done, how many rows are done, and how many there are.
            reading: ``roles={"value": "HV", "se": "HV_se"}``, which column is what, where they are not called
                so; ``ignore=["weather"]``, columns that are left out on purpose; ``decimal=","``, the
                decimal sign, where the cells leave it open; ``allow_missing_se=True`` takes rows whose error
                bar is blank as rows without one. ``layout="network"`` takes a table of studies with one row
                for each difference (treatment 1, treatment 2, effect, error, study), ``layout="arms"`` one
                with a row for each arm: studies of more than two arms then count exactly as they are, with
                the errors that their differences share. With ``"arms"``, ``counts="shares"`` keeps events out
                of n as shares instead of making log odds of them.
        """
        return self._recorder.record_table(
            measurements, match=match, repeat=repeat, amend=amend, unknown=unknown, dry_run=dry_run,
            watch=watch, **reading,
        )  # fmt: skip

    def import_from(
        self,
        files: "str | PathLike[str] | ResultFile | Sequence[str | PathLike[str] | ResultFile]",
        reader: str = "auto",
        *,
        only: str | None = None,
        called: str | None = None,
        block: str | None = None,
        unknown: "Unknown" = "refuse",
        match: bool = False,
        repeat: "Repeat" = False,
        amend: str | None = None,
        dry_run: bool = False,
        watch: Callable[[str, int, int], None] | None = None,
        **choices: Any,
    ) -> "Taken":
        """Record the result files of another tool; if one result is bad, nothing is taken.

        Results are known by the names and dates that the file gives them, or else by their content, so
        importing a file again is harmless.

        Args:
            files: A file, several, or a folder where the format is one.
            reader: Who wrote them (`noisewise.readers.names`); ``"auto"``: found by the look of the file.
            only: The options that are meant: a name, or several with commas; * stands for anything.
            called: What the only option of the file is called here: the version, say, that a benchmark ran
                with.
            block: The name of a block (a day, a machine, a run) that all of them were measured in.
            unknown: What becomes of options that are not in the catalogue: ``"refuse"``, ``"add"``,
                ``"skip"``.
            match: As in `tell_many`.
            repeat: As in `tell_many`.
            amend: As in `tell_many`.
            dry_run: Only look: nothing is recorded. The answer's ``understood`` shows what would be.
            watch: As in `tell_many`.
            choices: Choices of the reader, such as ``metric="acc"``; ``unit`` is the study's, if it has
                one, and values are converted to it.
        """
        readout = self.read_from(files, reader, only=only, called=called, block=block, **choices)
        return self.tell_many(
            readout, match=match, repeat=repeat, amend=amend, unknown=unknown, dry_run=dry_run, watch=watch
        )

    def read_from(
        self,
        files: Any,
        reader: str = "auto",
        *,
        only: str | None = None,
        called: str | None = None,
        block: str | None = None,
        **choices: Any,
    ) -> "Readout":
        """What `import_from` would record: rows in the unit of this study."""
        from noisewise.study.telling.readouts import read_for

        return read_for(self.specification.unit, files, reader, only, called, block, choices)

    def next_items(self, option: str, n: int = BATCH) -> list[str]:
        """The items that come next for an option, at most n, in the order that all options share.

        They are those that are neither recorded nor being measured for it. Without a pool the list ends where
        the items known so far do: what follows is drawn anew, at random.
        """
        from noisewise.study.asking.items import items_to_come

        return items_to_come(self._newest(), option, n, self._log.clock())

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
        """Ask, measure and tell until the certificate says you may stop.

        Suggestions are marked as this process's. If it is killed, the next run on this machine measures what
        was under way and goes on; nothing is lost or recorded twice. Results are recorded in the order of
        asking, so that a run does not depend on who was faster.

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
            on_error: After that: ``"fail"``: it is recorded as a failure, and the option may be asked for
                again (three failures of one option in a row end the run); ``"exclude"``: its option is
                excluded; ``"raise"``: the run ends.
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

    # Other changes: each is decided on the newest state

    def fail(self, job: Job | str | Sequence[Job | str], reason: str) -> None:
        """A suggestion, or several, could not be measured; they are free again, and the reason is kept."""
        said = changes.require_reason(reason)
        self._change("fail", lambda state: changes.closed(state, job, said), job, said)

    def release(self, job: Job | str | Sequence[Job | str], reason: str | None = None) -> None:
        """Give a suggestion, or several, back unmeasured: all of them, or none."""
        said = None if reason is None else changes.require_reason(reason)
        self._change("release", lambda state: changes.closed(state, job, said), job, said)

    def void(self, measurement: Measurement | str | int, reason: str) -> None:
        """Make a measurement count no longer; it stays in the log."""
        self._change("void", lambda state: [changes.voided(state, measurement, reason)], measurement, reason)

    def amend(
        self, measurement: Measurement | str | int, reason: str, value: Any = None, **told: Any
    ) -> Measurement:
        """Correct a measurement: what is said anew replaces what is recorded; the old stays in the log."""
        given = _given(None, value, told, "amend")

        def amended(state: State) -> list[dict[str, Any]]:
            return [changes.amended(state, measurement, given, reason, self._log.clock())]

        (body,) = self._change("amend", amended, measurement, reason, given)
        return measurement_of(body["number"], body["content"])

    def exclude(self, option: str, reason: str) -> None:
        """Take an option out: it is neither asked for nor recommended. Its measurements stay."""
        self._change("exclude", lambda state: [changes.excluded(state, option, reason)], option, reason)

    def include(self, option: str) -> None:
        """Take an excluded option back in."""
        self._change("include", lambda state: [changes.included(state, option)], option)

    def add_options(self, options: Any, *, id: str | None = None, decimal: str | None = None) -> list[str]:
        """Add options to the catalogue, with the same columns as the first ones; returns their names.

        Args:
            options: A table or a list, as `create_study` takes it.
            id: The column with the options' names; default: as it was called at first.
            decimal: The decimal sign, ``"."`` or ``","``, where the cells leave it open.
        """

        def added(state: State) -> list[dict[str, Any]]:
            return [changes.added_options(state, options, id, decimal)]

        (body,) = self._change("add", added, options, id, decimal)
        return list(body["ids"])

    def set_policy(self, name: str | None = None, **options: Any) -> None:
        """Let another rule make suggestions, or the same one in the version that is installed now."""
        from noisewise.study.asking.policy import policy_body

        def chosen(state: State) -> list[dict[str, Any]]:
            asked = check_blind(name or state.policy.name, state.looks)
            return [policy_body(asked, options, state.specification)]

        self._change("policy", chosen, name, options)

    def switch(
        self,
        model: str | None = None,
        *,
        deviation: float | str | None = None,
        extra_scatter: float | str | None = None,
        final: bool | None = None,
        reason: str | None = None,
    ) -> None:
        """Use another model from now on; the log stays, and the change is an event of it.

        Args:
            model: ``"independent"``, ``"linear"``, ``"linear+deviation"`` or ``"smooth"``; default: as it is.
            deviation: The size of deviations, in the unit of your values, or ``"estimate"``.
            extra_scatter: What every error bar lacks, in the same unit, or ``"estimate"``; 0: nothing.
            final: True: all is measured; bounds hold for one look only. There is no way back.
            reason: Why, for those who read the log later.
        """
        from noisewise.study.asking.ask import rehearse_asking
        from noisewise.study.asking.policy import policy_body

        def changed(news: list[Event]) -> Happened:
            state = self._log.state
            body = changes.switched_model(
                state, model=model, deviation=deviation, extra_scatter=extra_scatter, final=final,
                reason=reason,
            )  # fmt: skip
            happened = [("switch", body)]
            if "looks" in body and state.policy.name not in BLIND:
                happened.insert(0, ("policy", policy_body(BLIND[0], {}, state.specification)))
            trial = state.trial()
            for kind, content in happened:
                trial.apply(Event(trial.n_events + 1, self._log.clock(), kind, content))
            rehearse_asking(trial)
            return happened

        call = ("switch", model, deviation, extra_scatter, final, reason)
        self._log.change(changed, call, lambda: None)

    def _change(
        self, kind: str, bodies_of: Callable[[State], list[dict[str, Any]]], *call: Any
    ) -> list[dict[str, Any]]:
        """Append events of one kind that follow from the newest state; returns their bodies."""
        bodies: list[dict[str, Any]] = []

        def decide(news: list[Event]) -> Happened:
            bodies[:] = bodies_of(self._log.state)
            return [(kind, body) for body in bodies]

        return self._log.change(decide, (kind, *call), lambda: bodies)

    # What follows from it

    def certificate(self, *, cheapest: bool = False) -> Certificate:
        """Which option to take now, how far it can be from the best, and what that rests on.

        Args:
            cheapest: Whether to say as well which options are certainly within eps of the best, which are
                not, and which of the former costs least: see `Certificate.good_enough`.
        """
        certificate = self._now().certificate
        if cheapest:
            from noisewise.study.certificates.good_enough import find_good_enough

            certificate = replace(certificate, good_enough=find_good_enough(self.analysis(), certificate))
        return certificate.of(self)

    def check(self) -> Check:
        """Whether the measurements fit the model and their own error bars, and what to do if not."""
        return self._now().explained.of(self)

    def analysis(self) -> Analysis:
        """The fits behind everything that is said, at this moment."""
        return self._now().analysis

    def _bound_now(self) -> float:
        """The bound of what would be recommended, whether or not the measurements fit."""
        found = recommend(self.analysis())
        return math.inf if found is None else found.bound

    def compare(self, candidate: str, baseline: str, *, margin: float | str | None = None) -> "Gate":
        """Compare a candidate with a baseline: is it better, worse, or not worse by more than a margin?

        Args:
            candidate: The option that may replace the baseline.
            baseline: The option it is compared with.
            margin: The loss that does not matter, in the unit of the values; on a log scale such as "2%".
        """
        from noisewise.study.certificates.gate import compare_pair

        now = self._now()
        return compare_pair(now.analysis, now.check, candidate, baseline, margin)

    def plan(
        self,
        noise: "Noise | None" = None,
        *,
        menu: "Priced | None" = None,
        eps: float | str | None = None,
        span: float | str | None = None,
        paths: int = FUTURES,
        most: int = 1_000_000,
        seed: int = 0,
        block: int | None = None,
        batch: int | None = None,
        on: Any = None,
    ) -> "Plan":
        """Forecast how many more measurements it takes until the bound is at most eps.

        The study is simulated forward many times. It goes on as it does now: by its own policy, in blocks or
        with items like those so far.

        Args:
            noise: How noisy measurements will be: one sigma, several (equally often), or ``(sigma, share)``
                pairs; default: as so far. With several, the plan also says what happens without the quietest.
            menu: Instead: ``(sigma, cost)`` pairs to choose from; the plan says which is cheapest.
            eps: Bound to reach; default: the study's.
            span: By how much options differ at most; default: the study's. Needed only before the first
                measurements.
            paths: Number of simulated futures.
            most: Measurements after which a future is given up.
            seed: Seed of the simulation.
            block: How many measurements a coming block (a day, a plate) will hold; default: as many as usual
                so far, if the last measurement is in a block. The present block is filled up first.
            batch: How many are asked for at once, in one block; default: one by one.
            on: Where to simulate: a number of processes, an executor of `concurrent.futures`, a Dask client,
                or the address of a scheduler. Default: this process for a second, then all processors.
        """
        from noisewise.study.planning.plan import make_plan

        now = self._now()
        return make_plan(
            now.analysis, noise=noise, menu=menu, eps=eps, span=span, paths=paths, most=most, seed=seed,
            block=block, batch=batch, certificate=now.certificate, on=on,
        ).of(self)  # fmt: skip

    def worth(self, looks: int = MOST_LOOKS) -> "Worth":
        """What each measurement contributed: precision, what it taught, the bound before and after.

        Args:
            looks: How many times the bound is computed: if there are more measurements, after those that
                taught most, and geometrically.
        """
        from noisewise.study.planning.worth import find_worth

        looks, now = check_count("looks", looks, least=8), self._now()
        return find_worth(now.analysis, looks, now.certificate.withheld)

    def frame(self, what: Frame = "options") -> "pl.DataFrame":
        """The measurements, options, events or items as a polars frame."""
        from noisewise.study.report.frames import make_frame

        now = self._now()
        return make_frame(
            what, now.analysis.state, now.analysis, now.certificate, self.events() if what == "events" else []
        )

    def league(self, against: str | None = None) -> "League":
        """Compare all options: estimates with the certificate's intervals, the best first.

        Args:
            against: Show differences to this option; default: estimates, or differences to the recommended
                option where only differences are known.
        """
        from noisewise.study.report.league import league_of

        now = self._now()
        return league_of(now.analysis, now.certificate, against)

    @property
    def plot(self) -> "Plots":
        """Charts: ``plot.intervals()``, ``.bound()``, ``.worth()``, ``.residuals()``, ``.plan()``."""
        from noisewise.study.report.figures import Plots

        return Plots(self)

    def report(
        self,
        path: str | PathLike[str],
        *,
        plan: "Plan | bool | None" = None,
        most: int = 40,
    ) -> Path:
        """Write everything as one HTML page that needs neither a network nor scripts.

        Args:
            path: Where to.
            plan: What `plan` returned, or True for a plan with the noise so far, which takes a while.
            most: Options in the chart of intervals.
        """
        from noisewise.study.report.page import findings_of, make_page

        target = as_path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"`path` must end in .html; got {str(path)!r}.")
        with written_whole(target) as draft:
            page = make_page(findings_of(self, plan, self._log.clock()), check_count("most", most))
            draft.write_text(page, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return "\n".join(map(printable, self._lines()))

    def _repr_html_(self) -> str:
        certificate = self.certificate()
        good = False if certificate.withheld else True if certificate.reached else None
        return as_html(titled(self.name), self._lines(), good=good, drawn=self.league()._repr_html_())

    def _lines(self) -> list[str]:
        now = self._now()
        certificate, state, scale = now.certificate, now.analysis.state, self.value_scale
        word = "largest" if self.specification.goal == "max" else "smallest"
        lines = [
            *certificate.sentences,
            f"Study {self.name!r}: the {word} of {counted(len(state.ids), 'option')}, "
            f"{state.model.in_words(scale)}, {certificate.amount}, "
            f"{len(self.pending)} under way, {policy_in_words(state)}.",
        ]
        if certificate.estimate is not None:
            value, level = scale.value(certificate.estimate), _level_in_words(now.analysis.sums)
            lines.append(f"Estimate for {certificate.option}: {value}{level}.")
        return lines

    def _newest(self) -> State:
        """The newest state."""
        self._log.catch_up()
        return self._log.state

    def _now(self) -> Moment:
        """What follows from the newest state."""
        self._log.catch_up()
        if self._moment is None or not self._moment.is_of(self._log):
            self._moment = Moment(self._log)
        return self._moment


def _given(job: Any, value: Any, told: Any, method: str = "tell") -> dict[str, Any]:
    """What was said of a measurement."""
    check_arguments(told, method)
    return {"job": job, "value": value, **told}


def _level_in_words(sums: Sums) -> str:
    """On which level estimates are shown, where that is a convention."""
    if not (sums.minus < 0).any():
        return ", around 0, because only differences were measured"
    return (
        ", on the level of the average block (blocks have levels of their own)"
        if only_differences(sums)
        else ""
    )
