"""Microseconds a round of all rules beside those of 0.2.0 without its compiler: ``make oracle`` first.

Both run the same replications in processes of their own, in turn, on one thread.
"""

import math
import statistics
import sys
from typing import Any

from tools.oracle import make_oracle

import noisewise as nw
from benchmarks.timing import Player, Row

#: Actions, features and rounds.
SIZES = ((20, 3, 1000), (100, 10, 500), (1000, 20, 200), (10_000, 50, 40))
TURNS = 9
#: Rules whose design of many actions takes longer than all rounds together, and those of at most 4 features.
SMALL_ONLY = {"rage": 100, "h_rage": 100, "peace": 100, "od_linbai": 1000, "precision_tracking": 1000}
FEW_FEATURES = ("voful", "voful2")
#: Rules that were written for a compiler, and how long they may take beside before.
HEAVY = {"top_two_thompson": 0.6, "bayes_gap": 0.6, "linnats_unknown": 0.6, "save": 0.6}
ON_SETS = ("vaee", "weighted_oful", "linear_thompson", "robust_vaee", "oful", "greedy")


def cases() -> list[tuple[str, dict[str, Any], float]]:
    """What is run: a name, the case, and the ratio that it may have."""
    found = []
    for n, dim, horizon in SIZES:
        for rule in nw.rules.POLICIES:
            if n > SMALL_ONLY.get(rule, n) or (rule in FEW_FEATURES and dim > 4):
                continue
            case = {"rule": rule, "n": n, "dim": dim, "horizon": horizon}
            most = HEAVY.get(rule, 1.25) if n > 20 else math.inf
            found.append((f"{rule}, {n} x {dim}", case, most))
    for rule in ("vaee", "lingame", "weighted_lingape"):
        case = {"rule": rule, "n": 50, "dim": 8, "horizon": 300, "stop": "glr"}
        found.append((f"{rule}, stop='glr', 50 x 8", case, 1.25))
    for kind, dim in (("Ball", 3), ("Ball", 10), ("Simplex", 10)):
        for rule in ON_SETS:
            case = {"rule": rule, "n": 0, "dim": dim, "horizon": 100, "set": kind}
            found.append((f"{rule}, {kind}({dim})", case, 1.25))
    return found


def rows() -> list[Row]:
    """A row for each case, and geometric means."""
    ours, theirs = (Player(python, "rounds_player.py") for python in (sys.executable, str(make_oracle())))
    found, ratios = [], {}
    for name, case, most in cases():
        pairs = [(ours.play(case), theirs.play(case)) for _ in range(1 + TURNS)][1:]
        now, before = (statistics.median(column) for column in zip(*pairs, strict=True))
        if math.isnan(now) or math.isnan(before):
            continue
        if case["n"] == 20:  # a little time is allowed for
            most = max(1.25, (before + 0.6) / before)
        ratios.setdefault(case["n"], []).append(now / before)
        found.append(Row(name, now / before, "x", most, False, f"{now:.2f} µs beside {before:.2f}"))
        mark = "" if found[-1].reached else "  <<<"
        print(f"{name:40s} {now / before:6.3f}  {now:8.2f} {before:8.2f}{mark}")
    for player in (ours, theirs):
        player.end()
    together = [ratio for column in ratios.values() for ratio in column]
    found.append(Row("geometric mean of all", statistics.geometric_mean(together), "x", 1.0))
    return found
