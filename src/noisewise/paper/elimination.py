"""A second published table: stopping times on an instance of fifty actions in twenty features."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from noisewise.paper.measurements.external import (
    characteristic_time,
    stopping_times,
    stopping_times_on_published_draws,
)
from noisewise.paper.section import Account, Effort, Outcome, Piece
from noisewise.paper.statistics import interval

#: Of the figures of both published tables.
CAPTION = "Our stopping times with 95 % intervals; ticks: the published mean of the same rule."
DELTA, RUNS = 0.01, 100
PROBLEM = "tirinzoni-degenne"
#: Runs of the published experiments end by force at a million rounds.
LONGEST = 400_000
#: Their runs have the seeds from this one on; each of our runs on their draws is given DRAWS numbers.
FIRST_SEED, DRAWS = 124, 120_000
#: Tirinzoni and Degenne, NeurIPS 2022, Table 1, thousands of samples: the mean without elimination, its
#: standard deviation over 100 runs, the mean with elimination when stopping, and when stopping and sampling.
PUBLISHED: dict[str, tuple[float, float, float | None, float | None]] = {
    "LinGapE": (33.19, 8.7, 33.11, 29.89),
    "LinGame": (45.34, 14.2, 43.67, 32.49),
    "FWS": (42.26, 60.1, 42.25, 32.62),
    "Lazy TaS": (76.33, 65.8, 74.08, 64.48),
    "oracle": (56.36, 9.1, 55.36, None),
    "XY-Adaptive": (87.08, 29.1, None, None),
    "RAGE": (106.87, 30.7, None, None),
}

#: Why a row may need fewer rounds than the published one; all others must agree on both sides.
BETTER = {
    "FWS": "their standard deviation, larger than their mean, tells of a few runs that took very long, and "
    "none of ours did",
}


class EliminationRow(NamedTuple):
    """One of our rows; the rules' labels are those of the published rows."""

    label: str
    rule: str
    options: dict[str, Any]
    stop: str
    quick: int = 0  # runs of the quick report, which has few rules to compile
    full: int = RUNS  # more where they are cheap: our own error should not decide
    their_draws: bool = False  # on the noise of the published runs


ROWS = (
    EliminationRow("LinGapE", "lingape", {"radius": "logarithmic"}, "glr-log", their_draws=True),
    EliminationRow("LinGapE, fresh draws", "lingape", {"radius": "logarithmic"}, "glr-log", full=4 * RUNS),
    EliminationRow("LinGame", "lingame", {"learners": "single", "optimistic": False}, "glr-log"),
    EliminationRow("FWS", "frank_wolfe_sampling", {}, "glr-log", quick=8),
    # Its own stopping rule; half of delta is for the phases. Theirs judges by all measurements.
    EliminationRow("RAGE", "rage", {"delta": 2 * DELTA, "judge_by": "all"}, "gap"),
    EliminationRow("RAGE, by phases", "rage", {"delta": 2 * DELTA}, "gap"),
    EliminationRow("VAGE", "vage", {"norm_bound": 4.0}, "glr-log"),
)


def pieces(effort: Effort) -> dict[str, Piece]:
    """Every rule of the table that we have, on the published instance."""
    return {
        f"elimination/{row.label}": _piece(effort, row) for row in ROWS if effort.pick(row.quick, row.full)
    }


def _piece(effort: Effort, row: EliminationRow) -> Piece:
    options = {
        "problem": PROBLEM,
        "rule": row.rule,
        "options": {"delta": DELTA} | row.options,
        "stop": row.stop,
    }
    if row.their_draws:
        replayed = effort._replace(seed=FIRST_SEED).runs(DRAWS, row.quick, row.full)
        return Piece(stopping_times_on_published_draws, options | {"runs": replayed})
    runs = effort.runs(LONGEST, row.quick, row.full)
    return Piece(stopping_times, options | {"problem_options": {}, "runs": runs})


