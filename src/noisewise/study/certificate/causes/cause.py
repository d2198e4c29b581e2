"""A cause of a misfit: how likely it is, what to do about it, and what the fit would be then."""

from dataclasses import dataclass, field
from typing import Any

#: The kinds of causes.
ROW, UNIT, VARIANCES, ROOTS, UNDERSTATED, OVERSTATED = (
    "row", "unit", "variances", "roots", "understated", "overstated",
)  # fmt: skip
SCATTER, DEVIATION, OFFSETS, ORDER, UNEQUAL, COPIES, READINGS = (
    "scatter", "deviation", "offsets", "order", "unequal", "copies", "readings",
)  # fmt: skip


@dataclass(frozen=True)
class Cause:
    """One hypothesis about what is wrong, fitted."""

    kind: str
    words: str  # what is wrong, and what to do
    deviance: float  # -2·log L with its penalty: see `diagnosis.py`
    reduced: float  # chi-square per degree of freedom if the remedy is followed; NaN if there is no freedom
    freedom: int
    chance: float  # of a chi-square at least as large then
    remedy: dict[str, Any]  # the same for programs: void, amend, block, instrument or switch
    rows: tuple[dict[str, Any], ...] = ()  # measurements to look at, worst first
    switch: dict[str, str] = field(default_factory=dict)  # arguments of `Study.switch`
    nested: bool = False  # whether it includes a simpler cause, so that it is told first or not at all
    unsure: str | None = None  # the words if another cause is nearly as likely; None: the same

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        fits = self.freedom > 0
        return {
            "cause": self.kind,
            "words": self.words,
            "rows": [dict(row) for row in self.rows],
            "remedy": dict(self.remedy),
            "fit": {"reduced_chi_square": self.reduced, "freedom": self.freedom, "p_value": self.chance}
            if fits
            else None,
        }
