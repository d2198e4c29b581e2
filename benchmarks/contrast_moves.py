"""Bounds on differences must not change where nothing changes that differences depend on.

Random networks of blocks and measured differences are told again with the options in another order, with
every block shifted, with one more reading that no other one shares a block with, and with blocks of two in
place of differences. What is reported is the largest change of the bound, as a part of it.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import noisewise as nw
from benchmarks.timing import Row

Rows = list[dict[str, Any]]
Rng = np.random.Generator
OPTIONS, NETWORKS, EPS = 6, 25, 0.3
CHANGE = 1e-9


def network(rng: Rng) -> Rows:
    """Blocks of three of six options, and a ring of differences."""
    values, rows = close(rng), []
    for block in range(8):
        offset = 3.0 * rng.normal()
        for option in rng.choice(OPTIONS, 3, replace=False):
            se = float(10.0 ** rng.uniform(-1.0, 0.3))
            value = float(values[option] + offset + se * rng.normal())
            rows.append({"option": f"o{option}", "value": value, "se": se, "block": f"b{block}"})
    return rows + pairs(rng, values)


def close(rng: Rng) -> np.ndarray:
    """Values so near to each other that no bound is 0."""
    return np.asarray(0.1 * rng.normal(size=OPTIONS))


def pairs(rng: Rng, values: np.ndarray) -> Rows:
    """Every option less the next one."""
    rows = []
    for one, other in itertools.pairwise([*range(OPTIONS), 0]):
        se = float(10.0 ** rng.uniform(-1.0, 0.3))
        value = float(values[one] - values[other] + se * rng.normal())
        rows.append({"plus": f"o{one}", "minus": f"o{other}", "value": value, "se": se})
    return rows


def bound(rows: Rows, order: list[int] | None = None) -> float:
    """Of a study that is told these."""
    order = list(range(OPTIONS)) if order is None else order
    study = nw.create_study(options=[f"o{k}" for k in order], eps=EPS)
    for row in rows:
        study.tell(**row)
    return float(study.certificate().bound)


def relabelled(rng: Rng) -> tuple[float, float]:
    """Options and measurements in another order."""
    rows = network(rng)
    mixed = [rows[k] for k in rng.permutation(len(rows))]
    return bound(rows), bound(mixed, rng.permutation(OPTIONS).tolist())


def shifted(rng: Rng) -> tuple[float, float]:
    """Every block has another offset."""
    rows, shifts = network(rng), 1000.0 * rng.normal(size=8)
    moved = [
        {**row, "value": row["value"] + shifts[int(row["block"][1:])]} if "block" in row else row
        for row in rows
    ]
    return bound(rows), bound(moved)


def anchored(rng: Rng) -> tuple[float, float]:
    """One precise reading that says nothing about differences."""
    rows = network(rng)
    anchor = {"option": f"o{rng.integers(OPTIONS)}", "value": 1e3 * rng.normal(), "se": 0.01}
    return bound(rows), bound([*rows, anchor])


def split(rng: Rng) -> tuple[float, float]:
    """A difference, and a block of its two options."""
    apart: Rows = []
    together: Rows = []
    true = close(rng)
    for one, other in itertools.combinations(range(OPTIONS), 2):
        se, other_se = (10.0 ** rng.uniform(-1.0, 0.3, 2)).tolist()
        values = true[[one, other]] + np.array([se, other_se]) * rng.normal(size=2)
        block = f"b{one}{other}"
        together.append({"option": f"o{one}", "value": float(values[0]), "se": se, "block": block})
        together.append({"option": f"o{other}", "value": float(values[1]), "se": other_se, "block": block})
        both = {"value": float(values[0] - values[1]), "se": float(np.hypot(se, other_se))}
        apart.append({"plus": f"o{one}", "minus": f"o{other}", **both})
    return bound(apart), bound(together)


MOVES: dict[str, Callable[[Rng], tuple[float, float]]] = {
    "options in another order": relabelled,
    "blocks shifted": shifted,
    "an anchor that says nothing": anchored,
    "differences told as blocks of two": split,
}


def moved(networks: int = NETWORKS) -> list[Row]:
    """The largest change of the bound by each of them."""
    rows = []
    for name, move in MOVES.items():
        both = np.array([move(np.random.default_rng([5000, seed])) for seed in range(networks)])
        change = float(np.max(np.abs(both[:, 1] - both[:, 0]) / both[:, 0]))
        rows.append(Row(f"{name}: change of the bound", change, "", CHANGE, False, f"of {networks} networks"))
    return rows
