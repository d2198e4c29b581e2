"""``noisewise demo``: a whole study on real data, until it may stop.

Which of 223 language models is best? Every measurement is drawn afresh around the published win rate, with
its published standard error, and the study is told both, as if the model had been evaluated again. With
``--counts`` a measurement is a hundred comparisons, and the study is told how many were won.
"""

import math
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from noisewise.cli.options import Seed
from noisewise.cli.printing import WIDTH, console, print_json
from noisewise.operations.table import Opt

#: In points of the win rate.
EPS = 3.0
#: The reference model's standard error is 0 by definition: no measurement is that good.
NOISE_FLOOR = 0.1
#: Comparisons that are made at a time, where these are counted.
COMPARISONS = 100
#: Suggestions per batch while models wait for their first measurement, and after that.
FIRST_BATCH, BATCH = 32, 4
#: Sweeps over all models after which uniform measuring is given up.
MOST_SWEEPS = 200
#: Times eps: bounds below are looked at after every sweep, so that its number is exact.
NEAR = 1.2
#: Seconds between two measurements that a person watches.
PAUSE = 0.7
BLOCKS = "▁▂▃▄▅▆▇█"


def demo(
    out: Annotated[Path, Opt("Folder for the study and the chart.")] = Path("demo"),
    seed: Seed = 0,
    json: Annotated[bool, Opt("Print JSON instead of words.", "--json")] = False,
) -> None:
    """Watch a study find the best of 223 models."""
    import noisewise as nw

    world = _World(seed)
    out.mkdir(parents=True, exist_ok=True)
    store = nw.open_store(out / "models.db", create=True)
    study = nw.create_study(store, name=_new_name(store.names()), seed=seed, **world.question)
    screen = console(width=WIDTH)
    if not json:
        screen.print(INTRODUCTION.format(n=len(world.models)))
    course = _measure(study, world, screen, quiet=json)
    uniform = uniform_cost(_World(seed))
    told = _Told(study, world, course, uniform, out, _draw(study, out / "models.html"))
    if json:
        print_json("demo", told.plain())
        return
    for line in told.lines():
        screen.print(line, markup=False)


def _measure(study: Any, world: "_World", screen: Any, *, quiet: bool) -> list["BoundSoFar"]:
    """Ask, measure and tell until the study may stop; where it stood after every batch."""
    from rich.live import Live
    from rich.text import Text

    course: list[BoundSoFar] = []
    with Live(console=screen, refresh_per_second=8, transient=True) as live:
        while not study.certificate().reached:
            never = len(world.models) - study.n_measurements
            for job in study.ask(min(max(never, BATCH), FIRST_BATCH)):
                study.tell(job, **world.measure(job.option))
            certificate = study.certificate()
            course.append(BoundSoFar(study.n_measurements, certificate.bound, len(certificate.candidates)))
            if not quiet:
                live.update(Text(course[-1].line(certificate.option, course)))
    return course


INTRODUCTION = (
    "Which of {n} language models is best? AlpacaEval publishes a win rate for each, with its own standard "
    "error. Suppose nothing had been measured yet: a study asks for one model after the other and is given a "
    "fresh value with the published error bar, until it can certify that one of them is at most 3 points "
    "below the best, with 95 % confidence.\n"
)
NULL_MODEL = "(NullModel is an attack on the benchmark; the data are as published.)"


class _World:
    """The published win rates, measured again: in percent, with the published error bars."""

    def __init__(self, seed: int) -> None:
        import numpy as np

        from noisewise.core.randomness import generator
        from noisewise.data import load_table

        table = load_table("alpaca_eval")
        self.models: list[str] = table["model"].to_list()
        self._truth = dict(zip(self.models, table["win_rate"].to_list(), strict=True))
        errors = np.maximum(table["standard_error"].to_numpy(), NOISE_FLOOR)
        self._errors = dict(zip(self.models, errors.tolist(), strict=True))
        self._made = dict(zip(self.models, table["n_total"].to_list(), strict=True))
        self._rng = generator(seed, "noise", 0)
        self.comparisons = 0

    @property
    def question(self) -> dict[str, Any]:
        """What the study is made with."""
        return {"options": self.models, "eps": EPS, "errors": {"floor": NOISE_FLOOR}}

    def measure(self, model: str) -> dict[str, float]:
        """A win rate with its standard error, as it is told."""
        self.comparisons += self._made[model]
        se = self._errors[model]
        return {"value": self._truth[model] + se * float(self._rng.standard_normal()), "se": se}

    def behind(self, model: str) -> float:
        """How far below the best a model really is, in points."""
        return float(max(self._truth.values()) - self._truth[model])


