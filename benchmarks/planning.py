"""Plans: how often the number of measurements that a study really needs lies in the band, and how fast it is.

Each simulated study draws its truth as the plan believes it to be (normal, with a spread that `span` allows),
is planned before its first measurement or after a few, and then goes on step by step, looking after every
measurement, until its certificate allows stopping.

Studies with daily blocks have truths of their own kinds, which the plan does not know: after two or three
days they are planned, and then really go on, asking for one measurement after the other.
"""

import time
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

import noisewise as nw
from benchmarks.timing import Row
from noisewise.core.randomness import generator
from noisewise.study.certificates.bound import recommend
from noisewise.study.planning.plan import draw_worlds

STUDIES = 200
#: Levels and shares: one measurement in five is a quiet one.
NOISE = [(0.6, 0.8), (0.15, 0.2)]
MOST_LOOKS = 3000
EPS, SPAN = 0.5, 6.0
FIRST = 10


#: Studies with daily blocks: how many options, which model, and eps.
DAILY = {
    "5 options": (5, "independent", 0.5),
    "8 options": (8, "independent", 0.6),
    "20 options": (20, "independent", 0.8),
    "linear": (20, "linear", 0.5),
    "linear+deviation": (20, "linear+deviation", 0.5),
}
SIGMA, MOST_DAYS = 0.5, 200


class Planned(NamedTuple):
    """One study: what was planned and what it took."""

    low: float
    median: float
    high: float
    taken: int


def new_study(model: str, rng: np.random.Generator) -> nw.Study:
    """Six options without features, or sixteen with three."""
    if model == "independent":
        return nw.create_study(options=[f"o{k}" for k in range(6)], eps=EPS)
    features = rng.normal(size=(16, 3))
    table = {"id": [f"o{k}" for k in range(16)], **{f"f{j}": features[:, j] for j in range(3)}}
    return nw.create_study(options=table, model="linear", eps=EPS)


def run(model: str, seed: int, *, first: int = FIRST, paths: int = 39) -> Planned:
    """Plan after ``first`` measurements, then measure on."""
    rng = generator(seed, "instance", 0)
    study = new_study(model, rng)
    truth = dict(zip(study.options, draw_worlds(study._now(), 1, seed, SPAN)[0], strict=True))
    sigmas, shares = zip(*NOISE, strict=True)

    def measure() -> None:
        (job,) = study.ask()
        sigma = float(rng.choice(sigmas, p=shares))
        study.tell(job, truth[job.option] + sigma * rng.standard_normal(), se=sigma)

    for _ in range(first):
        measure()
    plan = study.plan(noise=NOISE, paths=paths, seed=seed, on=1)
    taken = 0
    # A fit that looks bad by chance withholds the certificate for a while; the plan is about the bound.
    while not study.certificate().reached and taken < MOST_LOOKS:
        measure()
        taken += 1
    return Planned(plan.low, plan.median, plan.high, taken)


def daily_study(kind: str, rng: np.random.Generator) -> tuple[nw.Study, dict[str, float]]:
    """A study with daily blocks, and the truth."""
    n, model, eps = DAILY[kind]
    names = [f"o{k:02d}" for k in range(n)]
    if model == "independent":
        truth = rng.permutation(np.linspace(0.0, -2.0, n)) if n == 5 else rng.normal(size=n)
        study = nw.create_study(options=names, eps=eps)
    else:
        features, deviation = rng.normal(size=(n, 4)), 0.2 if "deviation" in model else 0.0
        truth = features @ (rng.normal(size=4) / 2.0) + deviation * rng.normal(size=n)
        table = {"id": names, **{f"f{j}": features[:, j] for j in range(4)}}
        sizes = {"deviation": deviation} if deviation else {}
        study = nw.create_study(options=table, roles={"option": "id"}, model=model, eps=eps, **sizes)
    return study, dict(zip(names, truth.tolist(), strict=True))


