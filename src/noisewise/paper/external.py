"""Published tables of stopping times, theirs beside ours: Soare's instance, and one with many rivals."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from noisewise.charts.claims import measured_and_claimed
from noisewise.paper import elimination
from noisewise.paper.measurements.external import characteristic_time, stopping_times
from noisewise.paper.parts import Cell, Outcome, Plan, Section, Told
from noisewise.paper.statistics import interval

DELTAS = (0.1, 0.01, 0.001, 0.0001)
SOARE = {"dim": 6, "angle": 0.1, "length": 2.0}
#: Nobody needs as many rounds.
LONGEST = 120_000
#: Wang, Tzeng and Proutiere, NeurIPS 2021, Table 1: mean stopping times over 1000 runs.
PUBLISHED = {
    "FWS": (1030, 1614, 2229, 2839),
    "LT&S": (7651, 8290, 8952, 9575),
    "LT&S, heuristic": (3319, 3907, 4527, 5120),
    "LinGame-C": (2498, 3501, 4324, 5118),
    "LinGame": (2319, 3431, 4326, 5120),
    "XY-Adaptive": (7016, 7779, 9090, 9723),
    "round robin": (5451, 8814, 12101, 15314),
    "lower bound, as printed": (359, 920, 1408, 1881),
}


class Row(NamedTuple):
    """One of our rows: the rule, what it is compared with, and how closely."""

    label: str
    rule: str
    most: tuple[int, ...] | None = None  # rounds that it may need; a published row, or a target
    tolerance: float = 0.0  # above it
    both_sides: bool = False  # whether it may not be better by more, either
    quick: int = 0  # runs of the quick report, which has few rules to compile
    full: int = 1000


ROWS = (
    Row("round robin", "round_robin", PUBLISHED["round robin"], 0.03, both_sides=True, quick=100),
    Row("FWS", "frank_wolfe_sampling", PUBLISHED["FWS"], 0.15, quick=100),
    Row("LinGame", "lingame", PUBLISHED["LinGame"], 0.15),
    Row("VAGE", "vage", (1000, 1600, 2200, 2800)),
    Row("LinGapE, weighted", "weighted_lingape"),
    Row("RAGE", "rage", full=100),
    Row("VAEE", "vaee", full=100),
    Row("VAGD", "vagd", full=100),
)


def cells(plan: Plan) -> dict[str, Cell]:
    """Our rules at every confidence; round robin also with the parameter that the text names."""
    made = {}
    for row in ROWS:
        runs = plan.pick(row.quick, row.full)
        for delta in DELTAS if runs else ():
            made[f"{row.label}/{delta:g}"] = _cell(row.rule, delta, SOARE, runs, plan.seed)
    made["length 1"] = _cell("round_robin", DELTAS[0], SOARE | {"length": 1.0}, plan.pick(30, 200), plan.seed)
    return made | elimination.cells(plan)


def _cell(rule: str, delta: float, problem: dict[str, float], runs: int, seed: int) -> Cell:
    arguments = {
        "problem": "soare",
        "problem_options": problem,
        "rule": rule,
        "options": {"delta": delta, "norm_bound": problem["length"]},
        "stop": "glr-log-log",
        "longest": LONGEST,
        "replications": runs,
        "seed": seed,
    }
    return Cell(stopping_times, arguments)


def tell(plan: Plan, outcomes: Mapping[str, Outcome]) -> Told:
    """Both published tables, ours beside them, and the traps of the first."""
    told = Told()
    told.say(
        """The paper has no figures of its own to compare with, so here are other people's tables. First, mean
        stopping times on Soare's instance (d = 6, angle 0.1, σ = 1, stop when the likelihood ratio
        passes log((1 + log t)/δ)), Table 1 of Wang, Tzeng and Proutiere, NeurIPS 2021, 1000 runs. Three
        traps. The text says θ = e₁, but the numbers are those of θ = 2e₁. The ridge, an identity,
        stays in V for ever, with every action measured once first; as our round robin does. And the
        published code of FWS starts from a matrix where it needs its inverse, and updates it by z/t where
        √(z/t) is meant; ours solves for it in every round, and stops earlier."""
    )
    time = characteristic_time("soare", SOARE)
    divergence = [(1 - 2 * delta) * math.log((1 - delta) / delta) for delta in DELTAS]
    rows: list[dict[str, Any]] = []
    for row in ROWS:
        found = [outcomes[name] for delta in DELTAS if (name := f"{row.label}/{delta:g}") in outcomes]
        if found:
            rows.append(_numbers(f"{row.label}, ours", found[0]["runs"], [one["mean"] for one in found]))
            rows.append(_numbers("± standard error", None, [one["error"] for one in found]))
    rows += [_numbers(f"{name}, published", 1000, list(numbers)) for name, numbers in PUBLISHED.items()]
    rows.append(_numbers("lower bound, exact", None, [time * one for one in divergence]))
    told.show(
        "external-table",
        f"Mean stopping times. The exact characteristic time is {time:.2f}; the printed bound is 8 % low.",
        pl.DataFrame(rows, infer_schema_length=None),
    )
    _draw(told, outcomes)
    _check(told, plan, outcomes)
    left_out = [row.label for row in ROWS if f"{row.label}/{DELTAS[0]:g}" not in outcomes]
    if left_out:
        told.say(f"The full report has rows for {', '.join(left_out[:-1])} and {left_out[-1]}, too.")
    small, shorter = outcomes["length 1"], characteristic_time("soare", SOARE | {"length": 1.0})
    told.say(
        f"""The first trap in numbers: with θ = e₁ round robin takes {small["mean"]:,.0f} rounds at δ = 0.1,
        not {PUBLISHED["round robin"][0]:,}, and the lower bound would be {shorter * divergence[0]:,.0f}."""
    )
    elimination.tell(plan, told, outcomes)
    ended = [(found["wrong"], found["unfinished"]) for found in outcomes.values()]
    told.check(
        "every run stopped by itself",
        not any(unfinished for _, unfinished in ended),
        f"{sum(unfinished for _, unfinished in ended)} runs reached the end; "
        f"{sum(wrong for wrong, _ in ended)} of all runs named a wrong action",
    )
    return told


def _numbers(label: str, runs: int | None, means: list[Any]) -> dict[str, Any]:
    numbers = {
        f"δ = {delta:g}": None if mean is None else float(mean)
        for delta, mean in zip(DELTAS, means, strict=True)
    }
    return {"rule": label, "runs": runs} | numbers


def _draw(told: Told, outcomes: Mapping[str, Outcome]) -> None:
    rows = []
    for row in ROWS:
        for place, delta in enumerate(DELTAS):
            if f"{row.label}/{delta:g}" in outcomes:
                found = outcomes[f"{row.label}/{delta:g}"]
                published = PUBLISHED.get(row.label)
                claimed = float(published[place]) if published else None
                measured = interval(found["mean"], found["error"])
                label = {"label": f"{row.label}, δ = {delta:g}"}
                rows.append(label | measured._asdict() | {"claimed": claimed})
    told.draw(
        "external-table",
        "Our stopping times with 95 % intervals; ticks: the published mean of the same rule.",
        measured_and_claimed(
            pl.DataFrame(rows, infer_schema_length=None),
            title="Stopping times on Soare's instance",
            x_title="Rounds until the rule stops",
            claimed="published",
            log=True,
        ),
    )


def _check(told: Told, plan: Plan, outcomes: Mapping[str, Outcome]) -> None:
    for row in ROWS:
        if row.most is None or f"{row.label}/{DELTAS[0]:g}" not in outcomes:
            continue
        found = [outcomes[f"{row.label}/{delta:g}"] for delta in DELTAS]
        off = [one["mean"] / most - 1.0 for one, most in zip(found, row.most, strict=True)]
        # Two standard errors of ours are no evidence that it is off; what must agree has runs enough in full.
        errors = 0.0 if row.both_sides and plan.full else 2.0
        doubt = [errors * one["error"] / most for one, most in zip(found, row.most, strict=True)]
        sizes = [abs(one) for one in off] if row.both_sides else off
        told.check(
            _promise(row, doubtful=errors > 0.0),
            all(size - two <= row.tolerance for size, two in zip(sizes, doubt, strict=True)),
            ", ".join(
                f"{one['mean']:,.0f} ± {one['error']:,.0f} against {most:,} ({share:+.1%})"
                for one, most, share in zip(found, row.most, off, strict=True)
            ),
        )


def _promise(row: Row, doubtful: bool) -> str:
    """What must hold for a row, in words."""
    if row.label in PUBLISHED:
        how = "within {:.0%} of" if row.both_sides else "at most {:.0%} above"
        promise = f"{row.label} is {how.format(row.tolerance)} the published numbers"
    else:
        promise = f"{row.label} needs at most {', '.join(f'{most:,}' for most in row.most or ())} rounds"
    return promise + (", up to two of our standard errors" if doubtful else "")


EXTERNAL = Section(
    name="external",
    title="External tables: stopping times on Soare's instance, and among many rivals",
    cells=cells,
    tell=tell,
    figures=("external-table", "external-elimination"),
)
