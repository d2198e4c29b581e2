"""What to do about a misfit, as words for people and as arguments of `Study.switch`."""

from typing import NamedTuple

from noisewise.study.inputs.value_scale import ValueScale
from noisewise.study.log.model_choice import ESTIMATE
from noisewise.study.models.sizes.variance_components import Likelihood, estimate_one

#: A difference in -2·log L that tells two models apart: about 20 to 1 in likelihood.
TELLING = 6.0

DISAGREE = "repeats of one option disagree by more than their error bars"
AGREE = "repeats of one option agree, and options deviate from the weighted sums of their features"
NO_REPEATS = (
    "nothing was repeated, which alone would tell whether the error bars or the features are to blame; the "
    "cautious reading is that options deviate from the weighted sums"
)


class Remedy(NamedTuple):
    """One thing to do."""

    words: str
    switch: dict[str, str]  # arguments of `Study.switch`
    sizes: tuple[float, float]  # of deviation and extra scatter
    gain: float = 0.0  # by how much they raise log L


def more_scatter(likelihood: Likelihood, scale: ValueScale) -> Remedy:
    """Extra scatter, where repeats disagree."""
    size = estimate_one(lambda size: likelihood(0.0, size), likelihood.tried)
    return scatter_of(0.0, size, scale)


def scatter_of(deviation: float, size: float, scale: ValueScale) -> Remedy:
    """Extra scatter of this size beside deviations of that one."""
    words = f'{DISAGREE}: switch to extra_scatter="{ESTIMATE}" (size {scale.error(size)})'
    return Remedy(words, {"extra_scatter": ESTIMATE}, (deviation, size))
