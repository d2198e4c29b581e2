"""Features centred and whitened over the catalogue, so that the size of theta means something.

With ``Z`` the whitened features (mean 0, ``ZᵀZ/n = I``) and option values ``b + Zθ``, the variance of the
option values over the catalogue is exactly ``‖θ‖²``. Numbers within a range ``span`` have a variance of at
most ``(span/2)²`` (Popoviciu), so "no two options differ by more than span" gives ``‖θ‖ <= span/2``: a
bound that a person can state, in the person's units, and that does not depend on how the features are
scaled.
"""

import threading
from dataclasses import dataclass

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import some_of
from noisewise.study.inputs.catalogue import OptionCatalogue

#: Directions below this share of the largest are rounding, not features.
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Whitening:
    """How encoded features become whitened ones; the same map serves options that are added later."""

    centre: Floats  # (columns,)
    scale: Floats  # (columns,)
    directions: Floats  # (columns, rank): orthonormal
    stretch: Floats  # (rank,)
    notes: tuple[str, ...]

    @property
    def rank(self) -> int:
        """How many directions the features span."""
        return self.stretch.size

    def apply(self, values: Floats) -> Floats:
        """The whitened features of options, (n, rank)."""
        standard = (values - self.centre) / self.scale
        return np.asarray((standard @ self.directions) * self.stretch)

    def outside(self, values: Floats) -> Floats:
        """How far each option lies outside the span of the catalogue, relative to its size, (n,)."""
        standard = (values - self.centre) / self.scale
        left = standard - (standard @ self.directions) @ self.directions.T
        return np.asarray(np.linalg.norm(left, axis=1) / np.maximum(1.0, np.linalg.norm(standard, axis=1)))


#: The latest whitenings: a study is made, tried and opened with the same catalogue.
_LATEST: dict[str, Whitening] = {}
_MOST = 4
_LOCK = threading.Lock()


def whiten(catalogue: OptionCatalogue) -> Whitening:
    """The whitening of a catalogue's features, with what there is to tell about them."""
    with _LOCK:
        found = _LATEST.get(catalogue.fingerprint)
        if found is None:
            found = _LATEST[catalogue.fingerprint] = _whiten(catalogue)
            if len(_LATEST) > _MOST:
                del _LATEST[next(iter(_LATEST))]
    return found


def _whiten(catalogue: OptionCatalogue) -> Whitening:
    values, names = catalogue.values, catalogue.columns
    centre = values.mean(axis=0)
    spread = values.std(axis=0)
    constant = spread <= RANK_TOLERANCE * np.maximum(1e-300, np.abs(values).max(axis=0))
    scale = np.where(constant, 1.0, spread)
    standard = np.where(constant, 0.0, (values - centre) / scale)
    _, sizes, right = np.linalg.svd(standard, full_matrices=False)
    rank = int((sizes > RANK_TOLERANCE * max(1.0, sizes[0] if sizes.size else 0.0)).sum())
    if rank == 0:
        raise ValueError(
            "`features` must differ between options; all options have the same. "
            'Without features use model="independent".'
        )
    notes = _notes(catalogue, standard, names, constant, rank)
    stretch = np.sqrt(len(values)) / sizes[:rank]
    return Whitening(centre, scale, right[:rank].T.copy(), stretch, tuple(notes))


def _notes(
    catalogue: OptionCatalogue, standard: Floats, names: list[str], constant: Floats, rank: int
) -> list[str]:
    notes = []
    if flat := [name for name, same in zip(names, constant, strict=True) if same]:
        notes.append(f"{some_of(flat)}: the same for all options, which teaches nothing.")
    varying = [i for i, same in enumerate(constant) if not same]
    if rank < len(varying):
        notes += [
            f"{text}: {len(varying)} columns, rank {rank}. "
            f"Continuing in the {rank}-dimensional space; the certificate is unaffected."
            for text in _collinear(standard, names, varying)
        ]
    distinct, first, counts = np.unique(standard.round(12), axis=0, return_index=True, return_counts=True)
    if len(distinct) < len(standard):
        at = int(first[np.argmax(counts > 1)])
        same = np.flatnonzero((standard.round(12) == standard[at].round(12)).all(axis=1))
        notes.append(
            f"{len(standard) - len(distinct)} options repeat the features of another (such as "
            f"{some_of([catalogue.ids[k] for k in same])}): the linear model cannot tell them apart."
        )
    return notes


def _collinear(standard: Floats, names: list[str], varying: list[int]) -> list[str]:
    """One sentence per column that is a combination of earlier ones."""
    kept: list[int] = []
    texts = []
    for column in varying:
        if kept:
            coefficients, *_ = np.linalg.lstsq(standard[:, kept], standard[:, column], rcond=None)
            left = standard[:, column] - standard[:, kept] @ coefficients
            if np.linalg.norm(left) <= 1e-7 * np.sqrt(len(standard)):
                parts = [names[i] for i, c in zip(kept, coefficients, strict=True) if abs(c) > 1e-6]
                texts.append(f"feature {names[column]} is a combination of {some_of(parts)} (collinear)")
                continue
        kept.append(column)
    return texts
