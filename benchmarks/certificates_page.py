"""How many measurements certificates need, as the tables of a page."""

import platform
from typing import TYPE_CHECKING

from benchmarks.certificate_worlds import COUNTS, ITEMS, LINEAR, World

if TYPE_CHECKING:
    from benchmarks.certificates import Compared
    from benchmarks.contrast_widths import Widths

NOISE = {
    "one": "error bar {se:g}",
    "of options": "error bars {least:.2g} to {largest:.2g}, by option",
    "mixed": "error bars {least:.2g} to {largest:.2g}, each measurement its own",
    "control": "error bar {se:g}, one option a tenth of it",
}
VALUES = {
    "uniform": "values from 0 to {spread:g}",
    "normal": "normal values",
    "below": "all others {spread:g} below the best",
    "far": "all others 1.5 to 3.5 below the best",
    "ties": "half of them within eps of the best",
}


def in_words(world: World) -> str:
    """What a world is beside its name, in one line."""
    if world.kind in (COUNTS, ITEMS):
        parts = [f"batches of {world.batch}"]
    elif world.kind == LINEAR:
        parts = ["features on the sphere", f"span {world.span:g}"]
    else:
        reach = 3.0
        parts = [
            VALUES[world.values].format(spread=world.spread),
            NOISE[world.noise].format(se=world.se, least=world.se / reach, largest=world.se * reach),
        ]
    if world.first > 1:
        parts.append(f"from {world.first} readings of each option on")
    if world.confidence != 0.95:
        parts.append(f"confidence {world.confidence:g}")
    return ", ".join(parts)


def page(found: "dict[str, list[Compared]]", widths: "list[Widths]", seeds: int) -> str:
    """One table for each group of worlds."""
    lines = [f"{seeds} runs per line, {platform.machine()}:"]
    for title, group in found.items():
        against = group[0].world.against or "0.1.0"
        lines += [
            "",
            f"## {title}",
            "",
            f"| world | eps | {against}: median | now: median | ratio, 95 % interval | wanted |",
            "|---|---|---|---|---|---|",
            *(_line(one) for one in group),
        ]
    if widths:
        lines += [
            "",
            "## Blocks and differences",
            "",
            "| design | squared half-width over that of 0.1.0, 95 % interval | wanted |",
            "|---|---|---|",
            *(f"| {one.name} | {_three(one.ratio)} | {one.most:g} |" for one in widths),
        ]
    return "\n".join(lines)


def _line(one: "Compared") -> str:
    world, (new, old), late = one.world, one.medians, one.unreached
    now, before = (
        f"{median:g}{f', {missing} not done' if missing else ''}"
        for median, missing in zip((new, old), late, strict=True)
    )
    about = f"**{world.name}**: {in_words(world)}"
    return f"| {about} | {world.eps:g} | {before} | {now} | {_three(one.ratio)} | {world.most:g} |"


def _three(ratio: "tuple[float, float, float]") -> str:
    mean, low, high = ratio
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"
