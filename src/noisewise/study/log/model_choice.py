"""Which model a study uses: what options have in common, and by how much error bars are too small."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noisewise.core.checks import check_amount, check_choice
from noisewise.study.telling.scale import AS_TOLD, ValueScale

#: In the place of a number: to be found from the measurements, by restricted likelihood.
ESTIMATE = "estimate"
#: How often bounds may be looked at: see `noisewise.study.models.one_look`.
ANY_TIME, ONCE = LOOKS = ("any time", "once")
#: What a specification may leave out.
SIZES = ("deviation", "extra_scatter")

#: A number in the unit of the values, ESTIMATE, or None if the model has no such thing.
Size = float | str | None


@dataclass(frozen=True)
class ModelFacts:
    """What a log has to know of a model; all else is in its class (`noisewise.study.models`)."""

    name: str
    uses_features: bool = False
    has_deviation: bool = False  # whether the size of deviations is part of it
    most_options: int | None = None  # how many options a study may have
    limits_pairs: bool = True  # whether every compared option becomes an unknown that is tied to all others


_FACTS: dict[str, ModelFacts] = {}
_loaders: list[Callable[[], Any]] = []


def models_are_loaded_by(load: Callable[[], Any]) -> None:
    """Say how the models make themselves known, once the first is asked for."""
    _loaders.append(load)


def known_models() -> dict[str, ModelFacts]:
    """What is known of every model, by its name."""
    while _loaders:
        _loaders.pop()()
    return _FACTS


def add_model(facts: ModelFacts) -> None:
    """Make a model known by its name."""
    _FACTS[facts.name] = facts


def facts_of(name: Any) -> ModelFacts:
    """What is known of the model with this name."""
    facts = known_models()
    return facts[check_choice("model", name, tuple(facts))]


def check_room(facts: ModelFacts, n: int) -> None:
    """Refuse more options than a model takes."""
    if facts.most_options is not None and n > facts.most_options:
        raise ValueError(
            f'`options` must be at most {facts.most_options} with `model="{facts.name}"`; got {n}. '
            'Use `model="linear+deviation"`, or leave some out.'
        )


def named_models(wanted: Callable[[ModelFacts], bool]) -> str:
    """The names of the models that have some property, for a sentence."""
    return " or ".join(f'"{facts.name}"' for facts in known_models().values() if wanted(facts))


@dataclass(frozen=True)
class ModelChoice:
    """The model, with the sizes that are part of it."""

    model: str
    deviation: Size = None  # standard deviation of an option from the weighted sum of its features
    extra_scatter: Size = None  # standard deviation that every error bar lacks

    @property
    def facts(self) -> ModelFacts:
        """What is known of the model by its name."""
        return facts_of(self.model)

    @property
    def uses_features(self) -> bool:
        """Whether options have features in common."""
        return self.facts.uses_features

    @property
    def estimates(self) -> tuple[str, ...]:
        """The sizes that are to be estimated."""
        return tuple(name for name in SIZES if getattr(self, name) == ESTIMATE)

    def in_words(self, scale: ValueScale) -> str:
        """The model with its sizes, on the scale of the study."""
        sizes = [
            f"{name.replace('_', ' ')} {'estimated' if size == ESTIMATE else scale.error_stated(size)}"
            for name in SIZES
            if (size := getattr(self, name)) is not None
        ]
        kind = f"{self.model} model" + (f" ({', '.join(sizes)})" if sizes else "")
        return f"{kind} on a log scale" if scale.log else kind

    def __str__(self) -> str:
        return self.in_words(AS_TOLD)


def choose_model(model: Any, deviation: Any, extra_scatter: Any) -> ModelChoice:
    """Check a model and its sizes, and complete them."""
    facts = facts_of(model)
    if deviation is not None and not facts.has_deviation:
        others = named_models(lambda other: other.has_deviation)
        raise ValueError(f'`deviation` goes with `model={others}`; got it with `model="{model}"`.')
    size = ESTIMATE if deviation is None and facts.has_deviation else _size("deviation", deviation)
    return ModelChoice(model, size, _size("extra_scatter", extra_scatter))


def switched(
    now: ModelChoice, model: Any, deviation: Any, extra_scatter: Any, has_features: bool
) -> ModelChoice:
    """The model after a change; what is not said stays as it is, and an extra scatter of 0 takes it away."""
    if all(given is None for given in (model, deviation, extra_scatter)):
        raise ValueError(
            "say what to switch: `model=`, `deviation=`, `extra_scatter=` or `final=True`; got none of them."
        )
    name = now.model if model is None else facts_of(model).name
    if facts_of(name).uses_features and not has_features:
        others = named_models(lambda facts: not facts.uses_features)
        raise ValueError(
            f"`model` must be {others} for a study that was made without features; got {name!r}. "
            "Make a new study, naming `features=`, and tell it the same measurements."
        )
    if deviation is None and facts_of(name).has_deviation:
        deviation = now.deviation
    if extra_scatter is None:
        extra_scatter = now.extra_scatter
    elif extra_scatter == 0.0:
        extra_scatter = None
    chosen = choose_model(name, deviation, extra_scatter)
    if chosen == now:
        raise ValueError(f"nothing would change: the study uses the {now} already.")
    return chosen


def _size(name: str, given: Any) -> Size:
    if given is None or given == ESTIMATE:
        return given  # type: ignore[no-any-return]
    if isinstance(given, str):
        try:
            given = float(given)
        except ValueError:
            raise ValueError(f"`{name}` must be a number above 0 or {ESTIMATE!r}; got {given!r}.") from None
    return check_amount(name, given)
