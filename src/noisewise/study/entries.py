"""Everything that changes a study: asking, telling, correcting, and its options, policy and model."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack, cast

from noisewise.core.checks import ASKED, COUNT, LEASE, check_choice, check_count_within, check_within
from noisewise.core.text import check_text
from noisewise.study.asking.pending import PROBES
from noisewise.study.log.budget import warn_of_budget
from noisewise.study.log.events import Event, Happened, events_of
from noisewise.study.log.looks import check_blind
from noisewise.study.log.specification import BLIND
from noisewise.study.log.state import OPEN, WEEK, Job, job_of, replay
from noisewise.study.log.told import Measurement, Told, check_arguments, measurement_of
from noisewise.study.reader_entries import ReaderEntries
from noisewise.study.telling.changes import (
    added_options,
    amended,
    require_reason,
    switched_model,
)
from noisewise.study.telling.finding import find_job, find_measurement, find_option
from noisewise.study.telling.item_rows import check_items_belong
from noisewise.study.telling.rows import told_together


class Entries(ReaderEntries):
    """The changes that a study can be asked for; each is decided on the newest state, and appended."""

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
                measurement; several are meant for one new block, which is named when they are told.
            probe: ``"option"``: options to measure; ``"difference"``: pairs of options whose difference to
                measure. Default: differences if nothing else was measured so far.
            dry_run: Only look; nothing is reserved or written.
            lease: Seconds for which they are reserved; default: one week.
            by: Who will measure.
            items: How many items each suggestion is for, where options are measured item by item: which
                these are is `Job.items`. Default there: 50, or what is left of the pool.
        """
        return self._ask(
            n, sigma, block=block, probe=probe, dry_run=dry_run, lease=lease, by=by, items=items
        )  # fmt: skip

    def _ask(
        self,
        n: int,
        sigma: float | str | None = None,
        *,
        block: str | None = None,
        probe: Literal["option", "difference"] | None = None,
        dry_run: bool = False,
        lease: float | None = None,
        by: str | None = None,
        items: int | None = None,
        at_once: bool = False,
    ) -> list[Job]:
        from noisewise.study.asking.ask import Asking

        check_count_within("n", n, ASKED)
        sigma = None if sigma is None else self.specification.value_scale.read_error(sigma, "sigma")
        lease = WEEK if lease is None else check_within("lease", lease, LEASE)
        by = None if by is None else check_text("by", by)
        block = None if block is None else check_text("block", block)
        items = None if items is None else check_count_within("items", items, COUNT)
        asked_for = None if probe is None else check_choice("probe", probe, PROBES)

        bodies: list[dict[str, Any]] = []
        asking: Asking | None = None

        def prepare() -> None:
            # Without any lock: others who ask at the same time need not wait for this.
            nonlocal asking
            self._catch_up()
            asking = Asking(self._now(), self._clock(), at_once=at_once)

        def suggested(news: list[Event]) -> Happened:
            if items is not None:
                check_items_belong(self._state, "")
            if asking is None or not asking.still_holds(news):
                prepare()
            bodies[:] = cast(Asking, asking).suggest(
                n=n, sigma=sigma, block=block, probe=asked_for, now=self._clock(), lease=lease, by=by,
                items=items,
            )  # fmt: skip
            warn_of_budget(self._state, bodies, self._clock())
            return [("ask", body) for body in bodies]

        if dry_run:
            prepare()
            suggested([])
            return [job_of(body) for body in bodies]

        def recover(events: list[Event]) -> None:
            bodies[:] = [event.body for event in events]

        call = ("ask", n, sigma, block, probe, lease, by, items, at_once)
        return self._record(
            suggested,
            call,
            lambda: [self._state.jobs[body["id"]] for body in bodies],
            before=prepare,
            recover=recover,
        )

    def tell(self, job: Job | str | None = None, value: Any = None, **told: Unpack[Told]) -> Measurement:
        """Take the result of a measurement, asked for or not.

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
        given = given_of(job, value, told)
        return self._tell([given], ("tell", given))[0]

    def tell_all(self, results: Sequence[Mapping[str, Any]]) -> list[Measurement]:
        """Take several results at once, all of them or none; each is a mapping with the arguments of `tell`.

        What was told before, by its key or as the answer to a suggestion, counts once. Items are told by
        `tell`, or as a table by `tell_many`.
        """
        given = [
            given_of(one.get("job"), one.get("value"), {k: one[k] for k in one if k not in ("job", "value")})
            for one in results
        ]
        return self._tell(given, ("tell all", given))

    def _tell(self, given: list[dict[str, Any]], call: Any) -> list[Measurement]:
        """Record measurements, all of them or none, and warn about those that are new."""
        found: list[tuple[int, dict[str, Any]]] = []
        known = 0

        def read(news: list[Event]) -> Happened:
            nonlocal known
            known = len(self._state.told)
            found[:], happened = told_together(self._state, given, self._clock())
            return happened

        measured = self._record(read, call, lambda: [measurement_of(number, body) for number, body in found])
        written = [one["value"] for one in given]
        # Nothing is found where an earlier call, whose answer was lost, had written it.
        new = {number: (body, value) for (number, body), value in zip(found, written, strict=False)}
        for number, (body, value) in sorted(new.items()):
            if number > known:
                self._warn_of(number, body, value)
        return measured

    def fail(self, job: Job | str | Sequence[Job | str], reason: str) -> None:
        """A suggestion, or several, could not be measured; they are free again, and the reason is kept."""
        self._close("fail", job, require_reason(reason))

    def release(self, job: Job | str | Sequence[Job | str], reason: str | None = None) -> None:
        """Give a suggestion, or several, back unmeasured: all of them, or none."""
        self._close("release", job, None if reason is None else require_reason(reason))

    def void(self, measurement: Measurement | str | int, reason: str) -> None:
        """Make a measurement count no longer; it stays in the log."""

        def voided(news: list[Event]) -> Happened:
            number = find_measurement(self._state, measurement)
            if number in self._state.voided:
                raise ValueError(f"m-{number} was voided before: {self._state.voided[number]}.")
            return [("void", {"number": number, "reason": require_reason(reason)})]

        self._record(voided, ("void", measurement, reason), lambda: None)

    def amend(
        self, measurement: Measurement | str | int, reason: str, value: Any = None, **told: Any
    ) -> Measurement:
        """Correct a measurement: what is said anew replaces what was told; the old stays in the log."""
        given = given_of(None, value, told, "amend")
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

    def add_options(self, options: Any, *, id: str | None = None, decimal: str | None = None) -> list[str]:
        """Add options to the catalogue, with the same columns as the first ones; returns their names.

        Args:
            options: A table or a list, as `create_study` takes it.
            id: The column with the options' names; default: as it was called at first.
            decimal: The decimal sign, ``"."`` or ``","``, where the cells leave it open.
        """
        body: dict[str, Any] = {}

        def added(news: list[Event]) -> Happened:
            nonlocal body
            body = added_options(self._state, options, id, decimal)
            return [("add", body)]

        return self._record(added, ("add", options, id, decimal), lambda: list(body["ids"]))

    def set_policy(self, name: str | None = None, **options: Any) -> None:
        """Let another policy ask, or the same one in the version that is installed now."""
        from noisewise.study.asking.policy import policy_body

        def chosen(news: list[Event]) -> Happened:
            asked = check_blind(name or self._state.policy.name, self._state.looks)
            return [("policy", policy_body(asked, options, self.specification))]

        self._record(chosen, ("policy", name, options), lambda: None)

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
            body = switched_model(
                self._state, model=model, deviation=deviation, extra_scatter=extra_scatter, final=final,
                reason=reason,
            )  # fmt: skip
            happened = [("switch", body)]
            if "looks" in body and self._state.policy.name not in BLIND:
                happened.insert(0, ("policy", policy_body(BLIND[0], {}, self.specification)))
            imagined = replay(self.specification, events_of(self._storage, self.name))
            for kind, content in happened:
                imagined.apply(Event(imagined.n_events + 1, self._clock(), kind, content))
            rehearse_asking(imagined)
            return happened

        self._record(changed, ("switch", model, deviation, extra_scatter, final, reason), lambda: None)

    def _close(self, kind: str, job: Job | str | Sequence[Job | str], reason: str | None) -> None:
        jobs = list(job) if isinstance(job, list | tuple | set | frozenset) else [job]
        if not jobs:
            raise ValueError("`job` must be at least one suggestion; got none.")

        def closed(news: list[Event]) -> Happened:
            found = [find_job(self._state, one) for one in jobs]
            for one in found:
                if one.status != OPEN:
                    raise ValueError(f"{one.id} is not under way: it was {one.status}.")
            return [(kind, {"job": id, "reason": reason}) for id in dict.fromkeys(one.id for one in found)]

        self._record(closed, (kind, job, reason), lambda: None)


def given_of(job: Any, value: Any, told: Any, method: str = "tell") -> dict[str, Any]:
    """What was said of a measurement."""
    check_arguments(told, method)
    return {"job": job, "value": value, **told}
