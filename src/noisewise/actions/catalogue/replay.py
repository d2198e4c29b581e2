"""Who survived the tests of all rounds: they are replayed for the rows of a shard where that is in doubt.

In round t, row k has the interval ``mean ± radius_t·width``, and is ruled out for good if its upper end is
below the floor, the largest lower end of those not ruled out before. Who survives does not follow from the
last round alone. Since ``|<θ_t - θ, a>| <= ‖θ_t - θ‖·‖a‖`` in the norm of V_t, the present mean and width of
a row bound both ends in all earlier rounds; most rows need no replay.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.passes import TOGETHER, Indices, Norm
from noisewise.actions.catalogue.shards import Shard, Stored
from noisewise.core.support import blas
from noisewise.core.support.blocks import Floats, map_rows

#: PastRounds between two moments at which widths are computed from V itself.
SEGMENT = 32
#: Rows replayed together.
REPLAYED = 2048
#: Points at which the tests of all rounds are combined; between them they are joined by lines, on the safe
#: side.
GRID = 129


class PastRounds(NamedTuple):
    """What every round's test needs, and what the present says about it."""

    thetas: Floats  # (rounds, dim): the estimate after each
    steps: Floats  # (rounds, dim): widths lost <s, a>² in each
    radii: Floats  # (rounds,)
    uppers: Floats  # (segments, dim, dim): U before each segment
    reciprocals: Floats  # (segments, dim): 1/D
    slopes: Floats  # (rounds,): radius_t - ‖θ_t - θ‖ in the norm of V_t
    prior: float  # the largest width there ever was

    def since(self, number: int) -> tuple["PastRounds", int]:
        """The rounds from some number on, and some before; and how many those are."""
        segment = number // SEGMENT
        first = segment * SEGMENT
        kept = self._replace(
            thetas=self.thetas[first:],
            steps=self.steps[first:],
            radii=self.radii[first:],
            uppers=self.uppers[segment:],
            reciprocals=self.reciprocals[segment:],
            slopes=self.slopes[first:],
        )
        return kept, number - first


class Present(NamedTuple):
    """The present estimate and norm."""

    theta: Floats
    norm: Norm
    widest: float  # the largest width


def ends(rows: Stored, rounds: PastRounds) -> tuple[Floats, Floats]:
    """The means of some rows in every round, and their radius times width, (rows, rounds) each."""
    vectors = np.asarray(rows, dtype=np.float64)
    means = vectors @ rounds.thetas.T
    squares = np.square(vectors @ rounds.steps.T)
    solve = blas.routines().solve_many
    for number in range(len(rounds.uppers)):
        some = slice(number * SEGMENT, (number + 1) * SEGMENT)
        upper = np.asfortranarray(rounds.uppers[number])
        halves = solve(1.0, upper, vectors.T.copy(order="F"), trans_a=1, diag=1, overwrite_b=1).T
        before = np.square(halves) @ rounds.reciprocals[number]
        part = squares[:, some]
        np.cumsum(part, axis=1, out=part)
        np.subtract(before[:, None], part, out=part)
    return means, rounds.radii * np.sqrt(np.maximum(squares, 0.0))


def deaths(means: Floats, reaches: Floats, floors: Floats) -> Indices:
    """The round in which each row is ruled out; the number of rounds if it never is."""
    out = means + reaches < floors
    return np.where(out.any(axis=1), out.argmax(axis=1), len(floors))


def highest_floors(
    shard: Shard, present: Present, rounds: PastRounds, known: Floats, floors: Floats
) -> Floats:
    """The largest lower end in every round among rows that ``floors`` have not ruled out before, (rounds,).

    ``known`` are lower ends that are reached in any case: rows that stay below all of them are passed over.
    """
    grid = _grid(present)
    # lower_k(t) <= mean_k - slope_t·width_k, so a row matters if mean_k >= min over t of known_t +
    # slope_t·width_k.
    least = _combined(grid, known, rounds).min(axis=0)
    everybody = not np.isfinite(least).all()

    def look(part: slice) -> Floats:
        highest = np.full(len(floors), -np.inf)
        seen = seen_now(shard, part, present)
        matter = seen.means + seen.off >= np.interp(seen.widths - seen.wide_by, grid, least)
        rows = part.start + np.flatnonzero(matter | everybody)
        for first in range(0, len(rows), REPLAYED):
            means, reaches = ends(shard.block(rows[first : first + REPLAYED]), rounds)
            died = deaths(means, reaches, floors)
            lower = means - reaches
            lower[np.arange(len(floors)) > died[:, None]] = -np.inf
            np.maximum(highest, lower.max(axis=0), out=highest)
        return highest

    return np.asarray(np.max(map_rows(look, shard.count), axis=0))


def survivors(shard: Shard, present: Present, rounds: PastRounds, floors: Floats) -> Indices:
    """The rows of the shard that no round ruled out."""
    grid = _grid(present)
    # upper_k(t) >= mean_k + slope_t·width_k: nobody above the largest floor_t - slope_t·width_k was ever
    # ruled out.
    safe = -_combined(grid, -floors, rounds).min(axis=0)
    radius, floor = float(rounds.radii[-1]), float(floors[-1])

    def look(part: slice) -> Indices:
        seen = seen_now(shard, part, present)
        alive = seen.means - seen.off >= np.interp(seen.widths - seen.wide_by, grid, safe)
        doubtful = ~alive & (seen.means + seen.off + radius * (seen.widths + seen.wide_by) >= floor)
        found, rows = [np.flatnonzero(alive)], np.flatnonzero(doubtful)
        for first in range(0, len(rows), REPLAYED):
            some = rows[first : first + REPLAYED]
            died = deaths(*ends(shard.block(part.start + some), rounds), floors)
            found.append(some[died == len(floors)])
        return np.asarray(part.start + np.sort(np.concatenate(found)))

    return np.asarray(np.concatenate(map_rows(look, shard.count)) + shard.first)


def _grid(present: Present) -> Floats:
    """Widths from 0 to a little more than the largest."""
    return np.linspace(0.0, 1.01 * present.widest, GRID)


def _combined(widths: Floats, levels: Floats, rounds: PastRounds) -> Floats:
    """``level_t + slope_t·width`` for each round and width; with the largest, where the slope is below 0."""
    slopes = rounds.slopes[:, None]
    return np.asarray(levels[:, None] + slopes * np.where(slopes >= 0.0, widths, rounds.prior))


class SeenRows(NamedTuple):
    """Present means and widths of some rows, and how far rounding may have moved them."""

    means: Floats
    widths: Floats
    off: float
    wide_by: float


def seen_now(shard: Shard, part: slice, present: Present) -> SeenRows:
    """The present means and widths of some rows, in float32 where that is safe."""
    norm = present.norm
    kind = np.float32 if norm.is_single else np.float64
    root: NDArray[Any] = norm.root.astype(kind)
    theta: NDArray[Any] = present.theta.astype(kind)
    means, widths = np.empty(part.stop - part.start), np.empty(part.stop - part.start)
    for start in range(part.start, part.stop, TOGETHER):
        some = slice(start, min(start + TOGETHER, part.stop))
        here = slice(start - part.start, some.stop - part.start)
        block: NDArray[Any] = np.asarray(shard.block(some), dtype=kind)
        means[here] = block @ theta
        image = block @ root
        widths[here] = np.sqrt(np.einsum("ij,ij->i", image, image))
    roundings = norm.longest * (len(theta) + 8) * 2.0**-23
    off = roundings * float(np.linalg.norm(present.theta))
    return SeenRows(means, widths, off, roundings * float(np.linalg.norm(norm.root)))
