"""What an arena says: a row per match, ratios with intervals, geometric means over cells, ranks."""

import json
import math
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noisewise.arena.match import Match, half_width, read_match
from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_choice, check_probability
from noisewise.core.support.distributions import normal_quantile
from noisewise.core.support.ranks import mean_ranks

if TYPE_CHECKING:
    import polars as pl

#: The file beside the matches that says which belong together.
INDEX = "arena.json"


@dataclass(frozen=True, eq=False)
class Arena:
    """All finished matches of some rules in some cells."""

    matches: list[Match]
    horizon: int
    replications: int
    seed: int

    @cached_property
    def entries(self) -> list[str]:
        """The rules, in the order in which they were entered."""
        return list(dict.fromkeys(match.entry for match in self.matches))

    @cached_property
    def cells(self) -> list[str]:
        """The cells in which every rule has played."""
        played = self._by_place
        names = dict.fromkeys(match.cell for match in self.matches)
        return [cell for cell in names if all((cell, entry) in played for entry in self.entries)]

    @cached_property
    def _by_place(self) -> dict[tuple[str, str], Match]:
        return {(match.cell, match.entry): match for match in self.matches}

    def table(self) -> "pl.DataFrame":
        """One row per match: means over the replications; ``low`` and ``high`` belong to ``regret``."""
        import polars as pl

        rows = []
        for match in self.matches:
            mean, half = float(match.regret.mean()), half_width(match.regret)
            rows.append(
                {
                    "cell": match.cell,
                    "policy": match.entry,
                    "regret": mean,
                    "low": mean - half,
                    "high": mean + half,
                    "found": float(match.found.mean()),
                    "certified": float(match.certified.mean()),
                    "rounds": float(match.rounds.mean()),
                    "precision": float(match.precision.mean()),
                    "covered": float(match.covered.mean()),
                    "misses": int((~match.covered).sum()),
                    "microseconds": match.microseconds,
                    "engine": match.engine,
                }
            )
        return pl.DataFrame(rows)

    def ratios(self, against: str | None = None, confidence: float = 0.95) -> "pl.DataFrame":
        """Each rule's mean regret in each cell over that of one rule, paired, with intervals.

        ``ratio`` is null where a mean is 0, so that there is nothing to divide.
        """
        import polars as pl

        base = self._reference(against)
        rows = []
        for cell in self.cells:
            for entry in self.entries:
                mine, theirs = self._by_place[cell, entry].regret, self._by_place[cell, base].regret
                log_ratio, error = log_ratio_of_means(mine, theirs)
                half = _quantile(confidence) * error
                known = math.isfinite(log_ratio)
                rows.append(
                    {
                        "cell": cell,
                        "policy": entry,
                        "against": base,
                        "ratio": math.exp(log_ratio) if known else None,
                        "low": math.exp(log_ratio - half) if known else None,
                        "high": math.exp(log_ratio + half) if known else None,
                        "difference": float((mine - theirs).mean()),
                        "error": half_width(mine - theirs, confidence),
                    }
                )
        schema = {"ratio": pl.Float64, "low": pl.Float64, "high": pl.Float64}
        return pl.DataFrame(rows, schema_overrides=schema)

    def standings(
        self, against: str | None = None, cells: list[str] | None = None, confidence: float = 0.95
    ) -> "pl.DataFrame":
        """Each rule over all cells, best first: geometric mean of the ratios, worst ratio, mean rank.

        ``compared`` says in how many cells a ratio exists; the geometric mean is over those.
        """
        import polars as pl

        base = self._reference(against)
        chosen = self.cells if cells is None else [check_choice("cells", c, self.cells) for c in cells]
        ranks = self._mean_ranks(chosen)
        rows = []
        for entry in self.entries:
            pairs = [
                log_ratio_of_means(self._by_place[cell, entry].regret, self._by_place[cell, base].regret)
                for cell in chosen
            ]
            known = np.array([pair for pair in pairs if math.isfinite(pair[0])]).reshape(-1, 2)
            n = len(known)
            centre = float(known[:, 0].mean()) if n else math.nan
            # Cells are independent of one another.
            half = _quantile(confidence) * math.sqrt(float((known[:, 1] ** 2).sum())) / n if n else math.nan
            here = [self._by_place[cell, entry] for cell in chosen]
            rows.append(
                {
                    "policy": entry,
                    "geometric_mean": _exp(centre),
                    "low": _exp(centre - half),
                    "high": _exp(centre + half),
                    "worst": _exp(float(known[:, 0].max())) if n else None,
                    "rank": ranks[entry],
                    "compared": n,
                    "found": float(np.mean([match.found.mean() for match in here])),
                    "rounds": float(np.mean([match.rounds.mean() for match in here])),
                    "covered": float(np.mean([match.covered.mean() for match in here])),
                    "microseconds": float(np.median([match.microseconds for match in here])),
                }
            )
        return pl.DataFrame(rows).sort("geometric_mean", nulls_last=True)

    def _reference(self, against: str | None) -> str:
        return self.entries[0] if against is None else check_choice("against", against, self.entries)

    def _mean_ranks(self, cells: list[str]) -> dict[str, float]:
        means = np.array([[self._by_place[cell, e].regret.mean() for e in self.entries] for cell in cells])
        if not cells:
            return dict.fromkeys(self.entries, math.nan)
        ranks = np.array([mean_ranks(row)[0] for row in means])
        return dict(zip(self.entries, ranks.mean(axis=0).tolist(), strict=True))


def log_ratio_of_means(one: Floats, other: Floats) -> tuple[float, float]:
    """The logarithm of ``mean(one)/mean(other)`` and its standard error, for paired values.

    By the delta method: the error is that of the mean of ``one/mean(one) - other/mean(other)``. Minus or
    plus infinity, or NaN, if a mean is 0.
    """
    mean, base = float(one.mean()), float(other.mean())
    if mean <= 0.0 or base <= 0.0:
        return (math.nan if mean == base else math.copysign(math.inf, mean - base)), math.nan
    if len(one) < 2:
        return math.log(mean / base), math.inf
    spread = (one / mean - other / base).std(ddof=1)
    return math.log(mean / base), float(spread / math.sqrt(len(one)))


def load_arena(folder: str | PathLike[str]) -> Arena:
    """The finished matches of an arena's folder, as far as it got."""
    index = Path(folder) / INDEX
    if not index.is_file():
        raise FileNotFoundError(f"`folder` must hold an arena; there is no file {str(index)!r}.")
    content = json.loads(index.read_text(encoding="utf-8"))
    read = [read_match(Path(folder) / f"{key}.npz") for key in content["matches"]]
    finished = [match for match in read if match is not None]
    return Arena(finished, content["horizon"], content["replications"], content["seed"])


def _quantile(confidence: float) -> float:
    return normal_quantile(0.5 + check_probability("confidence", confidence) / 2.0)


def _exp(value: float) -> float | None:
    return math.exp(value) if math.isfinite(value) else None