class BoundSoFar(NamedTuple):
    """Where the study stood at one moment."""

    measurements: int
    bound: float
    candidates: int

    def plain(self) -> dict[str, Any]:
        """As JSON values."""
        bound = None if math.isinf(self.bound) else self.bound
        return {"measurements": self.measurements, "bound": bound, "candidates": self.candidates}

    def line(self, option: str | None, course: list["BoundSoFar"]) -> str:
        """The live line."""
        if math.isinf(self.bound):
            return f"{self.measurements:>5} measurements: every model needs a first measurement ..."
        from noisewise.core.text import rounded_up

        bound = rounded_up(self.bound)
        return (
            f"{self.measurements:>5} measurements: {option} is at most {bound} below the best; "
            f"{self.candidates} may be the best  {sparkline([look.bound for look in course])}"
        )


def sparkline(bounds: list[float], width: int = 24) -> str:
    """The bound falling, in a few characters."""
    known = [bound for bound in bounds if math.isfinite(bound)]
    if not known:
        return ""
    step = max(1, math.ceil(len(known) / width))
    shown, top = known[::-step][::-1], max(known)
    return "".join(BLOCKS[min(7, int(8 * bound / top))] for bound in shown)


def uniform_cost(world: _World) -> int | None:
    """Measurements until the same certificate, if all models are measured equally often."""
    import noisewise as nw

    study = nw.create_study(**world.question)
    look = 1
    for sweep in range(1, MOST_SWEEPS + 1):
        told = [{"option": model, **world.measure(model)} for model in world.models]
        # Each sweep is measured anew: counts that a sweep before happened to give are no copies of its rows.
        study.tell_many({name: [one[name] for one in told] for name in told[0]}, repeat=True)
        if sweep < look:
            continue
        certificate = study.certificate()
        if certificate.reached:
            return study.n_measurements
        # Far from the goal, a quarter of the sweeps that are left at 1 / √sweeps pass without a look.
        ratio = certificate.bound / world.question["eps"]
        far = min((ratio**2 - 1.0) / 4.0, 1.0) if ratio > NEAR else 0.0
        look = sweep + max(1, int(sweep * far))
    return None


def _new_name(names: list[str]) -> str:
    """Earlier runs stay in the file."""
    return next(name for k in range(1, len(names) + 2) if (name := f"models-{k}") not in names)


def _draw(study: Any, path: Path) -> str | None:
    try:
        from noisewise.charts import save_chart

        save_chart(study.plot.intervals(), path)
    except ModuleNotFoundError:  # charts are an extra
        return None
    return str(path)


class _Told(NamedTuple):
    """What the demonstration has to tell when it is over."""

    study: Any
    world: _World
    course: list[BoundSoFar]
    uniform: int | None
    out: Path
    chart: str | None

    def plain(self) -> dict[str, Any]:
        """As JSON values."""
        import json

        return {
            "study": self.study.name,
            "certificate": json.loads(self.study.certificate().to_json()),
            "course": [moment.plain() for moment in self.course],
            "measurements": self.study.n_measurements,
            "comparisons": self.world.comparisons,
            "uniform": self.uniform,
            "written": [str(self.out / "models.db"), *([self.chart] if self.chart else [])],
        }

    def lines(self) -> list[str]:
        """As people read it."""
        certificate, count = self.study.certificate(), self.study.n_measurements
        lines = [*self._falling_bound(), "", *str(certificate).splitlines(), ""]
        behind = self.world.behind(certificate.option or "")
        really = f"it is {behind:.1f} points below the best" if behind > 0.0 else "it is the best"
        lines.append(f"In the published table {really}. {NULL_MODEL}")
        lines.append(f"It took {count} measurements, which are {self.world.comparisons:,} comparisons.")
        if self.uniform is not None:
            lines.append(
                f"Measuring all {len(self.study.options)} models equally often until the same certificate "
                f"takes {self.uniform:,} measurements: {self.uniform / count:.1f} times as many."
            )
        again = f"{_as_it_was_typed()} status {self.out / 'models.db'} -s {self.study.name}"
        lines += ["", f"The study is kept: {again}"]
        with_charts = "With pip install 'noisewise[charts]' it draws the intervals as well."
        return [*lines, f"The intervals as a chart: {self.chart}" if self.chart else with_charts]

    def _falling_bound(self) -> list[str]:
        from noisewise.core.text import rounded_up

        falling = [moment for moment in self.course if math.isfinite(moment.bound)]
        shown = falling[:: max(1, len(falling) // 6)]
        shown += [falling[-1]] if shown[-1] != falling[-1] else []
        lines = ["The bound, as measurements came in:"]
        for moment in shown:
            bar = "█" * max(1, round(30 * moment.bound / falling[0].bound))
            lines.append(f"{moment.measurements:>6}  {rounded_up(moment.bound):>5}  {bar}")
        return lines


def _as_it_was_typed() -> str:
    """The command: by its name where the shell finds it, else with its path, as in a clone."""
    typed = Path(sys.argv[0])
    return str(typed) if typed.name == "noisewise" and shutil.which("noisewise") is None else "noisewise"
