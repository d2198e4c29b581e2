"""What a run is to reach, as it was typed, and when it is given up."""

from typing import TYPE_CHECKING

from noisewise.core.support.words import counted

if TYPE_CHECKING:
    from noisewise.study import Certificate, Study

CERTIFIED, SPENT = "certified", "spent"
#: Measurements after which a certificate that is withheld all the time is given up: so many, or so many for
#: each option. What withholds it, such as values that do not scatter at all, seldom goes away by itself.
PATIENCE, FOR_EACH = 30, 3


class RunGoal:
    """When a run ends, unless its budget is spent before.

    Args:
        until: ``certified``, ``spent``, or a bound; on a log scale a part of the best value, such as 2%.
    """

    def __init__(self, until: str) -> None:
        self._until: str | float = until
        self._withheld_from: int | None = None
        self.given_up: str | None = None  # why, in words

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

    def is_reached(self, certificate: "Certificate") -> bool:
        """Whether it is reached; where that is to spend the budget, whether measuring may stop."""
        if isinstance(self._until, str):
            return certificate.reached
        return not certificate.withheld and certificate.bound <= self._until

    def may_stop(self, certificate: "Certificate") -> bool:
        """Whether the run ends: it is reached, or will not be."""
        if self._until == SPENT:
            return False
        if not certificate.withheld:
            self._withheld_from = None
        elif self._withheld_from is None:
            self._withheld_from = certificate.n_measurements
        else:
            many = certificate.n_measurements - self._withheld_from
            if many >= max(PATIENCE, FOR_EACH * certificate.n_options):
                self.given_up = (
                    f"{counted(many, 'measurement')} have not changed that the certificate is withheld"
                )
        return self.given_up is not None or self.is_reached(certificate)


def _bound(study: "Study", until: str) -> float:
    scale = study.specification.value_scale
    try:
        return scale.read_eps(until if until.strip().endswith("%") else float(until), "until")
    except (ValueError, TypeError):
        part = ", or a part of the best value such as 2%" if scale.log else ""
        raise ValueError(
            f"`until` must be certified, spent, or a bound above 0{part}; got {until!r}."
        ) from None
