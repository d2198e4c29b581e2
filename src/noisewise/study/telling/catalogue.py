"""The catalogue: a study's options with their features and costs, as the log keeps them, and whitened.

Features are centred and whitened over the catalogue, so that the size of theta means something: with ``Z``
the whitened features (mean 0, ``ZᵀZ/n = I``) and option values ``b + Zθ``, the variance of the option values
over the catalogue is exactly ``‖θ‖²``. Numbers within a range ``span`` have a variance of at most
``(span/2)²`` (Popoviciu), so "no two options differ by more than span" gives ``‖θ‖ <= span/2``: a bound that
a person can state, in the person's units, and that does not depend on how the features are scaled.
"""

import functools
import hashlib
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import COST, VALUE, check_names
from noisewise.core.text import check_text, check_texts
from noisewise.core.text import some_of as some_of


@dataclass(frozen=True)
class Feature:
    """One feature column: a number, or a category with its levels, the first being the reference."""

    name: str
    levels: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The numeric columns it becomes."""
        return [self.name] if not self.levels else [f"{self.name}={level}" for level in self.levels[1:]]


@dataclass(frozen=True, eq=False)
class OptionCatalogue:
    """Options with their names, encoded features and costs, and what there is to say about them."""

    ids: list[str]
    features: list[Feature]
    values: Floats  # (n, columns)
    costs: list[float] | None
    notes: list[str] = field(default_factory=list)
    id_column: str = "id"  # what the table called its names and costs: options that are added have the same
    cost_column: str = "cost"

    @property
    def columns(self) -> list[str]:
        """The names of the encoded columns."""
        return [column for feature in self.features for column in feature.columns]

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of everything in it."""
        digest = hashlib.sha256(repr((self.ids, self.columns, self.costs)).encode())
        digest.update(np.ascontiguousarray(self.values).tobytes())
        return digest.hexdigest()

    @functools.cached_property
    def whitening(self) -> "Whitening":
        """How its features become whitened ones."""
        return whiten(self)

    def to_plain(self) -> dict[str, Any]:
        """As lists and numbers, for a file."""
        return {
            "ids": self.ids,
            "features": [asdict(feature) for feature in self.features],
            "values": self.values.tolist(),
            "costs": self.costs,
            "notes": self.notes,
            "id_column": self.id_column,
            "cost_column": self.cost_column,
            "sha256": self.fingerprint,
        }

    @staticmethod
    def from_plain(plain: Any) -> "OptionCatalogue":
        """Read what `to_plain` wrote; refuse anything else."""
        if not isinstance(plain, dict):
            raise TypeError(f"`catalogue` must be an object; got {type(plain).__name__}.")
        parts = dict(plain)
        sha256 = parts.pop("sha256", None)
        names = [field.name for field in fields(OptionCatalogue)]
        check_names("`catalogue`", parts, names, names[:4])
        features = [_feature(item) for item in _list("features", parts["features"])]
        n_columns = sum(len(feature.columns) for feature in features)
        ids, notes = _texts("ids", parts["ids"]), _texts("notes", parts.get("notes", []))
        if not ids or len(set(ids)) < len(ids):
            raise ValueError("`ids` must name at least one option, and each once.")
        check_texts("ids", ids)
        values = np.array(_list("values", parts["values"]), dtype=float)
        if values.shape != (len(ids), n_columns) or not (np.abs(values) <= VALUE.most).all():
            raise ValueError(
                f"`values` must be finite numbers, {n_columns} for each of {len(ids)} options; got an array "
                f"of shape {values.shape}."
            )
        costs = None if parts["costs"] is None else _costs(parts["costs"], len(ids))
        called = [check_text(f"{name}_column", parts.get(f"{name}_column", name)) for name in ("id", "cost")]
        found = OptionCatalogue(ids, features, values, costs, notes, *called)
        if found.fingerprint != sha256:
            raise ValueError("the catalogue of this study was changed after the study was made.")
        return found


def _feature(plain: Any) -> Feature:
    if not isinstance(plain, dict):
        raise TypeError(f"a feature must be an object; got {plain!r}.")
    check_names("a feature", plain, ("name", "levels"), ("name", "levels"))
    levels = tuple(_texts("levels", plain["levels"]))
    if len(set(levels)) < len(levels):
        raise ValueError(f"`levels` must be different; got {levels!r}.")
    return Feature(check_text("name of a feature", plain["name"]), levels)


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"`{name}` must be a list; got {value!r}.")
    return list(value)


def _texts(name: str, value: Any) -> list[str]:
    texts = _list(name, value)
    if any(type(text) is not str or not text for text in texts):
        raise TypeError(f"`{name}` must be a list of texts.")
    return texts


def _costs(value: Any, count: int) -> list[float]:
    costs = _list("costs", value)
    usable = all(type(cost) in (int, float) and 0.0 < cost <= COST.most for cost in costs)
    if len(costs) != count or not usable:
        raise ValueError(f"`costs` must be {count} numbers above 0, at most {COST.most:g}.")
    return costs


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


def whiten(catalogue: OptionCatalogue) -> Whitening:
    """Return the whitening of a catalogue's features, with what there is to say about them."""
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
            'Without features use `model="independent"`.'
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
