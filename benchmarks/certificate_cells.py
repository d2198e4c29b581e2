"""The worlds that certificates are compared in, and how many measurements are good enough."""

from benchmarks.certificate_worlds import (
    COUNTS,
    ITEMS,
    KNOWN,
    LINEAR,
    OWN,
    PAIRED,
    POOLED,
    READINGS,
    UNPAIRED,
    World,
)

SPREADS = {5: 2.0, 20: 3.0, 200: 4.0}
#: Known error bars: the largest ratio by the number of options; numbers between follow the smaller one.
LARGEST = {5: 0.80, 20: 0.75, 200: 0.72}


def _known(n: int) -> list[World]:
    kind, most, spread = READINGS, LARGEST[n], SPREADS[n]
    return [
        World(f"{n} options, values evenly spread", kind, n, 0.5, most, spread=spread),
        World(f"{n} options, all 0.5 below the best", kind, n, 0.4, most, values="below", spread=0.5),
        World(f"{n} options, error bars of options", kind, n, 0.5, most, spread=spread, noise="of options"),
        World(f"{n} options, gaps far above eps", kind, n, 0.3, most, values="far"),
    ]


KNOWN_ERROR_BARS = [world for n in LARGEST for world in _known(n)]
#: Nobody had seen these when the certificates were made.
UNSEEN = [
    World("2 options, close", READINGS, 2, 0.3, 0.80, values="below", spread=0.4),
    World("12 options, smallest wanted", READINGS, 12, 0.35, 0.80, values="normal", spread=1.0, goal="min"),
    World("10 options, span in place of eps", READINGS, 10, 0.4, 0.80, spread=4.0, told_eps=False, span=4.0),
    World("20 options, error bars mixed", READINGS, 20, 0.5, 0.75, spread=3.0, noise="mixed"),
    World("5 options, error bars mixed", READINGS, 5, 0.25, 0.80, spread=2.0, noise="mixed"),
    World("10 options, half of them ties", READINGS, 10, 0.4, 0.80, values="ties", spread=1.0),
    World("50 options, half of them ties", READINGS, 50, 0.6, 0.75, values="ties", spread=1.0),
    World("8 options, a precise control", READINGS, 8, 0.4, 0.80, noise="control"),
    World("20 options in turn", READINGS, 20, 0.5, 0.75, spread=3.0, evenly=True),
    World("8 options, confidence 0.99", READINGS, 8, 0.4, 0.80, confidence=0.99),
    World("8 options, confidence 0.8", READINGS, 8, 0.4, 0.80, confidence=0.8),
    World("60 options, small error bars", READINGS, 60, 0.5, 0.75, spread=3.0, se=0.2),
]

ACCURACIES, RATES, MIDDLE, RARE = (0.80, 0.95), (0.02, 0.04), (0.4, 0.6), (0.001, 0.003)
COUNTED = [
    World("accuracies 80-95 %, 20 options", COUNTS, 20, 0.02, 0.25, shares=ACCURACIES, batch=50),
    World("accuracies 80-95 %, 10 options", COUNTS, 10, 0.03, 0.25, shares=ACCURACIES, batch=200),
    World("rates 2-4 %, 6 options", COUNTS, 6, 0.005, 0.12, shares=RATES, batch=500),
    World("rates 2-4 %, 5 options", COUNTS, 5, 0.006, 0.12, shares=RATES, batch=2000),
    World("around one half, 20 options", COUNTS, 20, 0.03, 0.80, shares=MIDDLE, batch=50),
    World("around one half, 5 options", COUNTS, 5, 0.03, 0.80, shares=MIDDLE, batch=50),
    World("rates 0.1-0.3 %, 5 options", COUNTS, 5, 0.0005, 0.12, shares=RARE, batch=10_000),
    World("failures 5-20 %, smallest wanted, 8 options", COUNTS, 8, 0.03, 0.25, shares=(0.05, 0.20),
          batch=20, goal="min"),
    World("all shares from 0 to 1, 10 options", COUNTS, 10, 0.05, 0.80, shares=(0.0, 1.0), batch=10),
]  # fmt: skip
COUNTED = [
    World(**{**vars(world), "cap": cap})
    for world, cap in zip(
        COUNTED, (300_000, 150_000, 2_000_000, 2_000_000, 300_000, 60_000, 200_000_000, 60_000, 30_000),
        strict=True,
    )
]  # fmt: skip

FEATURES = [
    World(f"{dim} features, {n} options, eps {eps:g}, error bar {se:g}", LINEAR, n, eps, most, features=dim,
          span=2.0, se=se, cap=20_000)
    for dim, n, most in ((3, 15, 1.0), (6, 30, 0.80), (20, 60, 0.65))
    for eps, se in ((0.1, 0.5), (0.25, 0.3))
]  # fmt: skip

#: Readings whose scatter nobody states, against the same readings told with their scatter.
SCATTER = [
    World(
        f"{name}, {way}", READINGS, n, eps, 1.7, spread=spread, noise=noise, first=10, way=way, against=KNOWN
    )
    for way in (OWN, POOLED)
    for name, n, eps, spread, noise in (
        ("5 options", 5, 0.5, 2.0, "one"),
        ("5 options, small eps", 5, 0.2, 1.0, "one"),
        ("20 options", 20, 0.5, 3.0, "one"),
        ("20 options, unequal scatter", 20, 0.5, 3.0, "of options"),
        ("8 options, unequal scatter", 8, 0.4, 2.0, "of options"),
    )
    if way == OWN or noise == "one"
]
#: The same questions for everybody, against everybody's own.
SAME_ITEMS = [
    World(f"{n} options, difficulty {sd:g}", ITEMS, n, 0.02, most, difficulty=sd, batch=50, way=PAIRED,
          against=UNPAIRED, cap=2_000_000)
    for n, sd, most in ((5, 2.0, 0.7), (20, 2.0, 0.7), (20, 4.0, 0.7), (20, 0.0, 1.0))
]  # fmt: skip

GROUPS = {
    "Known error bars": KNOWN_ERROR_BARS,
    "Known error bars, worlds that nobody had seen": UNSEEN,
    "Counts": COUNTED,
    "Features": FEATURES,
    "Readings of unknown scatter": SCATTER,
    "The same items for all options": SAME_ITEMS,
}
WORLDS = {world.name: world for worlds in GROUPS.values() for world in worlds}
