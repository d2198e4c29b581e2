"""The first look at which a certificate is good enough, under this version or 0.1.0.

    python -m benchmarks.certificate_looks "20 options in turn" "as they are" 5000 5010

plays seeds 5000 to 5009 of one world and prints one line of JSON. The looks are at fixed numbers of
measurements, each `STEP` times the one before, from the moment on at which every option could have been
measured once; a study that does not come to its end counts as its cap.
"""

import json
import math
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

from threadpoolctl import threadpool_limits

import noisewise as nw
from benchmarks.certificate_cells import WORLDS
from benchmarks.certificate_worlds import PAIRED, Drawn, Measured, World

#: From one look to the next.
STEP = 1.02
#: Raised when studies are played differently, so that results that were kept are not taken for present ones.
PLAYED = 1


def looks(world: World) -> Iterator[int]:
    """Numbers of measurements at which the certificate is looked at."""
    at = world.options * world.first * world.batch
    while at < world.cap:
        yield at
        at = max(math.ceil(at * STEP), at + world.batch)
    yield world.cap


def play(world: World, way: str, seed: int) -> dict[str, Any]:
    """How many measurements it took, whether the study came to its end, and what was lost by its advice."""
    drawn, began = Drawn(world, seed), time.perf_counter()
    study = nw.create_study(**drawn.question(way))
    rows, number, told = drawn.rows(way), 0, 0
    bound, option = math.inf, None
    for at in looks(world):
        piece = []
        while number < at and (row := next(rows, None)) is not None:
            piece.append(row)
            number += row.number
        if not piece:
            break
        tell(study, piece, told, way)
        told += len(piece)
        certificate = study.certificate()
        bound, option = certificate.bound, certificate.option
        if bound <= world.eps:
            break
    lost = math.inf
    if option is not None:
        lost = float(drawn.truth.max() - drawn.truth[world.names.index(option)])
    seconds = time.perf_counter() - began
    reached = bound <= world.eps
    return {"seed": seed, "n": number, "reached": reached, "lost": lost, "seconds": round(seconds, 3)}


def tell(study: nw.Study, piece: list[Measured], before: int, way: str) -> None:
    """Tell some rows; each has a key, because results of equal batches may be equal."""
    if way == PAIRED:
        for row in piece:
            study.tell(**row.told)
        return
    table: dict[str, Any] = {name: [row.told[name] for row in piece] for name in piece[0].told}
    study.tell_many(table | {"key": [f"m{before + k}" for k in range(len(piece))]})


def main() -> None:
    """Some seeds of one world."""
    name, way, first, last = sys.argv[1:]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [play(WORLDS[name], way, seed) for seed in range(int(first), int(last))]
    print(json.dumps({"runs": runs}))


if __name__ == "__main__":
    main()
