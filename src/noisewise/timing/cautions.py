"""What may be odd about timings: a slow first run, drift, runs that were disturbed."""

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.text import printable
from noisewise.core.support.words import counted
from noisewise.study.evidence.symmetric import FIRST, NORMAL_MEDIAN, median_distance

#: Rounds that are needed to say anything.
ENOUGH = 4
#: A first run that took this much longer than usual, and so many times as much as runs scatter, is told.
FIRST_RUN, FAR = 1.2, 5.0
#: The same for single runs, and which part of all of them is worth a word.
DISTURBED, SOME = 1.25, 0.05
#: By how much the machine's speed may differ between the halves of a race before it is told.
DRIFT = 1.05
#: Slow runs that fall on one option as often as they do by chance in so few races are its own doing.
OWN_DOING = 0.001


def cautions_of(times: dict[str, Floats]) -> list[str]:
    """One sentence for everything that is odd.

    Args:
        times: Of every option, round by round; the first is a round that does not count.
    """
    long = {name: np.log(runs) for name, runs in times.items() if runs.size >= FIRST + ENOUGH}
    if not long:
        return []
    usual = {name: float(np.median(logs[FIRST:])) for name, logs in long.items()}
    scatter = {name: NORMAL_MEDIAN * median_distance(logs[FIRST:]) for name, logs in long.items()}
    found = [
        _about_first_runs(long, usual, scatter),
        _about_drift(long, usual),
        _about_disturbed(long, usual, scatter),
    ]
    return [said for said in found if said is not None]


def _about_first_runs(
    logs: dict[str, Floats], usual: dict[str, float], scatter: dict[str, float]
) -> str | None:
    """Options whose first run was much slower: caches were cold."""
    slow = {
        name: float(runs[0] - usual[name])
        for name, runs in logs.items()
        if runs[0] - usual[name] > max(np.log(FIRST_RUN), FAR * scatter[name])
    }
    if not slow:
        return None
    worst = max(slow, key=lambda name: slow[name])
    others = f" (and that of {counted(len(slow) - 1, 'other')})" if len(slow) > 1 else ""
    return (
        f"the first run of `{printable(worst)}` took {np.exp(slow[worst]):.2g} times as long as later "
        f"ones{others}: caches that were cold; it was not counted."
    )


def _about_drift(logs: dict[str, Floats], usual: dict[str, float]) -> str | None:
    """Whether the whole machine became slower or faster."""
    length = max(runs.size for runs in logs.values()) - FIRST
    if length < 2 * ENOUGH:
        return None
    apart = [runs[FIRST:] - usual[name] for name, runs in logs.items() if runs.size - FIRST == length]
    rounds = np.median(np.stack(apart), axis=0)
    first, second = rounds[: length // 2], rounds[length // 2 :]
    moved = float(np.median(second) - np.median(first))
    noise = NORMAL_MEDIAN * median_distance(rounds) * 1.2533 * np.sqrt(4.0 / length)
    if abs(moved) < max(np.log(DRIFT), 3.0 * noise):
        return None
    word = "slower" if moved > 0.0 else "faster"
    return (
        f"everything became {100.0 * abs(np.expm1(moved)):.2g} % {word} from the first half of the rounds to "
        "the second; that cancels in the ratios, but not in the means."
    )


def _about_disturbed(
    logs: dict[str, Floats], usual: dict[str, float], scatter: dict[str, float]
) -> str | None:
    """How many runs took much longer than usual."""
    far = {
        name: int((runs[FIRST:] - usual[name] > max(np.log(DISTURBED), FAR * scatter[name])).sum())
        for name, runs in logs.items()
    }
    counts = {name: runs.size - FIRST for name, runs in logs.items()}
    many, total = sum(far.values()), sum(counts.values())
    if many < 2 or many < SOME * total:
        return None
    said = f"{many} of {total} runs took much longer than usual"
    worst = max(far, key=lambda name: far[name] / counts[name])
    if len(far) > 1 and len(far) * _chance(far[worst], many, counts[worst] / total) < OWN_DOING:
        return (
            f"{said}, {far[worst]} of them of `{printable(worst)}`: more than a machine would do that treats "
            "all alike. If that is its own doing, the answer need not be true of its typical time, nor of "
            "its mean."
        )
    return (
        f"{said}, as if something else ran at the same time; each counts as slower, whatever by how much, so "
        "that they do little harm."
    )


def _chance(hits: int, of: int, share: float) -> float:
    """How likely so many hits, or more, of all of them fall on somebody with this share."""
    from scipy import special

    return float(special.betainc(hits, of - hits + 1, share)) if hits else 1.0
