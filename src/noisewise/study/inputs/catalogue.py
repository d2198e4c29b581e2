"""The catalogue: a study's options with their features and costs, as the log keeps them."""

import functools
import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.text import some_of as some_of


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
    def from_plain(plain: dict[str, Any]) -> "OptionCatalogue":
        """Read back, refused if it was changed meanwhile."""
        features = [Feature(item["name"], tuple(item["levels"])) for item in plain["features"]]
        n_columns = sum(len(feature.columns) for feature in features)
        values = np.array(plain["values"], dtype=float).reshape(len(plain["ids"]), n_columns)
        # Earlier versions did not keep what columns were called.
        called = plain.get("id_column", "id"), plain.get("cost_column", "cost")
        found = OptionCatalogue(
            list(plain["ids"]), features, values, plain["costs"], list(plain["notes"]), *called
        )
        if found.fingerprint != plain["sha256"]:
            raise ValueError("the catalogue of this study was changed after the study was made.")
        return found
