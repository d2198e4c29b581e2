"""The tables of docs/comparisons.md, from the runs kept in docs/comparisons.json.

``python -m benchmarks rivals --page`` prints them.
"""

import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.rivals import verdicts
from benchmarks.rivals.paired import Beside, at_budgets, at_claims
from benchmarks.rivals.play import RIVALS
from benchmarks.rivals.worlds import WORLDS, Floats, World

DOCS = Path(__file__).parents[2] / "docs"
MEDIAN = "measurements until then: median (its 95 % interval)"
ABOUT_CLAIMS = (
    "**Measurements until a claim**, as a multiple of what noisewise took on the same seeds: the geometric",
    "mean with its 95 % interval. Bold: the rival needs clearly fewer.",
)
ABOUT_BUDGETS = (
    "**Loss of the option named after a budget** (in brackets), minus that of noisewise on the same seeds,",
    "in per cent of eps: the mean with its 95 % interval. Bold: the rival loses clearly less.",
)
KEPT = DOCS / "comparisons.json"


def load() -> dict[str, Any]:
    """What was played so far."""
    if not KEPT.exists():
        return {"machine": "", "versions": {}, "cells": {}}
    kept: dict[str, Any] = json.loads(KEPT.read_text("utf-8"))
    return kept


def save(kept: dict[str, Any]) -> None:
    """A line for each rival and world, so that changes can be read; all of it or nothing is written."""
    lines = []
    for rival, worlds in kept["cells"].items():
        inner = ",\n".join(f"  {json.dumps(world)}: {json.dumps(cell)}" for world, cell in worlds.items())
        lines.append(f" {json.dumps(rival)}: {{\n{inner}\n }}")
    head = f'"machine": {json.dumps(kept["machine"])},\n"versions": {json.dumps(kept["versions"])}'
    new = KEPT.with_suffix(".new")
    new.write_text(f'{{\n{head},\n"cells": {{\n' + ",\n".join(lines) + "\n}\n}\n", "utf-8")
    os.replace(new, KEPT)


def runs_of(kept: dict[str, Any], rival: str, world: str) -> list[dict[str, Any]]:
    """All runs of a rival in a world."""
    runs: list[dict[str, Any]] = kept["cells"].get(rival, {}).get(world, {}).get("runs", [])
    return runs


def budget_rows(kept: dict[str, Any], world: World) -> Iterator[str]:
    """What each rival names after each budget."""
    for name, rival in RIVALS.items():
        # The worlds that noisewise was played in: everybody is compared on the same draws.
        runs = runs_of(kept, name, world.name)[: len(runs_of(kept, "noisewise", world.name))]
        if not (rival.budget and runs):
            continue
        cells = []
        for place in range(len(world.budgets)):
            losses = np.array([run["losses"][place] for run in runs], dtype=float)
            if np.isnan(losses).any():
                cells += ["cannot", "-"]
                continue
            best = verdicts.share(int((losses <= 0.0).sum()), len(losses)).partition(", ")[2]
            cells += [best, mean_of(losses)]
        spent = sum(run["seconds"] for run in runs) / max(1, sum(run["decisions"] for run in runs))
        yield f"| {rival.title} | {len(runs)} | " + " | ".join(cells) + f" | {1000 * spent:.2g} |"


def mean_of(losses: Floats) -> str:
    """With its standard error, where there is any loss."""
    if not losses.any():
        return "0"
    return f"{losses.mean():.2g} ± {losses.std(ddof=1) / math.sqrt(losses.size):.1g}"


def middle_of(counts: Floats) -> str:
    """The median, and the order statistics between which that of all possible runs lies in 95 % of cases."""
    ordered, many = np.sort(counts), len(counts)
    skipped = max(0, int(stats.binom.ppf(0.025, many, 0.5)) - 1)
    return f"{np.median(counts):.0f} ({ordered[skipped]:.0f} to {ordered[many - 1 - skipped]:.0f})"


def beside(kept: dict[str, Any], found: Callable[..., Iterator[Beside]], rivals: list[str]) -> Iterator[str]:
    """A table of all rivals beside noisewise: worlds from top to bottom, rivals from left to right."""
    cells = {name: {each.where: each.figure for each in found(kept, name)} for name in rivals}
    rivals = [name for name in rivals if set(cells[name].values()) != {"-"}]  # who was played at all
    heads = [RIVALS[name].title.partition(", GP")[0].partition(", Thompson")[0] for name in rivals]
    yield f"| world | {' | '.join(heads)} |"
    yield "|---" * (1 + len(rivals)) + "|"
    for where in dict.fromkeys(where for column in cells.values() for where in column):
        yield f"| {where} | " + " | ".join(cells[name].get(where, "cannot") for name in rivals) + " |"


def claim_rows(kept: dict[str, Any], world: World) -> Iterator[str]:
    """When each rival claims, and how often it is wrong."""
    for name, rival in RIVALS.items():
        runs = runs_of(kept, name, world.name)
        if not (rival.claims and runs):
            continue
        # Who made no claim before the cap is counted with the cap.
        counts = np.array([run["claimed"] or world.cap for run in runs])
        wrong, made = verdicts.wrong_claims(runs, world.eps)
        low, high = np.quantile(counts, [0.1, 0.9])
        cells = (middle_of(counts), f"{low:.0f} to {high:.0f}", verdicts.share(wrong, made))
        yield f"| {rival.title} | {made} of {len(runs)} | " + " | ".join(cells) + " |"


def skipped(kept: dict[str, Any]) -> Iterator[str]:
    """Rivals that were not played somewhere, with the reason."""
    for name, rival in RIVALS.items():
        reasons: dict[str, list[str]] = {}
        for world in WORLDS:
            cell = kept["cells"].get(name, {}).get(world, {"runs": []})
            if cell.get("skipped") or not cell["runs"]:
                reasons.setdefault(cell.get("skipped", "not played yet"), []).append(world)
        for reason, worlds in reasons.items():
            yield f"- {rival.title}: {reason} ({', '.join(worlds)})"


def figures(kept: dict[str, Any]) -> str:
    """All that follows from the runs, as Markdown."""
    known = ", ".join(f"{name} {number}" for name, number in sorted(kept["versions"].items()) if number)
    budget = [name for name, rival in RIVALS.items() if rival.budget and name != "noisewise"]
    claims = [name for name, rival in RIVALS.items() if rival.claims and name != "noisewise"]
    lines = ["## All beside noisewise", "", *ABOUT_CLAIMS, "", *beside(kept, at_claims, claims), ""]
    lines += [*ABOUT_BUDGETS, "", *beside(kept, at_budgets, budget), "", "## Rival by rival", ""]
    lines += verdicts.paragraphs(kept, budget, claims)
    lines += ["", "## World by world", "", f"Played with {known}, {kept['machine']}; seeds from 0 on."]
    for world in WORLDS.values():
        head = " | ".join(f"best after {b} | mean loss after {b}" for b in world.budgets)
        rule = "|---" * (3 + 2 * len(world.budgets)) + "|"
        title, about = (text[0].upper() + text[1:] for text in (world.name, world.about))
        lines += ["", f"### {title}", "", f"{about}; eps {world.eps:g}.", ""]
        lines += [f"| rival | runs | {head} | ms per measurement |", rule, *budget_rows(kept, world), ""]
        lines += [f"| rival | claims | {MEDIAN} | 10 % to 90 % of runs | wrong claims |", "|---" * 5 + "|"]
        lines += claim_rows(kept, world)
    left = list(skipped(kept))
    if left:
        lines += ["", "## Not played", "", *left]
    return "\n".join(lines)
