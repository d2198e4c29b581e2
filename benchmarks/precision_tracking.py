"""Precision tracking: the precision it needs to certify eps, over that of vaee, in the cells of the arena."""

import math
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy.stats import binom

import noisewise as nw
from benchmarks.timing import Row
from noisewise.simulation.arena import CELLS, CERTIFIED_AT

#: 2000 runs per cell at the first target take 80 minutes on two cores.
RUNS = int(os.environ.get("NOISEWISE_TRACKING_RUNS", "20"))
HORIZON = 400
DELTA = 0.05
#: What is certified, in units of dim/√S: what the arena asks for, and half of it.
TARGETS = [
    float(target) for target in os.environ.get("NOISEWISE_TRACKING_TARGETS", f"{CERTIFIED_AT},4").split(",")
]


def in_cell(cell, target: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Precision until certified by both rules, whether both were, and the misses of ours, (RUNS,) each.

    A run that is not certified within the horizon counts with all its precision.
    """
    env = cell.environment(HORIZON)
    totals = [(env.sigmas(HORIZON, 0, r) ** -2.0).sum() for r in range(RUNS)]
    eps = float(target * env.actions.dim / math.sqrt(np.median(totals)))
    policies = (
        nw.rules.precision_tracking(env.actions, eps=eps, delta=DELTA),
        nw.vaee(env.actions, delta=DELTA),
    )
    ours, theirs = (
        nw.simulate(
            policy,
            env,
            horizon=HORIZON,
            replications=RUNS,
            on=1,
            stop="gap",
            eps=eps,
            checkpoints=range(1, HORIZON + 1),
        )
        for policy in policies
    )
    certified = np.array([ours.fired.mean(), theirs.fired.mean()])
    misses = int((~ours.covered).sum())
    return ours.total_precision[:, -1], theirs.total_precision[:, -1], certified, misses


def over_vaee(target: float) -> list[Row]:
    """The geometric mean over the grid without the hypercube, and the cell with most misses."""
    ratios, misses, late = {}, {}, [0.0, 0.0]
    cells = [cell for cell in CELLS["grid"] if cell.instance != "hypercube"]
    # Nothing is timed here: cells may run side by side.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.map(in_cell, cells, [target] * len(cells))
        for cell, (ours, theirs, certified, missed) in zip(cells, found, strict=True):
            misses[cell.name] = missed
            ratios[cell.name] = float(np.exp(np.log(ours / theirs).mean()))
            late = [have + 1.0 - share for have, share in zip(late, certified, strict=True)]
    figure = _geometric(list(ratios.values()))
    best, worst = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    detail = (
        f"{RUNS} runs, {len(ratios)} cells, {ratios[best]:.2f} in {best} to {ratios[worst]:.2f} in {worst}; "
        f"not certified: {late[0] / len(ratios):.1%}, vaee {late[1] / len(ratios):.1%}"
    )
    most = max(misses, key=misses.__getitem__)
    return [
        Row(f"precision over vaee's, eps = {target:g}·dim/√S", figure, "x", 0.5, False, detail),
        Row(
            f"misses, worst cell, eps = {target:g}·dim/√S",
            misses[most],
            "",
            int(binom.isf(1e-6, RUNS, DELTA)),
            False,
            f"of {RUNS} runs looked at after every round, in {most}; {sum(misses.values())} in all cells",
        ),
    ]


def _geometric(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def rows() -> list[Row]:
    """Both targets."""
    return [row for target in TARGETS for row in over_vaee(target)]
