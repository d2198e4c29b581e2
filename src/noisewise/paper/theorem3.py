"""Theorem 3: real rules on the lower-bound family, and the physical limit below them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from noisewise.charts.lines import lines_with_bands
from noisewise.paper.measurements.theorem3 import family
from noisewise.paper.parts import Cell, Outcome, Plan, Section, Told
from noisewise.paper.statistics import interval
from noisewise.theory import SHARPEST
from noisewise.theory.lower import family_regret

DIM, HORIZON = 5, 500
SCALES = (0.25, 0.5, SHARPEST, 1.0, 1.5, 2.5)
SIGMAS: dict[str, dict[str, Any]] = {"flat": {}, "log-uniform": {"low": 1e-2, "high": 1.0}}
BLIND = "OFUL, blind to sigma"
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "VAEE": ("vaee", {}),
    "VAGD": ("vagd", {}),
    "Weighted OFUL": ("weighted_oful", {"noise": "sub-gaussian"}),
    "Thompson": ("linear_thompson", {}),
    "round robin": ("round_robin", {}),
    BLIND: ("oful", {}),
}
#: Nothing is claimed about them: the quick report does without compiling them.
LEFT_OUT = ("Thompson", BLIND)
PRINTED = 3.0 / 16.0
#: Those that spread evenly whatever they see.
EVEN = ("VAEE", "VAGD")


def cells(plan: Plan) -> dict[str, Cell]:
    """The rules at every scale on both schedules."""
    return {
        f"{schedule}/{label}/{scale:g}": Cell(
            family,
            {
                "rule": rule,
                "options": options,
                "schedule": schedule,
                "schedule_options": schedule_options,
                "dim": DIM,
                "scale": scale,
                "horizon": HORIZON,
                "replications": plan.pick(200, 3000),
                "seed": plan.seed,
            },
        )
        for schedule, schedule_options in SIGMAS.items()
        for label, (rule, options) in RULES.items()
        if plan.full or label not in LEFT_OUT
        for scale in SCALES
    }


def tell(plan: Plan, outcomes: Mapping[str, Outcome]) -> Told:
    """The family over the scale, and who reaches the limit."""
    told = Told()
    told.say(
        """The hard family has actions {±1}^d/√d (as printed, {±1}^d, they would be longer than 1) and θ
        with d random signs of size c. At the paper's c = ¼·√(d/S) every method no worse than guessing
        scores between 0.2006 and 0.25 times d/√S, so that choice tells nobody apart. What tells is the
        worst case over c: with u = c·√(S/d), no method can be below 2u·Φ(-u)·d/√S, at most 0.3400·d/√S,
        whatever it measures, because every action has a² = 1/d in every coordinate. For ‖θ‖ ≤ 1 the
        printed bound needs S ≥ d²/16, "any T ≥ 1" is not enough, and choosing an action contributes
        nothing to the divergence (notes 12 and 26)."""
    )
    if not plan.full:
        told.say(f"The quick report leaves out {' and '.join(LEFT_OUT)}, of which nothing is claimed.")
    rows, beaten = [], 0
    spreading: list[Outcome] = []
    # Over all cells together a false alarm has probability 1e-6.
    from scipy.stats import norm

    reach = float(norm.isf(1e-6 / len(outcomes)))
    for schedule in SIGMAS:
        for label in RULES if plan.full else [label for label in RULES if label not in LEFT_OUT]:
            for scale in SCALES:
                found = outcomes[f"{schedule}/{label}/{scale:g}"]
                least = float(family_regret(scale))
                measured = interval(found["mean"], found["error"])
                beaten += found["mean"] + reach * found["error"] < least
                rows.append(
                    {"schedule": schedule, "policy": label, "scale u": scale}
                    | measured._asdict()
                    | {"physical limit": least, "ratio": measured.mean / least}
                )
                if scale == SHARPEST and label in EVEN:
                    spreading.append(found)
    frame = pl.DataFrame(rows)
    told.show(
        "theorem3-family",
        f"Regret in units of d/√S, d = {DIM}, T = {HORIZON}, with 95 % intervals.",
        frame.rename({"policy": "rule", "mean": "regret"}),
    )
    smooth = np.linspace(SCALES[0], SCALES[-1], 60)
    for schedule in SIGMAS:
        told.draw(
            f"theorem3-{schedule}",
            f"""The family over its scale, {schedule} sigmas. Grey: the physical limit, and the printed
            3/16."""
            + (" The rule that is blind to sigma stands in the table." if plan.full else ""),
            lines_with_bands(
                frame.filter((pl.col("schedule") == schedule) & (pl.col("policy") != BLIND)),
                x="scale u",
                x_title="Scale u = c·√(S/d)",
                y_title="Regret·√S/d",
                title=f"The lower-bound family, {schedule} sigmas",
                subtitle="Mean regret with 95 % bands. Nobody can be below the physical limit.",
                log_x=False,
                log_y=False,
                reference=[
                    (smooth, np.asarray(family_regret(smooth)), "physical limit 2u·Φ(-u)"),
                    (smooth[[0, -1]], [PRINTED, PRINTED], "printed: 3/16"),
                ],
            ),
        )
    told.check(
        "no rule beats the physical limit",
        beaten == 0,
        f"{beaten} of {len(outcomes)} cells significantly below it (false alarm 1e-6 in all)",
    )
    limit = float(family_regret(SHARPEST))
    # On common random numbers: the errors do not average out.
    even = interval(
        float(np.mean([found["mean"] for found in spreading])) / limit,
        max(found["error"] for found in spreading) / limit,
    )
    told.check(
        "even spreading attains it",
        even.low <= 1.05,
        f"VAEE and VAGD together have {even.mean:.3f} times the limit at the worst scale, 95 % interval "
        f"{even.low:.3f} to {even.high:.3f}",
    )
    return told


THEOREM_3 = Section(
    name="theorem3",
    title="Theorem 3: the lower bound",
    cells=cells,
    tell=tell,
    figures=("theorem3-flat", "theorem3-log-uniform"),
)
