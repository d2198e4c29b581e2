"""Finished tables that are looked at once: how they are made, and how often a difference lies outside."""

from typing import Any

import numpy as np
import polars as pl

import noisewise as nw
from noisewise.study.log.events import Event
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.telling.rows import read_told

NAMES = ["A", "B", "C", "D", "E"]
FEATURES = np.random.default_rng(5).normal(size=(5, 2))


def table() -> pl.DataFrame:
    """Five options with two features."""
    return pl.DataFrame({"id": NAMES, "x": FEATURES[:, 0], "y": FEATURES[:, 1]})


def once(rows: list[dict[str, Any]], **question: Any) -> Any:
    """A study that was told these measurements and is looked at once."""
    asked = {
        "options": table(),
        "features": ["x", "y"],
        "model": "independent",
        "eps": 0.5,
        "final": True,
    } | question
    study = nw.create_study(**asked)
    for row in rows:
        study.tell(**row)
    return study


def analysis_of(study: Any) -> Analysis:
    """What its bounds are made from."""
    study.certificate()
    found: Analysis = study.analysis()
    return found


def widths(study: Any) -> Any:
    """The half-width of "row minus column", (n, n)."""
    boundary = analysis_of(study).boundary
    return np.column_stack([boundary.half_widths(option) for option in range(len(study.options))])


def known(values: Any, rng: np.random.Generator, errors: Any = (0.5, 1.0, 2.0), times: int = 3) -> list[Any]:
    """Known error bars."""
    rows = []
    for at in range(times * len(values)):
        k, se = at % len(values), float(errors[at % len(errors)])
        rows.append({"option": NAMES[k], "value": float(values[k] + se * rng.standard_normal()), "se": se})
    return rows


def in_blocks(values: Any, rng: np.random.Generator, size: int = 3, times: int = 4) -> list[Any]:
    """Known error bars in blocks, whose offsets are large."""
    order = np.concatenate([np.random.default_rng(k).permutation(len(values)) for k in range(times)])
    rows, offset = [], 0.0
    for at, k in enumerate(order):
        offset = 20.0 * rng.standard_normal() if at % size == 0 else offset
        se = 0.5 + at % 3
        value = float(values[k] + offset + se * rng.standard_normal())
        rows.append({"option": NAMES[k], "value": value, "se": se, "block": f"b{at // size}"})
    return rows


def differences(values: Any, rng: np.random.Generator) -> list[Any]:
    """Differences of neighbours, and some of others."""
    rows = []
    for at in range(3 * len(values)):
        plus, minus = at % len(values), (at + 1 + at // 5) % len(values)
        value = float(values[plus] - values[minus] + rng.standard_normal())
        rows.append({"plus": NAMES[plus], "minus": NAMES[minus], "value": value, "se": 1.0})
    return rows


def readings(values: Any, rng: np.random.Generator, scatters: Any = (1.0,)) -> list[Any]:
    """Repeated readings by one instrument or several."""
    return [
        {
            "option": NAMES[k],
            "values": (value + scatter * rng.standard_normal(3 + k)).tolist(),
            "instrument": f"i{tool}",
        }
        for tool, scatter in enumerate(scatters)
        for k, value in enumerate(values)
    ]


def bare(values: Any, rng: np.random.Generator, times: int = 4) -> list[Any]:
    """Values without error bars."""
    order = list(range(len(values))) * times
    return [{"option": NAMES[k], "value": float(values[k] + rng.standard_normal())} for k in order]


def shares(values: Any, rng: np.random.Generator, trials: int = 80) -> list[Any]:
    """Successes out of trials."""
    return [
        {"option": NAMES[k], "successes": int(rng.binomial(trials, value)), "trials": trials}
        for k, value in enumerate(values)
    ]


def outside(analysis: Analysis, values: Any) -> bool:
    """Whether some difference to the best option lies outside of its half-width."""
    best = int(np.argmax(values))
    estimated = -analysis.certified.differences(best)
    return bool((values[best] - values > estimated + analysis.boundary.lead_widths(best) + 1e-12).any())


class Tables:
    """Many tables of one study, without a store."""

    def __init__(self, **question: Any) -> None:
        self._specification = once([], **question).specification

    def analysis(self, rows: list[dict[str, Any]]) -> Analysis:
        """What is known of these measurements."""
        state = State(self._specification)
        bodies = [read_told(state, row, now=0.0) for row in rows]
        state.apply_all([Event(at, 0.0, "tell", body) for at, body in enumerate(bodies, 1)])
        return Analysis(state)
