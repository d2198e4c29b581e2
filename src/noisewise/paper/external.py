"""A published table: stopping times on Soare's instance, theirs beside ours."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from noisewise.charts.claims import measured_and_claimed
from noisewise.core.rows import Floats
from noisewise.paper.measuring.external import stopping_times
from noisewise.paper.measuring.runs import is_available
from noisewise.paper.parts import Cell, Outcome, Plan, Section, Told
from noisewise.paper.statistics import interval

DELTAS = (0.1, 0.01, 0.001, 0.0001)
DIM, ANGLE, LENGTH = 6, 0.1, 2.0
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
#: Ours: label, rule, options, and the published row of the same rule.
ROWS: tuple[tuple[str, str, dict[str, Any], str | None], ...] = (
    ("round robin", "round_robin", {}, "round robin"),
    ("LinGapE, weighted", "weighted_lingape", {}, None),
    ("VAEE", "vaee", {}, None),
    ("VAGD", "vagd", {}, None),
)
TOLERANCE = 0.03


def cells(plan: Plan) -> dict[str, Cell]:
    """Every rule we have at every confidence; round robin also with the parameter that the text names."""
    made = {}
    for label, rule, options, published in ROWS:
        if is_available(rule):
            for delta in DELTAS:
                made[f"{label}/{delta:g}"] = Cell(
                    stopping_times,
                    {
                        "rule": rule,
                        "options": options,
                        "delta": delta,
                        "length": LENGTH,
                        # What is compared with the table has as many runs as the table.
                        "replications": 1000 if published else plan.pick(100, 1000),
                        "seed": plan.seed,
                    },
                )
    made["length 1"] = Cell(
        stopping_times,
        {
            "rule": "round_robin",
            "options": {},
            "delta": DELTAS[0],
            "length": 1.0,
            "replications": plan.pick(30, 200),
            "seed": plan.seed,
        },
    )
    return made


def characteristic_time(length: float = LENGTH) -> float:
    """T*: no method stops before ``T*·kl(δ, 1-δ)`` rounds on average.

    ``2·min over shares of max over rivals of ‖a - x‖²/gap²`` in the norm of ``A(shares)⁻¹``: smooth in the
    logarithms of shares and maximum.
    """
    from scipy.optimize import minimize

    vectors = np.vstack([np.eye(DIM), np.zeros(DIM)])
    vectors[-1, :2] = math.cos(ANGLE), math.sin(ANGLE)
    gaps = length * (1.0 - vectors[1:, 0])
    rivals = (vectors[0] - vectors[1:]) / gaps[:, None]

    def log_squares(logits: Floats) -> Floats:
        shares = np.exp(logits) / np.exp(logits).sum()
        inverse = np.linalg.inv((vectors * shares[:, None]).T @ vectors)
        return np.asarray(np.log(np.einsum("ij,jk,ik->i", rivals, inverse, rivals)))

    start = np.zeros(len(vectors))
    found = minimize(
        lambda point: point[-1],
        np.append(start, log_squares(start).max()),
        constraints={"type": "ineq", "fun": lambda point: point[-1] - log_squares(point[:-1])},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return float(2.0 * np.exp(log_squares(found.x[:-1]).max()))


def tell(plan: Plan, outcomes: Mapping[str, Outcome]) -> Told:
    """The published table, ours beside it, and its two traps."""
    told = Told()
    told.say(
        """The paper has no figures of its own to compare with, so here is somebody else's table: mean
        stopping times on Soare's instance (d = 6, angle 0.1, σ = 1, stop when the likelihood ratio
        passes log((1 + log t)/δ)), Table 1 of Wang, Tzeng and Proutiere, NeurIPS 2021, 1000 runs. Two
        traps. The text says θ = e₁, but the numbers are those of θ = 2e₁. And the ridge, an identity,
        stays in V for ever, with every action measured once first; as our round robin does."""
    )
    time = characteristic_time()
    divergence = [(1 - 2 * delta) * math.log((1 - delta) / delta) for delta in DELTAS]
    rows: list[dict[str, Any]] = []
    for label, _rule, _options, _published in ROWS:
        if f"{label}/{DELTAS[0]:g}" in outcomes:
            means = [outcomes[f"{label}/{delta:g}"]["mean"] for delta in DELTAS]
            rows.append(_row(f"{label}, ours", outcomes[f"{label}/{DELTAS[0]:g}"]["runs"], means))
        else:
            rows.append(_row(f"{label}, ours: not available", None, [None] * len(DELTAS)))
    rows += [_row(f"{name}, published", 1000, list(numbers)) for name, numbers in PUBLISHED.items()]
    rows.append(_row("lower bound, exact", None, [time * one for one in divergence]))
    told.show(
        "external-table",
        f"Mean stopping times. The exact characteristic time is {time:.2f}; the printed bound is 8 % low.",
        pl.DataFrame(rows, infer_schema_length=None),
    )
    _draw(told, outcomes)
    _check(told, outcomes)
    small = outcomes["length 1"]
    told.say(
        f"""The first trap in numbers: with θ = e₁ round robin takes {small["mean"]:,.0f} rounds at δ = 0.1,
        not {PUBLISHED["round robin"][0]:,}, and the lower bound would be {
            characteristic_time(1.0) * divergence[0]:,.0f}."""
    )
    return told


def _row(label: str, runs: int | None, means: list[Any]) -> dict[str, Any]:
    numbers = {
        f"δ = {delta:g}": None if mean is None else float(mean)
        for delta, mean in zip(DELTAS, means, strict=True)
    }
    return {"rule": label, "runs": runs} | numbers


def _draw(told: Told, outcomes: Mapping[str, Outcome]) -> None:
    rows = []
    for label, _rule, _options, published in ROWS:
        for place, delta in enumerate(DELTAS):
            if f"{label}/{delta:g}" in outcomes:
                found = outcomes[f"{label}/{delta:g}"]
                claimed = float(PUBLISHED[published][place]) if published else None
                measured = interval(found["mean"], found["error"])
                rows.append({"label": f"{label}, δ = {delta:g}"} | measured._asdict() | {"claimed": claimed})
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


def _check(told: Told, outcomes: Mapping[str, Outcome]) -> None:
    for label, _rule, _options, published in ROWS:
        if published is None or f"{label}/{DELTAS[0]:g}" not in outcomes:
            continue
        means = [outcomes[f"{label}/{delta:g}"]["mean"] for delta in DELTAS]
        off = [mean / number - 1.0 for mean, number in zip(means, PUBLISHED[published], strict=True)]
        told.check(
            f"{label} is within {TOLERANCE:.0%} of the published numbers",
            max(map(abs, off)) <= TOLERANCE,
            ", ".join(
                f"{mean:,.0f} against {number:,} ({one:+.1%})"
                for mean, number, one in zip(means, PUBLISHED[published], off, strict=True)
            ),
        )
    wrong = [(found["wrong"], found["unfinished"]) for found in outcomes.values()]
    told.check(
        "every run stopped by itself",
        not any(unfinished for _, unfinished in wrong),
        f"{sum(unfinished for _, unfinished in wrong)} runs reached the end; "
        f"{sum(one for one, _ in wrong)} of all runs named a wrong action",
    )


EXTERNAL = Section(
    name="external",
    title="An external table: stopping times on Soare's instance",
    cells=cells,
    tell=tell,
    figures=("external-table",),
)