def run_daily(kind: str, seed: int, paths: int = 39) -> Planned:
    """Measure for two or three days, plan, and go on until the bound is small enough; in days."""
    rng = generator(seed, "instance", 1 + list(DAILY).index(kind))
    study, truth = daily_study(kind, rng)
    size, first = int(rng.integers(4, 7)), int(rng.integers(2, 4))

    def measure_on(day: int) -> bool:
        """A day; whether the bound became small enough."""
        name, offset = str(date(2026, 1, 5) + timedelta(day)), float(rng.normal())
        for _ in range(size):
            (job,) = study.ask(block=name, sigma=SIGMA)
            study.tell(job, truth[job.option] + offset + SIGMA * rng.standard_normal(), se=SIGMA)
            found = recommend(study._now())
            if found is not None and found.bound <= DAILY[kind][2]:
                return True
        return False

    if any(measure_on(day) for day in range(first)):
        return run_daily(kind, seed + 10_000, paths)  # there was nothing to plan
    (forecast,) = study.plan(paths=paths, seed=seed).forecasts
    taken = 1
    while not measure_on(first + taken - 1) and taken < MOST_DAYS:
        taken += 1
    return Planned(forecast.blocks_low or 0.0, forecast.blocks or 0.0, forecast.blocks_high or 0.0, taken)


def daily_rows(studies: int = STUDIES) -> list[Row]:
    """How often the days that a study took lie in the band of its plan."""
    made: list[Row] = []
    every: list[Planned] = []
    for kind in DAILY:
        planned = [run_daily(kind, seed) for seed in range(studies // len(DAILY))]
        share = float(np.mean([inside(one) for one in planned]))
        ratio = float(np.median([one.taken / max(1.0, one.median) for one in planned]))
        detail = f"{_sides(planned)}, {kind}, daily blocks of 4 to 6; taken/median {ratio:.2f}"
        made.append(Row("plan: realised days inside the 80 % band", share, "", 0.6, True, detail))
        every += planned
    share = float(np.mean([inside(one) for one in every]))
    made.append(Row("plan: days inside the band, all studies", share, "", 0.7, True, _sides(every)))
    made.append(Row("plan: days inside the band, all studies", share, "", 0.9, False, _sides(every)))
    return made


def inside(planned: Planned) -> bool:
    """Whether the study took as long as the band says."""
    return planned.low <= planned.taken <= planned.high


def rows(studies: int = STUDIES) -> list[Row]:
    """How often the band holds, for each model, before the first measurement and after a few."""
    made: list[Row] = []
    every: list[Planned] = []
    for model in ("independent", "linear"):
        for first in (0, FIRST):
            planned = [run(model, seed, first=first) for seed in range(studies // 4)]
            share = float(np.mean([inside(one) for one in planned]))
            ratio = float(np.median([one.taken / max(1.0, one.median) for one in planned]))
            detail = f"{_sides(planned)}, {model}, planned after {first}; taken/median {ratio:.2f}"
            # Fifty studies scatter by 0.06 around their share; what must hold is said of all together.
            made.append(Row("plan: realised number inside the 80 % band", share, "", 0.6, True, detail))
            every += planned
    share = float(np.mean([inside(one) for one in every]))
    made.append(Row("plan: inside the band, all studies", share, "", 0.7, True, _sides(every)))
    made.append(Row("plan: inside the band, all studies", share, "", 0.9, False, _sides(every)))
    return [*made, *daily_rows(studies), *times()]


def _sides(planned: list[Planned]) -> str:
    below = sum(one.taken < one.low for one in planned)
    above = sum(one.taken > one.high for one in planned)
    return f"{len(planned)} studies ({below} below, {above} above)"


def times() -> list[Row]:
    """Processor time of a plan with two levels on 500 options."""
    made = []
    for model in ("independent", "linear"):
        for told in (0, 700):
            study = large_study(model, told)
            start = time.process_time()
            study.plan(noise=[(0.5, 0.9), (0.05, 0.1)])
            spent = time.process_time() - start
            detail = f"{model}, {told} measured, with and without the quiet level, processor time"
            made.append(Row("plan: 500 options", spent, "s", 10.0, False, detail))
    return made


def large_study(model: str, told: int) -> Any:
    """500 options with 8 features, a linear truth, and some measurements."""
    rng = np.random.default_rng(0)
    features, theta = rng.normal(size=(500, 8)), 0.5 * rng.normal(size=8)
    names = [f"o{k}" for k in range(500)]
    table = {"id": names, **{f"f{j}": features[:, j] for j in range(8)}}
    study = nw.create_study(options=table, model=model, eps=0.3, roles={"option": "id"})
    if told:
        rows = np.concatenate([np.arange(500), rng.integers(500, size=told)])[:told]
        values = features[rows] @ theta + 0.5 * rng.standard_normal(told)
        study.tell_many({"option": [names[k] for k in rows], "value": values, "se": np.full(told, 0.5)})
    return study
