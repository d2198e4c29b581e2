"""Looks at studies beside those of 0.2.0: ask, certificate, plan and worth, and how they grow.

Both run the same looks in processes of their own, in turn, on one thread, each after one more measurement.
"""

import math
import os
import statistics
import sys
from typing import Any

from tools.oracle import make_oracle

from benchmarks.timing import Player, Row

TURNS = int(os.environ.get("STUDIES_TURNS", "5"))
#: The ratio to 0.2.0 that a look may have, and by how much it may grow where the study is twice as large.
MOST, LINEAR = 1.0, 2.6
#: A look that takes less is not waited for.
NOT_FELT = 0.02


def cases() -> list[tuple[str, dict[str, Any]]]:
    """Looks at studies of 10, 150 and 2,000 options, with and without blocks."""
    found = []
    for model in ("independent", "linear", "linear+deviation"):
        for n in (10, 150, 2000):
            for block in (0, 20):
                question = {"model": model, "n": n, "measured": max(60, 2 * n), "block": block}
                about = f"{model}, {n:,} options{', blocks' if block else ''}"
                looks: list[dict[str, Any]] = [{"look": "ask"}, {"look": "certificate"}]
                looks += [{"look": "ask", "times": 8}] if n <= 150 else []
                looks += [{"look": "plan"}, {"look": "worth"}] if n <= 150 else []
                for look in looks:
                    name = look["look"] + (f"({look['times']})" if "times" in look else "")
                    found.append((f"{name}: {about}", question | look))
    return found


def growing() -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Looks at a study and at one twice as large, which may take twice as long."""
    ask = {"model": "independent", "n": 1000, "measured": 2000, "look": "ask"}
    blocks = {"model": "independent", "look": "worth", "block": 2}
    return [
        ("ask(800), then ask(1600)", ask | {"times": 800}, ask | {"times": 1600}),
        (
            "worth, 500 options in 500 blocks, then 1,000 in 1,000",
            blocks | {"n": 500, "measured": 500},
            blocks | {"n": 1000, "measured": 1000},
        ),
    ]


def rows() -> list[Row]:
    """A row for each look, and the geometric mean of all."""
    ours, theirs = (Player(python, "studies_player.py") for python in (sys.executable, str(make_oracle())))
    found, ratios = [], []
    for name, case in cases():
        pairs = [(ours.play(case), theirs.play(case)) for _ in range(1 + TURNS)][1:]
        now, before = (statistics.median(column) for column in zip(*pairs, strict=True))
        if math.isnan(now) or math.isnan(before):
            continue
        most = max(MOST, NOT_FELT / before)
        found.append(
            Row(name, now / before, "x", most, False, f"{1e3 * now:.3g} ms beside {1e3 * before:.3g}")
        )
        ratios.append(now / before)
        print(f"{name:55s} {now / before:7.3f}  {1e3 * now:9.2f} ms{'' if found[-1].reached else '  <<<'}")
    for name, small, large in growing():
        first, second = (min(ours.play(case) for _ in range(2)) for case in (small, large))
        found.append(
            Row(f"growth: {name}", second / first, "x", LINEAR, False, f"{first:.3g}, {second:.3g} s")
        )
        print(f"{name:55s} {second / first:7.3f}  {first:9.2f} s{'' if found[-1].reached else '  <<<'}")
    for player in (ours, theirs):
        player.end()
    found.append(Row("geometric mean beside 0.2.0", statistics.geometric_mean(ratios), "x", MOST))
    return found
