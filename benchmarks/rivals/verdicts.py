"""A paragraph about each rival: first where it is better than noisewise, then how it was played."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.rivals.worlds import WORLDS

#: Fewer common runs than this say nothing.
FEWEST = 10
#: Differences count as clear from so many of their standard errors on.
CLEAR = 2.0

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
        "so that its 95 % are not proved, and fail where it matters: in the world 'one just ahead'. "
        "It is here because it is what most people do.",
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
        "option, and two options from the top of each draw; five measurements by one fit. It makes no "
        "claim.",
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
        "Thompson sampling with the conjugate model of each world, and for readings the true prior, "
        "which the others are not told. Made to earn while it learns, that is to measure good options "
        "often; it makes no claim.",
    ),
}


def _common(kept: dict[str, Any], rival: str, world: str) -> tuple[list[Any], list[Any]]:
    cells = kept["cells"]
    pair = [cells.get(name, {}).get(world, {}).get("runs", []) for name in ("noisewise", rival)]
    many = min(map(len, pair))
    return pair[0][:many], pair[1][:many]


def at_budgets(kept: dict[str, Any], rival: str) -> Iterator[tuple[str, str]]:
    """For each world and budget: better, worse, even, or too few; and where."""
    for world in WORLDS.values():
        ours, theirs = _common(kept, rival, world.name)
        for place, budget in enumerate(world.budgets):
            losses = [
                (a["losses"][place], b["losses"][place])
                for a, b in zip(ours, theirs, strict=True)
                if len(b["losses"]) > place and b["losses"][place] is not None
            ]
            where = f"{world.name} ({budget})"
            if len(losses) < FEWEST:
                yield "too few", where
                continue
            apart = np.array([b - a for a, b in losses])
            error = float(apart.std(ddof=1)) / math.sqrt(apart.size)
            mean = float(apart.mean())
            if abs(mean) <= CLEAR * error:
                yield "even", where
            else:
                yield ("worse" if mean > 0.0 else "better"), where


def at_claims(kept: dict[str, Any], rival: str) -> Iterator[tuple[str, str]]:
    """For each world: who claims with fewer measurements, in the geometric mean over common runs."""
    for world in WORLDS.values():
        ours, theirs = _common(kept, rival, world.name)
        if len(ours) < FEWEST:
            yield "too few", world.name
            continue
        ratio = np.log(
            [
                (b["claimed"] or world.cap) / (a["claimed"] or world.cap)
                for a, b in zip(ours, theirs, strict=True)
            ]
        )
        error = float(ratio.std(ddof=1)) / math.sqrt(ratio.size)
        mean = float(ratio.mean())
        where = f"{world.name} ({math.exp(mean):.2g} times as many)"
        yield ("even" if abs(mean) <= CLEAR * error else "worse" if mean > 0.0 else "better"), where


def wrong_claims(kept: dict[str, Any], rival: str) -> tuple[int, int]:
    """Claims of an option that is more than eps below the best, and all claims, over all worlds."""
    wrong = made = 0
    for world in WORLDS.values():
        for run in kept["cells"].get(rival, {}).get(world.name, {}).get("runs", []):
            if run["claimed"] is not None:
                made += 1
                wrong += run["claim_loss"] > world.eps
    return wrong, made


def milliseconds(kept: dict[str, Any], rival: str) -> float:
    """Of processor time per measurement, the median over worlds."""
    found = []
    for cell in kept["cells"].get(rival, {}).values():
        many = sum(run["decisions"] for run in cell["runs"])
        if many:
            found.append(1000.0 * sum(run["seconds"] for run in cell["runs"]) / many)
    return float(np.median(found)) if found else math.nan


def _sentence(about: str, good: str, bad: str, verdicts: list[tuple[str, str]]) -> str:
    """Where it is better comes first."""
    words = {
        "better": f"**{good} than noisewise** in",
        "even": "no clear difference in",
        "worse": f"{bad} in",
        "too few": "not enough runs to say in",
    }
    parts = []
    for kind, text in words.items():
        places = [where for each, where in verdicts if each == kind]
        if places:
            parts.append(f"{text} {', '.join(places)}")
        elif kind == "better":
            parts.append(f"nowhere clearly {good} than noisewise")
    return f"{about}: {'; '.join(parts)}."


def paragraphs(kept: dict[str, Any], budget: set[str], claims: set[str]) -> list[str]:
    """Markdown, a heading and two paragraphs for each rival."""
    lines = []
    pace = milliseconds(kept, "noisewise")
    for rival, (title, about) in ABOUT.items():
        first = []
        if rival in budget:
            named = list(at_budgets(kept, rival))
            first.append(
                _sentence("Mean loss of the option named after equal budgets", "better", "worse", named)
            )
        if rival in claims:
            claimed = list(at_claims(kept, rival))
            first.append(_sentence("Measurements until a claim", "fewer", "more", claimed))
            wrong, made = wrong_claims(kept, rival)
            own_wrong, own_made = wrong_claims(kept, "noisewise")
            beside = f"noisewise: {own_wrong} of {own_made}; at most 5 % are promised"
            first.append(f"Wrong claims: {wrong} of {made} ({beside}).")
        own = milliseconds(kept, rival)
        if math.isfinite(own) and own < pace:
            first.append(
                f"**It is faster**: {own:.2g} ms of processor time per measurement, noisewise {pace:.2g} ms."
            )
        elif math.isfinite(own):
            first.append(f"It takes {own:.2g} ms of processor time per measurement, noisewise {pace:.2g} ms.")
        lines += [f"### {title}", "", " ".join(first), "", about, ""]
    return lines[:-1]
