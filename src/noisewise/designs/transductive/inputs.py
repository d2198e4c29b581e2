"""What a transductive design is given: precisions and directions, checked and in one frame's coordinates."""

from typing import Any

import numpy as np
from scipy.linalg import svd

from noisewise.designs.shared.algebra import product
from noisewise.designs.shared.frame import Frame
from noisewise.designs.shared.rows import Floats, check_vectors
from noisewise.designs.shared.span import unit_rows
from noisewise.designs.transductive.directions import Differences, Directions, Listed, Pairs

OUTSIDE = 1e-8  # share of a direction's length that counts as outside of the span


def check_precisions(weights: Any, n_actions: int) -> Floats | None:
    """The precision of one measurement of each action; None if it is 1 for all."""
    if weights is None:
        return None
    try:
        precisions = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"`weights` must be numbers, one per action; got {weights!r}.") from None
    if precisions.shape != (n_actions,):
        raise ValueError(f"`weights` must have shape ({n_actions},); got {precisions.shape!r}.")
    good = np.isfinite(precisions) & (precisions > 0.0)
    if not good.all():
        bad = int(np.argmin(good))
        raise ValueError(f"`weights` must be finite numbers above 0; got {precisions[bad]!r} at {bad}.")
    return precisions


def as_directions(directions: Any, dim: int, frame: Frame, spanning: Floats) -> Directions:
    """The directions in the coordinates of the frame; refused unless the actions span them."""
    pairs = isinstance(directions, Pairs)
    array = directions.vectors if pairs else check_vectors(directions)
    if array.shape[1] != dim:
        raise ValueError(f"`directions` must have {dim} columns, like `vectors`; got {array.shape[1]}.")
    array = np.asarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        bad = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise ValueError(f"`directions` must be finite; got {array[bad].tolist()!r} in row {bad}.")
    if pairs:
        array = array - array[0]
    lengths = np.linalg.norm(array, axis=1)
    if not lengths.any():
        raise ValueError("`directions` must hold one that is not zero; got only zeros.")
    if frame.rank < dim:
        _refuse_outside(array, lengths, frame.rank, spanning)
    coordinates = frame.coordinates(array)
    return Differences(coordinates) if pairs else Listed(coordinates[lengths > 0.0])


def _refuse_outside(array: Floats, lengths: Floats, rank: int, spanning: Floats) -> None:
    _, _, right = svd(unit_rows(spanning, np.ones(spanning.shape[1])), full_matrices=False)
    basis = right[:rank]
    outside = array - product(product(array, basis.T), basis)
    far = np.linalg.norm(outside, axis=1) > OUTSIDE * np.maximum(lengths, 1e-300)
    if far.any():
        bad = int(np.argmax(far))
        raise ValueError(
            "`directions` must lie in the span of `vectors`, or no measurement tells anything about "
            f"them; got {array[bad].tolist()!r} in row {bad}."
        )
