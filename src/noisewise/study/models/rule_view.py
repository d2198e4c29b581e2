"""The measurements as a rule sees them: all that filling a rule's model has to know of the rule."""

from typing import NamedTuple

from noisewise.study.models.sums import Sums


class RuleView(NamedTuple):
    """Pooled measurements in the rule's unit."""

    policy: str  # the rule's name
    whole: bool  # whether the rule takes in everything at once; else it learns one by one from the prior
    sums: Sums
    contrasts_only: bool  # whether offsets have no prior, since differences alone may decide what comes next
    deviation: float  # the size of deviations
