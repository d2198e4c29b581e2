"""The catalogue: a study's options with their features and costs, as the log keeps them."""

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
