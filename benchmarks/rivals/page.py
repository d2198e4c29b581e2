"""The tables of docs/comparisons.md, from the runs kept in docs/comparisons.json.

``python -m benchmarks.rivals.page`` writes them, ``--check`` says whether the page has them as they are.
"""

import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import BEGIN, END, write_figures
from benchmarks.rivals import verdicts
from benchmarks.rivals.play import RIVALS
from benchmarks.rivals.worlds import WORLDS, World

DOCS = Path(__file__).parents[2] / "docs"
MEDIAN = "median (10 % to 90 %)"
PAGE, KEPT = DOCS / "comparisons.md", DOCS / "comparisons.json"


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


def share(hits: int, of: int) -> str:
    """In per cent, with Wilson's 95 % interval."""
    z, p = 1.96, hits / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return f"{100 * p:.0f} % ({100 * max(0.0, middle - half):.0f} to {100 * min(1.0, middle + half):.0f})"


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
            error = losses.std(ddof=1) / math.sqrt(len(losses))
            cells += [share(int((losses <= 0.0).sum()), len(losses)), f"{losses.mean():.3g} ± {error:.1g}"]
        spent = sum(run["seconds"] for run in runs) / max(1, sum(run["decisions"] for run in runs))
        yield f"| {rival.title} | {len(runs)} | " + " | ".join(cells) + f" | {1000 * spent:.2g} |"


def claim_rows(kept: dict[str, Any], world: World) -> Iterator[str]:
    """When each rival claims, and how often it is wrong."""
    for name, rival in RIVALS.items():
        runs = runs_of(kept, name, world.name)
        if not (rival.claims and runs):
            continue
        # Who made no claim before the cap is counted with the cap.
        counts = np.array([run["claimed"] or world.cap for run in runs])
        made = [run for run in runs if run["claimed"] is not None]
        wrong = sum(run["claim_loss"] > world.eps for run in made)
        low, middle, high = np.quantile(counts, [0.1, 0.5, 0.9])
        said = f"{wrong} of {len(made)}" + ("" if not made else f": {share(wrong, len(made))}")
        until = f"{middle:.0f} ({low:.0f} to {high:.0f})"
        yield f"| {rival.title} | {len(made)} of {len(runs)} | {until} | {said} |"


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
    lines = ["## Rival by rival", ""]
    budget = {name for name, rival in RIVALS.items() if rival.budget}
    lines += verdicts.paragraphs(kept, budget, {name for name, rival in RIVALS.items() if rival.claims})
    lines += ["", "## World by world", "", f"Played with {known}, {kept['machine']}; seeds from 0 on."]
    for world in WORLDS.values():
        head = " | ".join(f"best after {b} | mean loss after {b}" for b in world.budgets)
        rule = "|---" * (3 + 2 * len(world.budgets)) + "|"
        title, about = (text[0].upper() + text[1:] for text in (world.name, world.about))
        lines += ["", f"### {title}", "", f"{about}; eps {world.eps:g}.", ""]
        lines += [f"| rival | runs | {head} | ms per measurement |", rule, *budget_rows(kept, world), ""]
        lines += [f"| rival | claims | measurements until then: {MEDIAN} | wrong |", "|---|---|---|---|"]
        lines += claim_rows(kept, world)
    left = list(skipped(kept))
    if left:
        lines += ["", "## Not played", "", *left]
    return "\n".join(lines)


def write() -> None:
    """The page, from what is kept."""
    write_figures(PAGE, figures(load()))


def main() -> int:
    """Write, or compare."""
    if "--check" not in sys.argv[1:]:
        write()
        return 0
    shown = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0].strip()
    if shown == figures(load()).strip():
        return 0
    print(f"{PAGE.name} and {KEPT.name} do not agree: run python -m benchmarks.rivals.page", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
