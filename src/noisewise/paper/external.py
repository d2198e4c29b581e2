"""Published tables of stopping times, theirs beside ours: Soare's instance, and one with many rivals."""

import math
from typing import Any, NamedTuple

from noisewise.paper.measurements import characteristic_time, stopping_times
from noisewise.paper.section import (
    Account,
    Effort,
    Outcome,
    Outcomes,
    Piece,
    Section,
    interval,
    piece,
)

#: Of the figures of both published tables.
CAPTION = "Our stopping times with 95 % intervals; ticks: the published mean of the same rule."

DELTAS = (0.1, 0.01, 0.001, 0.0001)
SOARE = {"dim": 6, "angle": 0.1, "length": 2.0}
#: No rule needs as many rounds.
SOARE_LONGEST = 120_000
#: Wang, Tzeng and Proutiere, NeurIPS 2021, Table 1: mean stopping times over 1000 runs.
PUBLISHED_SOARE = {
    "FWS": (1030, 1614, 2229, 2839),
    "LT&S": (7651, 8290, 8952, 9575),
    "LT&S, heuristic": (3319, 3907, 4527, 5120),
    "LinGame-C": (2498, 3501, 4324, 5118),
    "LinGame": (2319, 3431, 4326, 5120),
    "XY-Adaptive": (7016, 7779, 9090, 9723),
    "round robin": (5451, 8814, 12101, 15314),
    "lower bound, as printed": (359, 920, 1408, 1881),
}


class SoareRow(NamedTuple):
    """One of our rows: the rule, what it is compared with, and how closely."""

    label: str
    rule: str
    most: tuple[int, ...] | None = None  # rounds that it may need; a published row, or a target
    tolerance: float = 0.0  # above it
    both_sides: bool = False  # whether being better by more than the tolerance fails as well
    quick: int = 0  # runs of the quick report; 0: none
    full: int = 1000


SOARE_ROWS = (
    SoareRow("round robin", "round_robin", PUBLISHED_SOARE["round robin"], 0.03, both_sides=True, quick=100),
    SoareRow("FWS", "frank_wolfe_sampling", PUBLISHED_SOARE["FWS"], 0.15, quick=100),
    SoareRow("LinGame", "lingame", PUBLISHED_SOARE["LinGame"], 0.15),
    SoareRow("VAGE", "vage", (1000, 1600, 2200, 2800)),
    SoareRow("LinGapE, weighted", "weighted_lingape"),
    SoareRow("RAGE", "rage", full=100),
    SoareRow("VAEE", "vaee", full=100),
    SoareRow("VAGD", "vagd", full=100),
)


