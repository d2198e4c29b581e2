"""A paragraph about each rival: first where it is better than noisewise, then how it was played."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.rivals.paired import BETTER, EVEN, TOO_FEW, WORSE, Beside, at_budgets, at_claims
from benchmarks.rivals.worlds import WORLDS

ABOUT = {
    "uniform": (
        "A/B/n with one planned look",
        "All options in turn. The number of rounds is planned so that every difference is known to "
        "within eps, with Bonferroni's correction over all ordered pairs and the largest variance "
        "that the world allows. Needs no software, and its claim holds by a textbook argument.",
    ),
    "peeking": (
        "A/B/n with peeking",
        "The same, looked at after every round from the fifth on, and stopped when the leader is "
        "clear of every other option but for eps. It corrects for the options and not for the looks, "
        "so that its 95 % are not proved. It is here because it is what most people do.",
    ),
    "optuna": (
        "Optuna",
        "The options are a categorical parameter of its default sampler (TPE); every suggestion is "
        "measured three times and told as a mean. It is made for large spaces of parameters, where "
        "this is not what it does best; it knows no error bars and makes no claim.",
    ),
    "ax": (
        "Ax",
        "Its Thompson sampler with empirical Bayes, which takes a mean and a standard error of each "
        "option, and two options from the top of each draw; five measurements by one fit. Named is "
        "the largest of its shrunken means. It uses no features, and makes no claim.",
    ),
    "botorch": (
        "BoTorch",
        "A Gaussian process over the options (over their features where there are any) with known "
        "variances, and noisy expected improvement; five measurements by one fit. It makes no claim. "
        "With features that act in an unknown, bent way it would be at home; here they act linearly, "
        "which noisewise is told and it is not.",
    ),
    "ocba": (
        "OCBA",
        "Optimal computing budget allocation, from sim-tools: five first measurements of each option, "
        "then ten at a time. It must know its budget, and cannot begin below five measurements per "
        "option. It estimates the scatter of each option and takes no error bars. Rounding lets it "
        "exceed its budget by a few measurements.",
    ),
    "kn": (
        "KN",
        "Kim and Nelson's sequential procedure, from sim-tools, with ten first measurements of each "
        "option and eps as its indifference zone. It estimates scatters itself, so it needs no error "
        "bars, and cannot use them.",
    ),
    "bandits": (
        "bayesianbandits",
        "Thompson sampling with the conjugate model of each world. For readings its prior is that from "
        "which most worlds are drawn, which the others are not told. Made to earn while it learns, that "
        "is to measure good options often; it makes no claim.",
    ),
}


def wrong_claims(runs: list[dict[str, Any]], eps: float) -> tuple[int, int]:
    """Claims of an option that is more than eps below the best, and all claims."""
    losses = [run["claim_loss"] for run in runs if run["claimed"] is not None]
    return sum(loss > eps for loss in losses), len(losses)


def _claims(kept: dict[str, Any], rival: str) -> str:
    """How many were wrong in all worlds, and in the world with most of them."""
    cells = kept["cells"].get(rival, {})
    counts = {
        world.name: wrong_claims(cells.get(world.name, {}).get("runs", []), world.eps)
        for world in WORLDS.values()
    }
    wrong, made = (sum(numbers) for numbers in zip(*counts.values(), strict=True))
    worst = max(counts, key=lambda world: counts[world][0])
    many = "all" if counts[worst][0] == wrong else "most of them"
    where = f", {many} in {worst}: {share(*counts[worst])}" if wrong else ""
    return f"{share(wrong, made)}{where}"


def milliseconds(kept: dict[str, Any], rival: str) -> dict[str, float]:
    """Of processor time per measurement, world by world."""
    found = {}
    for world, cell in kept["cells"].get(rival, {}).items():
        many = sum(run["decisions"] for run in cell["runs"])
        if many:
            found[world] = 1000.0 * sum(run["seconds"] for run in cell["runs"]) / many
    return found


def _pace(kept: dict[str, Any], rival: str) -> list[str]:
    """Where it decides faster than noisewise, in the worlds that both played."""
    own, ours = (milliseconds(kept, name) for name in (rival, "noisewise"))
    common = [world for world in ours if world in own]
    if not common:
        return []
    slower = [world for world in common if own[world] >= ours[world]]
    where = f", but not in {', '.join(slower)}" if slower else ""
    said = f"**It is faster**{where}" if len(slower) < len(common) else "It is slower"
    middle = [float(np.median([pace[world] for world in common])) for pace in (own, ours)]
    return [
        f"{said}: {middle[0]:.2g} ms of processor time per measurement, noisewise {middle[1]:.2g} ms "
        f"(medians over {len(common)} worlds)."
    ]


def _sentence(about: str, good: str, bad: str, found: list[Beside]) -> str:
    """Where it is better comes first."""
    words = {
        BETTER: f"**{good} than noisewise** in",
        WORSE: f"clearly {bad} in",
        EVEN: "no clear difference in",
        TOO_FEW: "not enough runs to say in",
    }
    parts = []
    for kind, text in words.items():
        places = [each.where for each in found if each.verdict == kind]
        if kind in (EVEN, TOO_FEW) and places:  # the tables above say where
            parts.append(f"{text} {len(places)} of {len(found)} comparisons")
        elif places:
            parts.append(f"{text} {', '.join(places)}")
        elif kind == BETTER and any(each.verdict != TOO_FEW for each in found):
            parts.append(f"nowhere clearly {good} than noisewise")
    return f"{about}: {'; '.join(parts)}."


def paragraphs(kept: dict[str, Any], budget: Iterable[str], claims: Iterable[str]) -> list[str]:
    """Markdown, a heading and two paragraphs for each rival."""
    lines = []
    for rival, (title, about) in ABOUT.items():
        first = []
        if rival in budget:
            found = list(at_budgets(kept, rival))
            first.append(_sentence("Loss after equal budgets", "better", "worse", found))
        if rival in claims:
            found = list(at_claims(kept, rival))
            first.append(_sentence("Measurements until a claim", "fewer", "more", found))
            first.append(
                f"Wrong claims: {_claims(kept, rival)}. Those of noisewise: {_claims(kept, 'noisewise')}. "
                "At most 5 % are promised, in each world."
            )
        first += _pace(kept, rival)
        lines += [f"### {title}", "", " ".join(first), "", about, ""]
    return lines[:-1]


def share(hits: int, of: int) -> str:
    """So many of so many, in per cent, with Wilson's 95 % interval."""
    if not of:
        return "none made"
    z, p = 1.96, hits / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    digits = 1 if 0 < 100 * p < 1 else 0  # one of 210 is not none
    return f"{hits} of {of}, {100 * p:.{digits}f} % ({100 * low:.{digits}f} to {100 * high:.{digits}f})"
