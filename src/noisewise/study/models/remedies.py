"""What to do about a misfit, as words for people and as arguments of `Study.switch`."""

from typing import Any, NamedTuple

from noisewise.study.log.model_choice import ESTIMATE, SIZES, facts_of
from noisewise.study.models.sizes.variance_components import Likelihood, estimate_one
from noisewise.study.telling.scale import ValueScale

#: A difference in -2·log L that tells two models apart: about 20 to 1 in likelihood.
TELLING = 6.0

DISAGREE = "repeats of one option disagree by more than their error bars"
AGREE = "repeats of one option agree, and options deviate from the weighted sums of their features"
NO_REPEATS = (
    "nothing was repeated, which alone would tell whether the error bars or the features are to blame; the "
    "cautious reading is that options deviate from the weighted sums"
)


class Remedy(NamedTuple):
    """Another model, and why."""

    why: str
    switch: dict[str, str]  # arguments of `Study.switch`
    sizes: tuple[float, float]  # of deviation and extra scatter
    gain: float = 0.0  # by how much they raise log L

    @property
    def stated(self) -> dict[str, Any]:
        """The same switch with numbers in the place of what would be estimated."""
        sizes = dict(zip(SIZES, self.sizes, strict=True))
        model = self.switch.get("model")
        needed = ["deviation"] if model is not None and facts_of(model).has_deviation else []
        needed += [name for name in SIZES if name in self.switch]
        return self.switch | {name: sizes[name] for name in needed}

    def in_words(self, scale: ValueScale) -> str:
        """What to switch to, as arguments, with the sizes that are estimated."""
        stated = self.stated
        said = []
        for name, value in self.switch.items():
            size = stated.get("deviation") if name == "model" else stated[name]
            said.append(f'{name}="{value}"' + ("" if size is None else f" (size {scale.error(size)})"))
        return " with ".join(said)


def more_scatter(likelihood: Likelihood) -> Remedy:
    """Extra scatter, where repeats disagree."""
    return scatter_of(0.0, estimate_one(lambda size: likelihood(0.0, size), likelihood.tried))


def scatter_of(deviation: float, size: float) -> Remedy:
    """Extra scatter of this size beside deviations of that one."""
    return Remedy(DISAGREE, {"extra_scatter": ESTIMATE}, (deviation, size))
