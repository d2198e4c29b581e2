"""The first look at which a certificate is good enough, under this version or 0.1.0.

    python -m benchmarks.certificate_looks "20 options in turn" "as they are" 5000 5010

plays seeds 5000 to 5009 of one world and prints one line of JSON. The certificate is looked at in points of
a fixed grid of numbers of measurements, each `STEP` times the one before, from the moment on at which every
option could have been measured once, until its bound is at most eps. As long as the bound is far above eps,
points are left out: the next look is where the bound would be eps if it fell with the square of the number
of measurements (it falls with the root), and at most `FARTHEST` times as many of them later. A study that
does not come to its end counts as its cap.
"""

import bisect
import itertools
import json
import math
import sys
import time
import warnings
from typing import Any

from threadpoolctl import threadpool_limits

import noisewise as nw
from benchmarks.certificate_cells import WORLDS
from benchmarks.certificate_worlds import Drawn, Measured, World

#: From one point of the grid to the next, and the most from one look to the next.
STEP, FARTHEST = 1.02, 1.3
#: Rows that are no rows of a table: several readings, or several items.
SEVERAL = {"values", "items"}
#: Raised when studies are played differently, so that results that were kept are not taken for present ones.
PLAYED = 2


def grid(world: World) -> list[int]:
    """Numbers of measurements at which the certificate may be looked at."""
    points = [world.options * world.first * world.batch]
    while points[-1] < world.cap:
        points.append(min(world.cap, max(math.ceil(points[-1] * STEP), points[-1] + world.batch)))
    return points


class Told:
    """A study that is told more and more of one sequence."""

    def __init__(self, drawn: Drawn, way: str) -> None:
        self._study = nw.create_study(**drawn.question(way))
        self._rows, self._keys, self.number = drawn.rows(way), itertools.count(), 0

    def bound_at(self, number: int) -> tuple[float, str | None]:
        """The certificate's bound and option once that many measurements are told, or all that there are."""
        piece: list[Measured] = []
        while self.number < number and (row := next(self._rows, None)) is not None:
            piece.append(row)
            self.number += row.number
        for row in piece:
            if SEVERAL & row.told.keys():
                self._study.tell(**row.told)
        piece = [row for row in piece if not SEVERAL & row.told.keys()]
        if piece:
            table: dict[str, Any] = {name: [row.told[name] for row in piece] for name in piece[0].told}
            # Keys, because results of equal batches may be equal.
            self._study.tell_many(table | {"key": [f"m{next(self._keys)}" for _ in piece]})
        certificate = self._study.certificate()
        return certificate.bound, certificate.option


def play(world: World, way: str, seed: int) -> dict[str, Any]:
    """How many measurements it took, whether the study came to its end, and what was lost by its advice."""
    drawn, began, points = Drawn(world, seed), time.perf_counter(), grid(world)
    told, place = Told(drawn, way), 0
    while place < len(points):
        point = points[place]
        bound, option = told.bound_at(point)
        if bound <= world.eps or told.number < point:
            break
        later = point * min(FARTHEST, math.sqrt(bound / world.eps))
        # The last point before that, but at least the next one; and the cap itself is looked at.
        place = max(place + 1, min(bisect.bisect_right(points, later) - 1, len(points) - 1))
    lost = math.inf
    if option is not None:
        lost = float(drawn.truth.max() - drawn.truth[world.names.index(option)])
    seconds = time.perf_counter() - began
    reached = bound <= world.eps
    return {"seed": seed, "n": told.number, "reached": reached, "lost": lost, "seconds": round(seconds, 3)}


def main() -> None:
    """Some seeds of one world."""
    name, way, first, last = sys.argv[1:]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [play(WORLDS[name], way, seed) for seed in range(int(first), int(last))]
    print(json.dumps({"runs": runs}))


if __name__ == "__main__":
    main()
