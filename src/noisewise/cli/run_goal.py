"""What a run is to reach, as it was typed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noisewise.study.certificates.certificate import Certificate
    from noisewise.study.study import Study

CERTIFIED, SPENT = "certified", "spent"


class RunGoal:
    """When a run ends, unless its budget is spent before.

    Args:
        until: ``certified``, ``spent``, or a bound; on a log scale a part of the best value, such as 2%.
    """

    def __init__(self, until: str) -> None:
        self.until: str | float = until  # as `Study.run` takes it
        self._bound: float | None = None

    def check(self, study: "Study", budget: object) -> None:
        """Refuse what this study cannot reach, and read a bound in its unit."""
        if self.until == CERTIFIED and study.specification.eps is None:
            raise ValueError(
                "`until` must be a bound, or spent with a budget: this study has no `eps` that certified "
                "could mean."
            )
        if self.until == SPENT and budget is None and study.specification.budget is None:
            raise ValueError("--until spent needs --budget, --budget-cost or --deadline.")
        if self.until not in (CERTIFIED, SPENT):
            self.until, self._bound = _bound(study, str(self.until))

    def is_reached(self, certificate: "Certificate") -> bool:
        """Whether it is reached; where that is to spend the budget, whether measuring may stop."""
        if self._bound is None:
            return certificate.reached
        return not certificate.withheld and certificate.bound <= self._bound


def _bound(study: "Study", until: str) -> tuple[str | float, float]:
    """A bound as it was typed, and as it is computed with."""
    scale = study.specification.value_scale
    try:
        typed = until if until.strip().endswith("%") else float(until)
        return typed, scale.read_eps(typed, "until")
    except (ValueError, TypeError):
        part = ", or a part of the best value such as 2%" if scale.log else ""
        raise ValueError(
            f"`until` must be certified, spent, or a bound above 0{part}; got {until!r}."
        ) from None