RIVALS_DELTA, RUNS = 0.01, 100
RIVALS = "tirinzoni-degenne"
#: Runs of the published experiments end by force at a million rounds.
RIVALS_LONGEST = 400_000
#: Tirinzoni and Degenne, NeurIPS 2022, Table 1, thousands of samples: the mean without elimination, its
#: standard deviation over 100 runs, the mean with elimination when stopping, and when stopping and sampling.
PUBLISHED_RIVALS: dict[str, tuple[float, float, float | None, float | None]] = {
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


class RivalsRow(NamedTuple):
    """One of our rows; the rules' labels are those of the published rows."""

    label: str
    rule: str
    options: dict[str, Any]
    stop: str
    quick: int = 0  # runs of the quick report; 0: none
    full: int = RUNS  # more where they are cheap: our own error should not decide


RIVALS_ROWS = (
    RivalsRow("LinGapE", "lingape", {"radius": "logarithmic"}, "glr-log", full=4 * RUNS),
    RivalsRow("LinGame", "lingame", {"learners": "single", "optimistic": False}, "glr-log"),
    RivalsRow("FWS", "frank_wolfe_sampling", {}, "glr-log", quick=8),
    # Its own stopping rule; half of delta is for the phases. Theirs judges by all measurements.
    RivalsRow("RAGE", "rage", {"delta": 2 * RIVALS_DELTA, "judge_by": "all"}, "gap"),
    RivalsRow("RAGE, by phases", "rage", {"delta": 2 * RIVALS_DELTA}, "gap"),
    RivalsRow("VAGE", "vage", {}, "glr-log"),
)


def pieces(effort: Effort) -> dict[str, Piece]:
    """Our rules at every confidence, round robin also as the text has it; and rules among many rivals."""
    made = {}
    for row in SOARE_ROWS:
        for delta in DELTAS if effort.pick(row.quick, row.full) else ():
            runs = effort.runs(SOARE_LONGEST, row.quick, row.full)
            made[f"{row.label}/{delta:g}"] = _on_soare(row.rule, delta, SOARE, runs)
    shorter = SOARE | {"length": 1.0}
    made["length 1"] = _on_soare("round_robin", DELTAS[0], shorter, effort.runs(SOARE_LONGEST, 30, 200))
    for one in RIVALS_ROWS:
        if effort.pick(one.quick, one.full):
            made[f"elimination/{one.label}"] = _among_rivals(effort, one)
    return made


def _on_soare(rule: str, delta: float, problem: dict[str, float], runs: Any) -> Piece:
    own = {"delta": delta, "norm_bound": problem["length"]}
    world = {"problem": "soare", "problem_options": problem}
    return piece(stopping_times, rule=rule, options=own, stop="glr-log-log", runs=runs, **world)


def _among_rivals(effort: Effort, row: RivalsRow) -> Piece:
    options = {"delta": RIVALS_DELTA, "norm_bound": 4.0} | row.options  # theta is 3.3 long
    how: dict[str, Any] = {"rule": row.rule, "options": options, "stop": row.stop}
    runs = effort.runs(RIVALS_LONGEST, row.quick, row.full)
    return piece(stopping_times, problem=RIVALS, problem_options={}, runs=runs, **how)


def describe(effort: Effort, outcomes: Outcomes) -> Account:
    """Both published tables, ours beside them, and the traps of the first."""
    account = Account()
    describe_soare(effort, account, outcomes)
    describe_rivals(effort, account, outcomes)
    unfinished = sum(found["unfinished"] for found in outcomes.values())
    wrong = sum(found["wrong"] for found in outcomes.values())
    seen = f"{unfinished} runs reached the end; {wrong} of all runs named a wrong action"
    account.check("every run stopped by itself", not unfinished, seen)
    return account


def describe_soare(effort: Effort, account: Account, outcomes: Outcomes) -> None:
    """The first published table, ours beside it."""
    account.say(
        """The paper has no figures of its own to compare with, so here are tables of other papers. First,
        mean stopping times on Soare's instance (d = 6, angle 0.1, σ = 1, stop when the likelihood ratio
        passes log((1 + log t)/δ)), Table 1 of Wang, Tzeng and Proutiere, NeurIPS 2021, 1000 runs. Three
        traps. The text says θ = e₁, but the numbers are those of θ = 2e₁. The ridge, an identity,
        stays in V for ever, with every action measured once first; as our round robin does. And the
        published code of FWS starts from a matrix where it needs its inverse, and updates it by z/t where
        √(z/t) is meant; ours solves for it in every round, and stops earlier."""
    )
    time = characteristic_time("soare", SOARE)
    divergence = [(1 - 2 * delta) * math.log((1 - delta) / delta) for delta in DELTAS]
    rows: list[dict[str, Any]] = []
    for row in SOARE_ROWS:
        found = [outcomes[name] for delta in DELTAS if (name := f"{row.label}/{delta:g}") in outcomes]
        if found:
            rows.append(_means(f"{row.label}, ours", found[0]["runs"], [one["mean"] for one in found]))
            rows.append(_means("± standard error", None, [one["error"] for one in found]))
    rows += [_means(f"{name}, published", 1000, list(numbers)) for name, numbers in PUBLISHED_SOARE.items()]
    rows.append(_means("lower bound, exact", None, [time * one for one in divergence]))
    account.show(
        "external-table",
        f"Mean stopping times. The exact characteristic time is {time:.2f}; the printed bound is 8 % low.",
        rows,
    )
    _draw_soare(account, outcomes)
    for row in SOARE_ROWS:
        if row.most is not None and f"{row.label}/{DELTAS[0]:g}" in outcomes:
            found = [outcomes[f"{row.label}/{delta:g}"] for delta in DELTAS]
            _check_soare(account, effort, row, row.most, found)
    left_out = [row.label for row in SOARE_ROWS if f"{row.label}/{DELTAS[0]:g}" not in outcomes]
    if left_out:
        account.say(f"The full report also has rows for {', '.join(left_out[:-1])} and {left_out[-1]}.")
    small, shorter = outcomes["length 1"], characteristic_time("soare", SOARE | {"length": 1.0})
    published = PUBLISHED_SOARE["round robin"][0]
    account.say(
        f"""The first trap in numbers: with θ = e₁ round robin takes {small["mean"]:,.0f} rounds at δ = 0.1,
        not {published:,}, and the lower bound would be {shorter * divergence[0]:,.0f}."""
    )


def _means(label: str, runs: int | None, means: list[Any]) -> dict[str, Any]:
    columns = (f"δ = {delta:g}" for delta in DELTAS)
    numbers = (None if mean is None else float(mean) for mean in means)
    return {"rule": label, "runs": runs, **dict(zip(columns, numbers, strict=True))}


def _draw_soare(account: Account, outcomes: Outcomes) -> None:
    rows = []
    for row in SOARE_ROWS:
        published = PUBLISHED_SOARE.get(row.label, (None,) * len(DELTAS))
        for delta, claimed in zip(DELTAS, published, strict=True):
            if f"{row.label}/{delta:g}" in outcomes:
                found = outcomes[f"{row.label}/{delta:g}"]
                numbers = interval(found["mean"], found["error"])._asdict()
                rows.append({"label": f"{row.label}, δ = {delta:g}", **numbers, "claimed": claimed})
    title, x_title = "Stopping times on Soare's instance", "Rounds until the rule stops"
    account.draw_claims("external-table", CAPTION, rows, title, x_title, claimed="published", log=True)


def _check_soare(
    account: Account, effort: Effort, row: SoareRow, wanted: tuple[int, ...], found: list[Outcome]
) -> None:
    off = [one["mean"] / most - 1.0 for one, most in zip(found, wanted, strict=True)]
    # Two standard errors of ours are no evidence that it is off; what must agree has runs enough in full.
    errors = 0.0 if row.both_sides and effort.full else 2.0
    doubt = [errors * one["error"] / most for one, most in zip(found, wanted, strict=True)]
    sizes = [abs(one) for one in off] if row.both_sides else off
    if row.label in PUBLISHED_SOARE:
        how = "within {:.0%} of" if row.both_sides else "at most {:.0%} above"
        promise = f"{row.label} is {how.format(row.tolerance)} the published numbers"
    else:
        promise = f"{row.label} needs at most {', '.join(f'{most:,}' for most in wanted)} rounds"
    account.check(
        promise + (", up to two of our standard errors" if errors > 0.0 else ""),
        all(size - two <= row.tolerance for size, two in zip(sizes, doubt, strict=True)),
        ", ".join(
            f"{one['mean']:,.0f} ± {one['error']:,.0f} against {most:,} ({share:+.1%})"
            for one, most, share in zip(found, wanted, off, strict=True)
        ),
    )


def describe_rivals(effort: Effort, account: Account, outcomes: Outcomes) -> None:
    """The second published table, ours beside it."""
    time = characteristic_time(RIVALS, {})
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
    for row in RIVALS_ROWS:
        found = outcomes.get(f"elimination/{row.label}")
        if found is not None:
            numbers = found["mean"] / 1000, found["spread"] / 1000
            rows.append(_row(f"{row.label}, ours", found["runs"], *numbers, None, None))
    rows += [_row(f"{name}, published", RUNS, *numbers) for name, numbers in PUBLISHED_RIVALS.items()]
    account.show(
        "external-elimination",
        "Thousands of rounds until the rule stops: mean, standard deviation over runs, and the mean with "
        "elimination.",
        rows,
    )
    drawn = []
    for row in RIVALS_ROWS:
        if (found := outcomes.get(f"elimination/{row.label}")) is not None:
            measured = interval(found["mean"] / 1000, found["error"] / 1000)._asdict()
            published = PUBLISHED_RIVALS.get(row.label, (None,))[0]
            drawn.append({"label": row.label, **measured, "claimed": published})
    title = "Stopping times among fifty actions in twenty features"
    x_title = "Thousands of rounds until the rule stops"
    account.draw_claims("external-elimination", CAPTION, drawn, title, x_title, claimed="published")
    for row in RIVALS_ROWS:
        if row.label in PUBLISHED_RIVALS and f"elimination/{row.label}" in outcomes:
            _check_rivals(account, effort, row.label, outcomes[f"elimination/{row.label}"])


def _row(label: str, runs: int, *numbers: float | None) -> dict[str, Any]:
    columns = ("mean", "standard deviation", "elimination when stopping", "and when sampling")
    return {"rule": label, "runs": runs, **dict(zip(columns, numbers, strict=True))}


def _check_rivals(account: Account, effort: Effort, label: str, found: Outcome) -> None:
    mean, spread = PUBLISHED_RIVALS[label][:2]
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


EXTERNAL = Section(
    "external",
    "External tables: stopping times on Soare's instance, and among many rivals",
    pieces,
    describe,
    figures=("external-table", "external-elimination"),
)
