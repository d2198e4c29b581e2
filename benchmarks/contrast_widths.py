"""How wide bounds on differences are where everything is measured in blocks, beside 0.1.0.

All values of a block are equal, so that every estimated difference is 0 and the bound of the certificate is a
half-width, the smallest over the options of the largest to any other; it depends on no value. Its square is
what measurements are worth: half of it is as good as twice as many of them.

    python -m benchmarks.contrast_widths 0 100

prints the bounds of 100 random designs of every kind as one line of JSON, under this version or 0.1.0.
"""

import json
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import noisewise as nw
from benchmarks import baseline
from benchmarks.geometric import Ratio, geometric_ratio
from benchmarks.timing import Row

EPS, SE, DESIGNS = 0.3, 0.3, 100
INCOMPLETE, COMPLETE = 0.4, 1.02


class Design(NamedTuple):
    """Options, how many of them are in a block, and how many blocks there are."""

    options: int
    size: int
    blocks: int

    @property
    def most(self) -> float:
        """The largest ratio that is good enough."""
        return COMPLETE if self.size == self.options else INCOMPLETE

    def __str__(self) -> str:
        return f"{self.options} options, {self.blocks} blocks of {self.size}"


KINDS = (
    Design(6, 2, 40),
    Design(6, 3, 30),
    Design(20, 2, 150),
    Design(20, 4, 60),
    Design(50, 5, 150),
    Design(6, 6, 12),
    Design(20, 20, 8),
    Design(50, 50, 6),
)


def bound(design: Design, seed: int) -> float:
    """Of one random design."""
    rng = np.random.default_rng([*design, seed])
    study = nw.create_study(options=[f"o{k}" for k in range(design.options)], eps=EPS)
    told: dict[str, list[Any]] = {"option": [], "value": [], "se": [], "block": []}
    for block in range(design.blocks):
        for option in rng.choice(design.options, design.size, replace=False):
            told["option"].append(f"o{option}")
            told["value"].append(float(block))
            told["se"].append(SE)
            told["block"].append(f"b{block}")
    study.tell_many(told)
    return float(study.certificate().bound)


class Widths(NamedTuple):
    """Squared half-widths of one kind of design over those of 0.1.0."""

    design: Design
    ratio: Ratio

    @property
    def name(self) -> str:
        """In words."""
        return str(self.design)

    @property
    def most(self) -> float:
        """The largest ratio that is good enough."""
        return self.design.most

    def row(self) -> Row:
        """Beside its target."""
        return Row(
            f"{self.name}: squared half-width", self.ratio.mean, "x", self.most, False, str(self.ratio)
        )


def measured(designs: int = DESIGNS) -> list[Widths]:
    """All kinds, under both versions."""
    new, old = (
        np.array(baseline.run("benchmarks.contrast_widths", 0, designs, version=version)["bounds"])
        for version in (baseline.NEW, baseline.OLD)
    )
    return [Widths(design, geometric_ratio(new[k] ** 2, old[k] ** 2)) for k, design in enumerate(KINDS)]


def main() -> None:
    """The bounds of some designs of every kind."""
    first, last = map(int, sys.argv[1:])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds = [[bound(design, seed) for seed in range(first, last)] for design in KINDS]
    print(json.dumps({"bounds": bounds}))


if __name__ == "__main__":
    main()
