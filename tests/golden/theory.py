"""Every public function of `noisewise.theory`, on several sequences of error bars."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.golden import _worlds as worlds
from tests.golden._worlds import facts

from noisewise import theory
from noisewise.simulation import schedules

NAME = "theory"

#: Options of each function of the sigmas beside those that it needs.
VARIED: dict[str, tuple[dict[str, Any], ...]] = {
    "information_budget": (
        {"dim": 3},
        {"dim": 5, "ridge": 0.2},
        {"dim": 5, "max_norm": 2.0},
        {"dim": 2, "as_printed": True},
    ),
    "water_level": ({"budget": 0.5}, {"budget": 4.0}, {"budget": 15.3}, {"budget": 1e9}),
    "harmonic_level": ({"budget": 0.5}, {"budget": 4.0}, {"budget": 15.3}, {"budget": 1e9}),
    "clipped_level": (
        {"dim": 2},
        {"dim": 5, "ridge": 0.1},
        {"dim": 3, "max_norm": 1.5},
        {"dim": 4, "log_det": 3.0},
    ),
    "floored_level": (
        {"budget": 2.5, "slope": 0.3},
        {"budget": 6.0, "slope": 2.0},
        {"budget": 6.0, "slope": 1.0, "cap": 0.8},
    ),
    "vaee_bound": (
        {"dim": 2},
        {"dim": 5},
        {"dim": 5, "radius": "self-normalised"},
        {"dim": 5, "radius": "paper"},
        {"dim": 5, "radius": 0.7},
        {"dim": 3, "recommendation": "candidate"},
        {"dim": 3, "recommendation": "last"},
        {"dim": 3, "form": "printed"},
        {"dim": 3, "form": "harmonic"},
        {"dim": 3, "ridge": 0.5, "norm_bound": 40.0, "max_norm": 1.2},
        {"dim": 3, "delta": 0.01},
        {"dim": 3, "log_det": 2.0},
        {"dim": 3, "oracle": 0.5, "norm_bound": 30.0},
        {"dim": 3, "as_printed": True, "norm_bound": 30.0},
        {"dim": 3, "as_printed": True, "norm_bound": 30.0, "form": "harmonic"},
    ),
    "vagd_bound": (
        {"dim": 2, "n_actions": 10},
        {"dim": 5, "n_actions": 1000},
        {"dim": 5, "n_actions": 50, "g_value": 5.5, "support_size": 12},
        {"dim": 5, "n_actions": 50, "ridge": 0.1, "norm_bound": 9.0, "max_norm": 2.0},
        {"dim": 5, "n_actions": 50, "delta": 0.001, "norm_bound": 9.0},
        {"dim": 5, "n_actions": 50, "as_printed": True, "norm_bound": 9.0},
    ),
    "lower_bound": ({"dim": 2}, {"dim": 7}, {"dim": 7, "norm_bound": 0.1}, {"dim": 7, "as_printed": True}),
    "robust_vaee_bound": (
        {"dim": 3, "norm_bound": 1e4},
        {"dim": 3, "norm_bound": 1e4, "floors": False},
        {"dim": 3, "norm_bound": 1e4, "sigma_min": 0.1, "ridge": 0.5, "max_norm": 1.3, "delta": 0.01},
        {"dim": 3, "norm_bound": 1e4, "tau": 6.0},
    ),
    "harmonic_gain": ({},),
    "cumulative_lower_bound": (
        {"source": "varcb", "dim": 3, "n_actions": 8},
        {"source": "varcb", "dim": 9, "n_actions": 4},
        {"source": "he-gu", "dim": 1},
        {"source": "he-gu", "dim": 5},
    ),
    "total_variance_bound": tuple(
        {"rule": rule, "dim": dim, "n_actions": 20, "noise_bound": 0.7, "lower_order": order}
        for rule in theory.TOTAL_VARIANCE_ROWS
        for dim, order in ((2, True), (6, True), (6, False))
    ),
}
#: Sequences of error bars: how they are made.
SEQUENCES: dict[str, dict[str, Any]] = {
    "thirty": {"seed": 1, "rounds": 30, "low": 0.1, "high": 2.0},
    "three": {"seed": 2, "rounds": 3, "low": 0.5, "high": 1.0},
    "a thousand over six decades": {"seed": 3, "rounds": 1000, "low": 1e-5, "high": 10.0},
    "two rows": {"seed": 4, "rounds": 40, "low": 0.02, "high": 3.0, "rows": 2},
}
#: What is refused, in Python's words.
REFUSED = (
    ("water_level", "[1.0, 0.0], 1.0"),
    ("water_level", "[1.0, nan], 1.0"),
    ("water_level", "[], 1.0"),
    ("water_level", "1.0, 1.0"),
    ("water_level", "'loud', 1.0"),
    ("water_level", "[1.0], 0.0"),
    ("information_budget", "[1.0], 0"),
    ("information_budget", "[1.0], 2, ridge=0.0"),
    ("vaee_bound", "[1.0], 2, radius='averaged'"),
    ("vaee_bound", "[1.0], 2, form='none'"),
    ("vaee_bound", "[1.0], 2, oracle=2.0"),
    ("vaee_bound", "[1.0], 2, delta=1.0"),
    ("vagd_bound", "[1.0], 2, 0"),
    ("robust_radius", "10, 2, sigma_min=0.1, tau=1e-9"),
    ("robust_radius", "0, 2, sigma_min=0.1"),
    ("total_variance_bound", "'oful', [1.0], 2"),
    ("total_variance_bound", "'varcb', [1.0], 2"),
    ("cumulative_lower_bound", "'varcb', [1.0], 2"),
    ("rounds_needed", "1e-9, 1.0, lambda sigma: theory.vaee_bound(sigma, dim=5), most=1000"),
)


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """All of them."""
    for function, options in VARIED.items():
        for sequence in SEQUENCES:
            for at, one in enumerate(options):
                yield (
                    f"{function} {at + 1} of {sequence}",
                    {"function": function, "options": one, "sigma": SEQUENCES[sequence]},
                )
    for dim in (1, 2, 3, 5, 10, 100):
        yield f"core_set_size {dim}", {"function": "core_set_size", "arguments": [dim]}
    for at, (rounds, dim, options) in enumerate(
        (
            (100, 3, {"sigma_min": 0.1}),
            (10_000, 8, {"sigma_min": 0.01, "delta": 0.01, "ridge": 0.3}),
            (100, 3, {"sigma_min": 0.1, "tau": 9.0, "norm_bound": 2.0, "max_norm": 0.5}),
        )
    ):
        yield (
            f"robust_radius {at + 1}",
            {"function": "robust_radius", "arguments": [rounds, dim], "options": options},
        )
    for at, (target, schedule) in enumerate(((0.5, 1.0), (0.1, 0.3), (0.2, "fast-decaying"), (1.5, 2.0))):
        yield (
            f"rounds_needed {at + 1}",
            {"function": "rounds_needed", "target": target, "schedule": schedule, "dim": 3},
        )
    yield "constants", {"function": "constants"}
    for at, (function, arguments) in enumerate(REFUSED):
        yield f"refused {at + 1}, {function}", {"function": function, "refused": arguments}


def play(case: dict[str, Any]) -> dict[str, Any]:
    """The value, or that it is refused."""
    function = case["function"]
    if function == "constants":
        return facts({"SHARPEST": theory.SHARPEST, "rows": sorted(theory.TOTAL_VARIANCE_ROWS)})
    called = getattr(theory, function)
    if "refused" in case:
        words = {"theory": theory, "called": called, "nan": np.nan}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                eval(f"called({case['refused']})", words)
        except (ValueError, TypeError):
            return {"refused": True}
        return {"refused": False}
    if function == "rounds_needed":
        schedule = case["schedule"]
        given = schedules.named(schedule) if isinstance(schedule, str) else schedule
        each = (lambda rounds: given(rounds, None)) if isinstance(schedule, str) else given
        return {
            "value": theory.rounds_needed(
                case["target"], each, lambda sigma: theory.vaee_bound(sigma, dim=case["dim"])
            )
        }
    if "arguments" in case:
        return facts({"value": called(*case["arguments"], **case.get("options", {}))})
    options = dict(case["options"])
    first = [options.pop(name) for name in ("rule", "source") if name in options]
    return facts({"value": called(*first, _sigma(case["sigma"]), **options)})


def _sigma(made: dict[str, Any]) -> Any:
    rows = [
        worlds.sigmas(made["seed"] + 100 * row, made["rounds"], made["low"], made["high"])
        for row in range(made.get("rows", 1))
    ]
    return np.array(rows) if "rows" in made else rows[0]
