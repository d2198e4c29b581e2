"""A study: options, measurements with their error bars, what to measure next, and when to stop."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, Unpack

import polars as pl

from noisewise.core.checks import check_count, check_positive, check_sigma
from noisewise.study.analysis import Analysis
from noisewise.study.certificate import Certificate
from noisewise.study.certifying import certify
from noisewise.study.changing import added_options, amended, policy_choice, require_reason
from noisewise.study.check import Check, check_fit
from noisewise.study.show import as_html, number
from noisewise.study.specification import Specification
from noisewise.study.state import OPEN, Job, State
from noisewise.study.storage import Event, Storage
from noisewise.study.suggesting import suggest
from noisewise.study.tabular import make_frame, read_rows
from noisewise.study.telling import (
    Measurement,
    Told,
    check_arguments,
    earlier_with_key,
    find_job,
    find_measurement,
    find_option,
    measurement_of,
    read_told,
)

Frame = Literal["measurements", "options", "events"]


class Study:
    """A question about options, everything measured so far, and what follows from it.

    Made by `noisewise.create_study` and `noisewise.load_study`. Every change is an event that is appended to
    the study's log; nothing is ever deleted, and the same log always gives the same answers.
    """

    def __init__(self, storage: Storage, name: str, clock: Callable[[], float] = time.time) -> None:
        self._storage, self._clock = storage, clock
        self.specification = Specification.from_plain(storage.specification(name))
        self._state = State(self.specification)
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
        """What was noticed when the catalogue was read."""
        features = self._state.whitening.notes if self._state.whitening else ()
        return [*self.specification.catalogue.notes, *features]

    @property
    def n_measurements(self) -> int:
        """How many measurements count."""
        return self._state.measurements.n_live

    @property
    def pending(self) -> list[Job]:
        """Suggestions that are under way."""
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
        check_count("n", n)
        sigma = None if sigma is None else check_sigma(sigma)
        lease = self.specification.lease if lease is None else check_positive("lease", lease)
        now = self._clock()
        bodies = suggest(self._now(), self.certificate(), n=n, sigma=sigma, now=now, lease=lease, by=by)
        events = [Event(self._state.n_events + 1 + i, now, "ask", body) for i, body in enumerate(bodies)]
        if dry_run:
            imagined = State(self.specification)
            for event in events:
                imagined.apply(event)
            return list(imagined.jobs.values())
        self._append(events)
        return [self._state.jobs[body["id"]] for body in bodies]

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
        body = read_told(self._state, _given(job, value, told), now=self._clock())
        earlier = earlier_with_key(self._state, body)
        if earlier is not None:
            return measurement_of(earlier, self._state.told[earlier - 1])
        self._record([("tell", body)])
        return measurement_of(len(self._state.told), body)

    def tell_many(self, measurements: Any) -> list[Measurement]:
        """Take a table of results (a file or a frame); if one row is bad, none is taken.

        Columns are named like the arguments of `tell`; intervals are ``lo`` and ``hi``, asymmetric errors
        ``se_up`` and ``se_down``, and repeated readings in one cell are separated by semicolons.
        """
        fresh: list[dict[str, Any]] = []
        keys: dict[str, dict[str, Any]] = {}
        for row, given in enumerate(read_rows(measurements), start=1):
            body = read_told(self._state, given, now=self._clock(), row=row)
            if earlier_with_key(self._state, body, f"row {row}: ") is not None:
                continue
            if "key" in body and keys.setdefault(body["key"], body) is not body:
                if keys[body["key"]] != body:
                    raise ValueError(
                        f"row {row}: key {body['key']} stands twice in the table, with different content."
                    )
                continue
            fresh.append(body)
        first = len(self._state.told) + 1
        self._record([("tell", body) for body in fresh])
        return [measurement_of(first + i, body) for i, body in enumerate(fresh)]

    def fail(self, job: Job | str, reason: str) -> None:
        """A suggestion could not be measured; it is free again, and the reason is kept."""
        self._close("fail", job, require_reason(reason))

    def release(self, job: Job | str, reason: str | None = None) -> None:
        """Give a suggestion back unmeasured."""
        self._close("release", job, reason)

    def void(self, measurement: Measurement | str | int, reason: str) -> None:
        """Let a measurement count no more; it stays in the log."""
        number = find_measurement(self._state, measurement)
        if number in self._state.voided:
            raise ValueError(f"m-{number} was voided before: {self._state.voided[number]}.")
        self._record([("void", {"number": number, "reason": require_reason(reason)})])

    def amend(
        self, measurement: Measurement | str | int, reason: str, value: Any = None, **told: Any
    ) -> Measurement:
        """Correct a measurement: what is said anew replaces what was told; the old stays in the log."""
        number = find_measurement(self._state, measurement)
        given = _given(None, value, told)
        content = amended(self._state, number, given, now=self._clock())
        self._record([("amend", {"number": number, "reason": require_reason(reason), "content": content})])
        return measurement_of(number, content)

    def exclude(self, option: str, reason: str) -> None:
        """Take an option out: it is neither asked for nor recommended. Its measurements stay."""
        name = find_option(self._state, option)
        if self._state.index[name] in self._state.excluded:
            raise ValueError(f"{name} is excluded already: {self._state.excluded[self._state.index[name]]}.")
        self._record([("exclude", {"option": name, "reason": require_reason(reason)})])

    def include(self, option: str) -> None:
        """Take an excluded option back in."""
        name = find_option(self._state, option)
        if self._state.index[name] not in self._state.excluded:
            raise ValueError(f"{name} is not excluded.")
        self._record([("include", {"option": name})])

    def add_options(self, options: Any, *, id: str | None = None) -> list[str]:
        """Add options to the catalogue, with the same columns as the first ones; returns their names."""
        body = added_options(self._state, options, id)
        self._record([("add", body)])
        return list(body["ids"])

    def set_policy(self, name: str | None = None, **options: Any) -> None:
        """Let another policy ask, or the same one in the version that is installed now."""
        choice = policy_choice(self._state, name or self._state.policy.name, options)
        self._record([("policy", {"policy": choice})])

    def certificate(self) -> Certificate:
        """Which option to take now, how far it can be from the best, and what that rests on."""
        return self._judge()[1]

    def check(self) -> Check:
        """Whether the measurements fit the model and their own error bars."""
        return self._judge()[0]

    def frame(self, what: Frame = "options") -> pl.DataFrame:
        """The measurements, options or events as a polars frame."""
        events = self._storage.read(self.name) if what == "events" else []
        return make_frame(what, self._state, self._now(), self.certificate(), events)

    def events(self, until: int | None = None) -> list[Event]:
        """The log, or its beginning."""
        events = self._storage.read(self.name)
        return events if until is None else events[:until]

    def _close(self, kind: str, job: Job | str, reason: str | None) -> None:
        found = find_job(self._state, job)
        if found.status != OPEN:
            raise ValueError(f"{found.id} is not under way: it was {found.status}.")
        self._record([(kind, {"job": found.id, "reason": reason})])

    def _now(self) -> Analysis:
        if self._analysis is None:
            self._analysis = Analysis(self._state)
        return self._analysis

    def _judge(self) -> tuple[Check, Certificate]:
        if self._judged is None:
            check = check_fit(self._now())
            self._judged = check, certify(self._now(), check)
        return self._judged

    def _record(self, happened: Sequence[tuple[str, dict[str, Any]]]) -> None:
        now, first = self._clock(), self._state.n_events + 1
        self._append([Event(first + i, now, kind, body) for i, (kind, body) in enumerate(happened)])

    def _append(self, events: list[Event]) -> None:
        self._storage.append(self.name, self._state.n_events, events)
        self._catch_up()

    def _catch_up(self) -> None:
        """Apply what the log has beyond this state."""
        events = self._storage.read(self.name, self._state.n_events)
        if events:
            self._state.apply_all(events)
            self._analysis = self._judged = None

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        certificate = self.certificate()
        good = False if certificate.withheld else True if certificate.reached else None
        return as_html(f"Study {self.name}", self._lines(), good=good)

    def _lines(self) -> list[str]:
        specification, certificate = self.specification, self.certificate()
        word = "largest" if specification.goal == "max" else "smallest"
        lines = [
            certificate.sentence,
            f"Study {self.name!r}: the {word} of {len(self._state.ids)} options, "
            f"{specification.model} model, {self.n_measurements} measurements, "
            f"{len(self.pending)} under way, policy {self._state.policy.name}.",
        ]
        if certificate.estimate is not None:
            lines.append(f"Estimate for {certificate.option}: {number(certificate.estimate, 4)}.")
        return lines


def _given(job: Any, value: Any, told: Any) -> dict[str, Any]:
    check_arguments(told)
    return {"job": job, "value": value, **told}
