"""What a run is to reach, as it was typed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noisewise.study import Certificate, Study

CERTIFIED, SPENT = "certified", "spent"


class RunGoal:
    """When a run ends, unless its budget is spent before.

    Args:
        until: ``certified``, ``spent``, or a bound; on a log scale a part of the best value, such as 2%.
    """

    def __init__(self, until: str) -> None:
        self._until: str | float = until
        self.asked: str | float = until  # as `Study.run` takes it

    def check(self, study: "Study", budget: str | None) -> None:
        """Refuse what this study cannot reach, and read a bound in its unit."""
        if self._until == CERTIFIED and study.specification.eps is None:
            raise ValueError(
                "`until` must be a bound, or spent with a budget: this study has no `eps` that certified "
                "could mean."
            )
        if self._until == SPENT and budget is None and study.specification.budget is None:
            raise ValueError("--until spent needs --budget: a number of measurements, a time, or a cost.")

        if isinstance(self._until, str) and self._until not in (CERTIFIED, SPENT):
            self._until = _bound(study, self._until)
            self.asked = self.asked if str(self.asked).strip().endswith("%") else float(self.asked)

    def is_reached(self, certificate: "Certificate") -> bool:
        """Whether it is reached; where that is to spend the budget, whether measuring may stop."""
        if isinstance(self._until, str):
            return certificate.reached
        return not certificate.withheld and certificate.bound <= self._until


def _bound(study: "Study", until: str) -> float:
    scale = study.specification.value_scale
    try:
        return scale.read_eps(until if until.strip().endswith("%") else float(until), "until")
    except (ValueError, TypeError):
        part = ", or a part of the best value such as 2%" if scale.log else ""
        raise ValueError(
            f"`until` must be certified, spent, or a bound above 0{part}; got {until!r}."
        ) from None
