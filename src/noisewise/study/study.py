"""A study: options, measurements with their error bars, what to measure next, and when to stop."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from noisewise.core.checks import check_count
from noisewise.core.files import as_path, written_whole
from noisewise.core.text import as_html, counted, look_alikes, printable, some_of, titled
from noisewise.study.certificates.bound import certify
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.check import Check, check_fit
from noisewise.study.log.budget import left_of_budget, policy_in_words
from noisewise.study.log.events import events_of
from noisewise.study.log.export import write_log
from noisewise.study.log.state import Job
from noisewise.study.measuring import Measuring
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import Sums, only_differences
from noisewise.study.planning import FUTURES, MOST_LOOKS

if TYPE_CHECKING:  # what plans, frames and charts stand on is loaded when one is asked for
    import polars as pl

    from noisewise.study.certificates.gate import Gate
    from noisewise.study.planning.noise import Noise, Priced
    from noisewise.study.planning.plan import Plan
    from noisewise.study.planning.worth import Worth
    from noisewise.study.report.figures import Plots
    from noisewise.study.report.league import League

Frame = Literal["measurements", "options", "events", "items"]


class Study(Measuring):
    """A question about options, everything measured so far, and what follows from it.

    Made by `noisewise.create_study` and `noisewise.load_study`. Every change is an event that is appended to
    the study's log; nothing is ever deleted, and the same log always gives the same answers.
    """

    _judged: tuple[Analysis, Check, Certificate] | None = None
    _alike: tuple[tuple[int, ...], list[str]] | None = None

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
        return [*self.specification.catalogue.notes, *features, *alone, *self._look_alikes()]

    def _look_alikes(self) -> list[str]:
        """Names of one kind that are different and look alike."""
        state = self._state
        named = {
            "options": state.ids, "blocks": state.measurements.blocks, "items": state.items.names,
            "keys": state.keys,
        }  # fmt: skip
        sizes = tuple(map(len, named.values()))
        if self._alike is None or self._alike[0] != sizes:
            said = []
            for what, names in named.items():
                if pairs := look_alikes(names):
                    listed = some_of([f"{one!r} and {other!r}" for one, other in pairs])
                    said.append(f"{what} that look alike are different ones: {listed}.")
            self._alike = sizes, said
        return self._alike[1]

    @property
    def policy(self) -> str:
        """Who asks."""
        return self._state.policy.name

    @property
    def model(self) -> str:
        """The present model: "independent", "linear", "linear+deviation" or "smooth"."""
        self._catch_up()
        return self._state.model.model

    @property
    def looks(self) -> str:
        """How often its bounds may be looked at: "any time", or "once"."""
        self._catch_up()
        return self._state.looks

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
    def n_measurements(self) -> int:
        """How many measurements count."""
        self._catch_up()
        return self._state.measurements.n_live

    @property
    def budget_left(self) -> int | None:
        """Measurements that are left of the budget, below 0 if more were made; None if there is none."""
        self._catch_up()
        return left_of_budget(self._state)

    @property
    def pending(self) -> list[Job]:
        """Suggestions that are under way."""
        self._catch_up()
        return self._state.open_jobs(self._clock())

    def certificate(self, *, cheapest: bool = False) -> Certificate:
        """Which option to take now, how far it can be from the best, and what that rests on.

        Args:
            cheapest: Whether to say as well which options are certainly within eps of the best, which are
                not, and which of the former costs least: see `Certificate.good_enough`.
        """
        self._catch_up()
        certificate = self._judge()[1]
        if cheapest:
            from noisewise.study.certificates.good_enough import find_good_enough

            certificate = replace(certificate, good_enough=find_good_enough(self._now(), certificate))
        return certificate.of(self)

    def check(self) -> Check:
        """Whether the measurements fit the model and their own error bars, and what to do if not."""
        self._catch_up()
        check, certificate = self._judge()
        if not check.explained:  # which takes longer than the certificate, and no one else needs it
            from noisewise.study.certificates.diagnosis import explain

            check = explain(self._now(), check)
            self._judged = self._now(), check, certificate
        return check.of(self)

    def compare(self, candidate: str, baseline: str, *, margin: float | str | None = None) -> "Gate":
        """Compare a candidate with a baseline: is it better, worse, or not worse by more than a margin?

        Args:
            candidate: The option that may replace the baseline.
            baseline: The option it is compared with.
            margin: The loss that does not matter, in the unit of the values; on a log scale such as "2%".
        """
        from noisewise.study.certificates.gate import compare_pair

        self._catch_up()
        return compare_pair(self._now(), self._judge()[0], candidate, baseline, margin)

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

        self._catch_up()
        return make_plan(
            self._now(), noise=noise, menu=menu, eps=eps, span=span, paths=paths, most=most, seed=seed,
            block=block, batch=batch, certificate=self._judge()[1], on=on,
        ).of(self)  # fmt: skip

    def worth(self, looks: int = MOST_LOOKS) -> "Worth":
        """What each measurement contributed: precision, what it taught, the bound before and after.

        Args:
            looks: How many times the bound is computed: if there are more measurements, after those that
                taught most, and geometrically.
        """
        from noisewise.study.planning.worth import find_worth

        self._catch_up()
        looks = check_count("looks", looks, least=8)
        return find_worth(self._now(), looks, self._judge()[1].withheld)

    def frame(self, what: Frame = "options") -> "pl.DataFrame":
        """The measurements, options, events or items as a polars frame."""
        from noisewise.study.report.frames import make_frame

        self._catch_up()
        events = self.events() if what == "events" else []
        return make_frame(what, self._state, self._now(), self._judge()[1], events)

    def league(self, against: str | None = None) -> "League":
        """Compare all options: estimates with the certificate's intervals, the best first.

        Args:
            against: Show differences to this option; default: estimates, or differences to the recommended
                option where only differences are known.
        """
        from noisewise.study.report.league import league_of

        self._catch_up()
        return league_of(self._now(), self._judge()[1], against)

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
        from noisewise.study.report.page import make_page

        target = as_path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"`path` must end in .html; got {str(path)!r}.")
        with written_whole(target) as draft:
            draft.write_text(make_page(self._findings(plan), check_count("most", most)), encoding="utf-8")
        return target

    def export(self, path: str | PathLike[str]) -> None:
        """Write the specification and the log as JSON lines; `noisewise.rebuild_study` reads them."""
        write_log(self._storage, self.name, path)

    def _findings(self, plan: "Plan | bool | None") -> Any:
        from noisewise.study.planning.worth import find_worth
        from noisewise.study.report.elements import ROWS
        from noisewise.study.report.frames import make_frame
        from noisewise.study.report.page import Findings, looks_for

        certificate, state, now = self.certificate(), self._state, self._now()
        planned: Plan | str | None = None if isinstance(plan, bool) else plan
        if plan is True:
            try:
                planned = self.plan()
            except ValueError as reason:
                planned = f"There is no plan: {reason}"
        return Findings(
            analysis=now,
            certificate=certificate,
            check=self.check(),
            worth=find_worth(now, looks_for(certificate), certificate.withheld),
            plan=planned,
            suggested=self._suggested(),
            options=self.frame("options"),
            measurements=self.frame("measurements"),
            events=make_frame(
                "events",
                state,
                now,
                certificate,
                events_of(self._storage, self.name, max(0, state.n_events - ROWS)),
            ),
            under_way=len(self.pending),
            at=self._clock(),
        )

    def _suggested(self) -> list[Job]:
        """What to measure next, where that is a question: neither if it is decided nor if it is withheld."""
        certificate = self.certificate()
        if certificate.withheld or certificate.reached or certificate.n_options < 2:
            return []
        try:
            return self.ask(dry_run=True)
        except ValueError:  # nothing left to measure, such as items
            return []

    def _judge(self) -> tuple[Check, Certificate]:
        now = self._now()
        if self._judged is None or self._judged[0] is not now:
            check = check_fit(now)
            self._judged = now, check, replace(certify(now, check), head=self._log.head)
        return self._judged[1:]

    def __repr__(self) -> str:
        return "\n".join(map(printable, self._lines()))

    def _repr_html_(self) -> str:
        certificate = self.certificate()
        good = False if certificate.withheld else True if certificate.reached else None
        return as_html(titled(self.name), self._lines(), good=good, drawn=self.league()._repr_html_())

    def _lines(self) -> list[str]:
        specification, certificate = self.specification, self.certificate()
        word = "largest" if specification.goal == "max" else "smallest"
        lines = [
            *certificate.sentences,
            f"Study {self.name!r}: the {word} of {counted(len(self._state.ids), 'option')}, "
            f"{self._state.model.in_words(specification.value_scale)}, "
            f"{certificate.amount}, "
            f"{len(self.pending)} under way, {policy_in_words(self._state)}.",
        ]
        if certificate.estimate is not None:
            value = certificate.value_scale.value(certificate.estimate)
            lines.append(f"Estimate for {certificate.option}: {value}{_level_in_words(self._now().sums)}.")
        return lines


def _level_in_words(sums: Sums) -> str:
    """On which level estimates are shown, where that is a convention."""
    if not (sums.minus < 0).any():
        return ", around 0, because only differences were measured"
    if not only_differences(sums):
        return ""
    return ", on the level of the average block (blocks have levels of their own)"
