"""The worlds of asking and their figures, as the tables of a page."""

import platform
from typing import TYPE_CHECKING

from benchmarks.asking_play import BATCHES, OLD_RULE, ONE_BY_ONE, WHOLE_DAYS
from benchmarks.asking_runs import FIRST_SEED, Cell
from benchmarks.asking_worlds import NAMED, World
from benchmarks.baseline import NEW, OLD

if TYPE_CHECKING:
    from benchmarks.asking import Figures

#: Lines of a table before its first row.
HEAD = 2

VALUES = {
    "normal": "normal values",
    "evenly": "values in equal steps from 0 to -2",
    "ties": "half of them within 0.4 of the best, the others 1 to 2 below",
    "one winner": "one 1.5 above all others",
    "doubling": "gaps from 0.15, each 1.6 times the one before",
    "close pair": "two 0.1 apart at the top, the others 1 to 3 below",
    "crowd": "exponential gaps to the best",
    "weighted": "{features} features",
    "prompts": "4 models x 5 numbers of examples x 2 temperatures",
}
NOISE = {
    "same": "error bar {se:g}",
    "two instruments": "error bar 0.3 (one in five) or 1",
    "a decade": "error bars 0.2 to 2",
    "loud options": "error bar 1 or 0.25, by option",
    "of options": "error bars 0.2 to 1.2, by option",
}


def in_words(world: World) -> str:
    """What a world is, in one line."""
    parts = [f"{world.options} options", VALUES[world.values].format(features=world.features)]
    if world.model == "linear+deviation":
        told = "estimated" if isinstance(world.deviation, str) else "stated"
        parts.append(f"deviations of {world.deviates:g} ({told})")
    parts.append(NOISE[world.noise].format(se=world.se))
    if world.noise != "same":
        parts[-1] += ", announced" if world.announced else ", not announced"
    if world.day:
        parts.append(f"days of {world.day} with offsets of {world.offset:g}")
    if world.differences:
        parts.append("only differences")
    if world.costs:
        parts.append("costs 1 to 10")
    if world.goal == "min":
        parts.append("smallest wanted")
    return ", ".join(parts)


def page(found: "dict[Cell, Figures]", seeds: int) -> str:
    """One table for each question, of what there are figures for."""
    worlds = [cell.world for cell in found if cell.version == NEW and cell.way == ONE_BY_ONE]
    named = [world for world in worlds if world in NAMED]
    fresh = [world for world in worlds if world not in NAMED]
    parts = {
        "Kinds of worlds that the rule was made with": _compared(named, found),
        "Others, that it had not seen": _compared(fresh, found),
        "Several at a time": _several(found),
        "Days: what is owed to the rule, and what to other changes": _owed(found),
    }
    lines = [
        f"{seeds} studies per line and version (seeds {FIRST_SEED} to {FIRST_SEED + seeds - 1}), "
        f"{platform.machine()}:"
    ]
    for title, table in parts.items():
        if len(table) > HEAD:
            lines += ["", f"## {title}", "", *table]
    return "\n".join(lines)


def _compared(worlds: list[World], found: "dict[Cell, Figures]") -> list[str]:
    lines = [
        "| world | eps | 0.1.0: median / mean | now: median / mean | ratio, 95 % interval |",
        "|---|---|---|---|---|",
    ]
    for world in worlds:
        new = found[Cell(world, ONE_BY_ONE, NEW)]
        old = found.get(Cell(world, ONE_BY_ONE, OLD))
        before, ratio = ("-", "-") if old is None else (str(old), str(new.over(old)))
        cost = " of the costs" if world.costs else ""
        about = f"**{world.name}**: {in_words(world)}"
        lines.append(f"| {about} | {world.eps:g} | {before} | {new} | {ratio}{cost} |")
    return lines


def _several(found: "dict[Cell, Figures]") -> list[str]:
    lines = [
        "| world | asked for | median / mean | one by one | ratio of both, 95 % interval |",
        "|---|---|---|---|---|",
    ]
    for cell, new in found.items():
        alone = found.get(Cell(cell.world, ONE_BY_ONE, NEW))
        if cell.version == NEW and cell.way in (BATCHES, WHOLE_DAYS) and alone is not None:
            lines.append(f"| {cell.world.name} | {cell.way} | {new} | {alone} | {new.over(alone)} |")
    return lines


def _owed(found: "dict[Cell, Figures]") -> list[str]:
    """The rule of 0.1.0 in the present version, where certificates and what rules see have changed."""
    lines = [
        "| world | 0.1.0 | its rule in the present version | now | now over its rule, 95 % interval |",
        "|---|---|---|---|---|",
    ]
    for cell, between in found.items():
        old, new = (found.get(Cell(cell.world, ONE_BY_ONE, version)) for version in (OLD, NEW))
        if cell.way == OLD_RULE and old is not None and new is not None:
            lines.append(f"| {cell.world.name} | {old} | {between} | {new} | {new.over(between)} |")
    return lines
