"""Measurements that a policy needs until its bound is eps: restarted and averaged radii over the default one.

The same worlds and noise for all, vage with its bound looked at after every measurement; theta of length 1.
"""

import os
from typing import NamedTuple

import numpy as np

import noisewise as nw
from benchmarks.timing import Row

RUNS = int(os.environ.get("NOISEWISE_RESTART_RUNS", "40"))
SEED = int(os.environ.get("NOISEWISE_RESTART_SEED", "2026"))
DIMS = [int(dim) for dim in os.environ.get("NOISEWISE_RESTART_DIMS", "3,6,20").split(",")]
SIGMA, DELTA = 0.5, 0.05
#: What is opposed to ``radius="mixture", ridge=1``.
RIVALS = (
    ("averaged", 1.0),
    ("restarted", 1.0),
    ("mixture", "dim"),
    ("averaged", "dim"),
    ("restarted", "dim"),
)


class Cell(NamedTuple):
    """A world, and what is to be certified."""

    dim: int
    n_actions: int
    norm_bound: float
    eps: float
    horizon: int


CELLS = (
    Cell(3, 40, 1.0, 0.4, 5_000),
    Cell(3, 40, 1.0, 0.1, 20_000),
    Cell(3, 40, 3.0, 0.1, 20_000),
    Cell(6, 40, 1.0, 0.4, 10_000),
    Cell(6, 40, 1.0, 0.1, 40_000),
    Cell(6, 40, 3.0, 0.1, 40_000),
    Cell(20, 60, 1.0, 0.4, 20_000),
    Cell(20, 60, 3.0, 0.4, 20_000),
)


def stopped(cell: Cell, radius: str, ridge: float | str, on: str | None) -> nw.simulation.Simulation:
    """All runs of one radius."""
    instance = nw.instances.sphere(cell.n_actions, cell.dim)
    env = instance.environment(np.full(cell.horizon, SIGMA))
    policy = nw.vage(instance.actions, radius=radius, ridge=ridge, norm_bound=cell.norm_bound, delta=DELTA)
    return nw.simulate(
        policy,
        env,
        horizon=cell.horizon,
        replications=RUNS,
        seed=SEED,
        stop="gap",
        eps=cell.eps,
        on=on,
        checkpoints=[cell.horizon],
    )


def rows(on: str | None = None) -> list[Row]:
    """The geometric mean of the ratios in every cell; at most what the default needs is asked for."""
    found = []
    for cell in (cell for cell in CELLS if cell.dim in DIMS):
        usual = stopped(cell, "mixture", 1.0, on)
        for radius, ridge in RIVALS:
            sim = stopped(cell, radius, ridge, on)
            logs = np.log(sim.stopped / usual.stopped)
            error = logs.std() / np.sqrt(RUNS)
            wrong = int((sim.simple_regret[:, -1] > cell.eps).sum())
            detail = (
                f"± {error:.3f}; median {np.median(usual.stopped):.0f} by default; {RUNS} runs, "
                f"{int((~sim.fired).sum())} not certified, {wrong} wrong"
            )
            name = (
                f"dim {cell.dim}, norm_bound {cell.norm_bound:g}, eps {cell.eps:g}: {radius}, ridge {ridge}"
            )
            found.append(Row(name, float(np.exp(logs.mean())), "x", 1.0, False, detail))
    return found