def describe(effort: Effort, account: Account, outcomes: Mapping[str, Outcome]) -> None:
    """The published table, ours beside it."""
    time = characteristic_time(PROBLEM, {})
    account.say(
        f"""Second, Table 1 of Tirinzoni and Degenne, NeurIPS 2022: 50 actions in 20 features, δ = 0.01, 100
        runs, stop when the likelihood ratio passes log((1 + t)/δ), but RAGE by its own rule, when one action
        is left. The instance is random, and ours is the very one of their experiments, drawn from the same
        generator and seed; its characteristic time is {time:,.0f}. That of other draws differs by less than
        1 %, but rules may differ more: LinGame takes 47.9 ± 1.3 thousand rounds, in 100 runs, on the draw
        `tirinzoni_degenne(shape=0)`. Rules are run as they ran them: LinGapE with the radius
        √(2·(log 1/δ + 2·log(1 + t))), LinGame with a single learner and without optimism, RAGE judging by all
        measurements so far, and beside it as its paper has it, by those of each phase alone. Selective
        elimination is not among our rules."""
    )
    rows: list[dict[str, Any]] = []
    for row in ROWS:
        found = outcomes.get(f"elimination/{row.label}")
        if found is not None:
            numbers = found["mean"] / 1000, found["spread"] / 1000
            name = f"{row.label}, ours" + (", their draws" if row.their_draws else "")
            rows.append(_numbers(name, found["runs"], *numbers, None, None))
    rows += [_numbers(f"{name}, published", RUNS, *numbers) for name, numbers in PUBLISHED.items()]
    account.show(
        "external-elimination",
        "Thousands of rounds until the rule stops: mean, standard deviation over runs, and the mean with "
        "elimination.",
        pl.DataFrame(rows, infer_schema_length=None),
    )
    _draw(account, outcomes)
    if "elimination/LinGapE, fresh draws" in outcomes:
        ours = outcomes["elimination/LinGapE, fresh draws"]["mean"] / 1000
        mean, spread = PUBLISHED["LinGapE"][:2]
        off = (ours - mean) / (spread / math.sqrt(RUNS))
        account.say(
            f"""LinGapE was run on the very noise of their hundred runs, from the seeds that they state: what
            differs is how ties are broken, and rounding. On fresh draws it is {off:+.1f} of their standard
            errors away from the published mean, which is chance: the draws are all that changed."""
        )
    for row in ROWS:
        if row.label in PUBLISHED and f"elimination/{row.label}" in outcomes:
            _check(account, effort, row.label, outcomes[f"elimination/{row.label}"])


def _numbers(
    label: str, runs: int, mean: float, spread: float, stopping: float | None, sampling: float | None
) -> dict[str, Any]:
    return {
        "rule": label,
        "runs": runs,
        "mean": mean,
        "standard deviation": spread,
        "elimination when stopping": stopping,
        "and when sampling": sampling,
    }


def _draw(account: Account, outcomes: Mapping[str, Outcome]) -> None:
    rows = []
    for row in ROWS:
        found = outcomes.get(f"elimination/{row.label}")
        if found is not None:
            published = PUBLISHED.get(row.label)
            measured = interval(found["mean"] / 1000, found["error"] / 1000)
            claimed = {"claimed": published[0] if published else None}
            rows.append({"label": row.label} | measured._asdict() | claimed)
    title = "Stopping times among fifty actions in twenty features"
    x_title = "Thousands of rounds until the rule stops"
    account.draw_claims("external-elimination", CAPTION, rows, title, x_title, claimed="published")


def _check(account: Account, effort: Effort, label: str, found: Outcome) -> None:
    mean, spread = PUBLISHED[label][:2]
    ours, error, theirs = found["mean"] / 1000, found["error"] / 1000, spread / math.sqrt(RUNS)
    if effort.full:
        doubt, promise = theirs, "within two of their standard errors of the published mean"
    else:
        # Few runs: our own error is the larger one.
        doubt, promise = math.hypot(theirs, error), "within two standard errors of the difference"
    off = (ours - mean) / doubt
    why = f"; better: {BETTER[label]}" if off < -2.0 and label in BETTER else ""
    account.check(
        f"{label} is {promise}" + (", or better" if label in BETTER else ""),
        off <= 2.0 if label in BETTER else abs(off) <= 2.0,
        f"{ours:,.1f} ± {error:,.1f} thousand against {mean:,.1f} ± {theirs:,.1f} ({off:+.1f} of them){why}",
    )
