"""What a study is about: everything that is fixed when it is made."""

import secrets
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from noisewise.core.checks import (
    AMOUNT,
    CONFIDENCE,
    COUNT,
    SEED,
    VALUE,
    check_amount,
    check_choice,
    check_count_within,
    check_names,
    check_probability,
    check_within,
)
from noisewise.core.text import check_text
from noisewise.study.log.model_choice import ANY_TIME as ANY_TIME
from noisewise.study.log.model_choice import (
    ESTIMATE,
    ModelChoice,
    Size,
    choose_model,
)
from noisewise.study.log.model_choice import LOOKS as LOOKS
from noisewise.study.log.model_choice import ONCE as ONCE
from noisewise.study.telling.catalogue import OptionCatalogue
from noisewise.study.telling.items import check_pool
from noisewise.study.telling.scale import LOG, SCALES, LogLimits, ValueScale, log_limits

#: The rule that lowers the bound of the certificate itself: see `noisewise.study.asking.race`.
RACE = "race"
#: The policy of a study that names none.
DEFAULT_POLICY = RACE
#: The policy of a study that names none and has a budget: the smallest expected regret at its end.
BUDGET_POLICY = "vage"
GOALS = ("max", "min")
#: Policies that do not look at values: what they ask for could have been written down beforehand.
BLIND = ("round_robin", "uniform")
#: The scatter of readings: each option's own, one that options share, or what fits the first measurement.
OWN, POOLED, FIRST = "own", "pooled", "first"
#: The errors: no heavier than normal ones; of any tails, as long as their variance is what error bars say; or
#: differences of options on the same items that lie evenly to both sides, however far.
NORMAL, HEAVY = TAILS = ("normal", "heavy")
SYMMETRIC = "symmetric"
#: What measurements are, where it is declared and they have neither bounds, items nor rounds.
ERROR_BARS, COUNTED, READ = DECLARED = ("error bars", "counts", "readings")
#: What items of such a study lie between on a log scale, where nothing is said: any time, any amount.
ANYTHING = (1e-12, 1e12)
#: Characters of a unit, which follows numbers in sentences.
UNIT_LENGTH = 30
#: Raised when the meaning of specifications or events changes.
SCHEMA = 1


@dataclass(frozen=True)
class PolicyChoice:
    """Which policy asks, pinned with the version of noisewise it comes from."""

    name: str
    version: str
    options: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Specification:
    """The question: which options, what is better, how sure, how close."""

    name: str
    catalogue: OptionCatalogue
    model: str
    goal: str
    confidence: float
    policy: PolicyChoice
    seed: int
    version: str
    eps: float | None = None
    noise_floor: float | None = None
    deviation: Size = None  # of the model it began with
    extra_scatter: Size = None
    budget: int | None = None  # how many measurements there will be, if that is fixed
    looks: str | None = None  # ONCE, or None: at any time
    bounds: tuple[float, float] | None = None  # between which all readings lie
    scatter: str | None = None  # of readings: FIRST, OWN or POOLED
    noise: str | None = None  # HEAVY, SYMMETRIC, or None: tails no heavier than normal
    items: list[str] | int | None = None  # the pool of items that options share; None: no pool, or no items
    unit: str | None = None  # of the values, for people
    scale: str | None = None  # LOG, or None: values as they are; amounts above are of what is computed with
    measure: str | None = None  # ERROR_BARS, COUNTED or READ where declared; other kinds are refused then

    @property
    def first_model(self) -> ModelChoice:
        """The model before any event "switch"."""
        return ModelChoice(self.model, self.deviation, self.extra_scatter)

    @property
    def sign(self) -> float:
        """Values times this are to be made large."""
        return 1.0 if self.goal == "max" else -1.0

    @property
    def delta(self) -> float:
        """The certificate's error probability."""
        return 1.0 - self.confidence

    @property
    def value_scale(self) -> ValueScale:
        """How its numbers are read and shown."""
        return ValueScale(self.scale == LOG, self.goal, self.unit)

    @property
    def log_limits(self) -> LogLimits | None:
        """How rough a measurement may be whose logarithm is taken; None where values are as they are."""
        return log_limits(self.resolution) if self.scale == LOG else None

    @property
    def computed_bounds(self) -> tuple[float, float] | None:
        """The bounds of readings on the scale that is computed with."""
        if self.bounds is None:
            return None
        low, high = map(self.value_scale.entered, self.bounds)
        return low, high

    @property
    def range_of_items(self) -> tuple[float, float]:
        """The least and the largest value that an item can have."""
        low, high = self.bounds or (ANYTHING if self.noise == SYMMETRIC else (0.0, 1.0))
        return float(low), float(high)

    @property
    def resolution(self) -> float:
        """The difference that matters, in the user's units: what the boundaries are tuned to."""
        return 1.0 / 20.0 if self.eps is None else self.eps

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        plain = {name: value for name, value in vars(self).items() if name not in ("catalogue", "policy")}
        plain = {name: value for name, value in plain.items() if value is not None}
        catalogue, policy = self.catalogue.to_plain(), asdict(self.policy)
        return {"schema": SCHEMA, **plain, "policy": policy, "catalogue": catalogue}

    @staticmethod
    def from_plain(plain: Any) -> "Specification":
        """Read what `to_plain` wrote; refuse anything else.

        Logs come from files and other machines: a specification is checked as strictly as a new question.
        """
        try:
            return _read(plain)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as problem:
            said = str(problem) if isinstance(problem, ValueError | TypeError) else repr(problem)
            raise ValueError(f"the specification of this study is not valid: {said}") from None


#: Fields of a specification that are not part of the question.
NOT_ASKED = ("name", "catalogue", "policy", "version")
#: Fields without a default.
REQUIRED = [field.name for field in fields(Specification) if field.default is MISSING]


def _read(plain: Any) -> Specification:
    if not isinstance(plain, dict):
        raise TypeError(f"it must be an object; got {type(plain).__name__}.")
    parts = dict(plain)
    schema = parts.pop("schema", None)
    if type(schema) is not int or schema != SCHEMA:
        raise ValueError(f"it has schema {schema!r}; this noisewise reads {SCHEMA}.")
    check_names("it", parts, [field.name for field in fields(Specification)], REQUIRED)
    for name in ("name", "version"):
        if type(parts[name]) is not str or parts[name] != check_text(name, parts[name]):
            raise ValueError(f"`{name}` must be a text without blanks around it; got {parts[name]!r}.")
    parts["policy"] = _read_policy(parts["policy"])
    parts["catalogue"] = OptionCatalogue.from_plain(parts["catalogue"])
    if parts.get("bounds") is not None:
        parts["bounds"] = tuple(parts["bounds"])
    found = Specification(**parts)
    _check_as_new(found)
    return found


def _read_policy(plain: Any) -> PolicyChoice:
    names = [field.name for field in fields(PolicyChoice)]
    if not isinstance(plain, dict):
        raise TypeError(f"`policy` must be an object; got {plain!r}.")
    check_names("`policy`", plain, names, names)
    for name, kind in (("name", str), ("version", str), ("options", dict)):
        if type(plain[name]) is not kind or (kind is str and not plain[name]):
            raise ValueError(f"`policy` must have a name, a version and options; got {name}={plain[name]!r}.")
    return PolicyChoice(**plain)


def _check_as_new(found: Specification) -> None:
    """Refuse what creation would refuse, or would not write down in this way."""
    stated = {name: value for name, value in vars(found).items() if name not in NOT_ASKED}
    if stated["scatter"] not in (None, FIRST, OWN, POOLED):
        check_choice("scatter", stated["scatter"], (FIRST, OWN, POOLED))
    checked = _checked(**stated)
    for name, value in stated.items():
        if type(value) is bool or value != checked[name]:
            raise ValueError(f"`{name}` must be as a new study has it, {checked[name]!r}; got {value!r}.")
    if found.looks == ONCE and found.policy.name not in BLIND:
        raise ValueError(
            f"`policy` must be {' or '.join(BLIND)} with `final=True`; got {found.policy.name!r}."
        )
    if found.first_model.uses_features and not found.catalogue.features:
        raise ValueError(f'`features` must name at least one column for `model="{found.model}"`; got none.')


def check_question(
    *,
    model: Any,
    goal: Any,
    eps: Any,
    confidence: Any,
    noise_floor: Any,
    seed: Any,
    deviation: Any,
    extra_scatter: Any,
    budget: Any,
    final: Any,
    bounds: Any,
    scatter: Any,
    noise: Any,
    items: Any,
    unit: Any,
    scale: Any,
    measure: Any,
) -> dict[str, Any]:
    """Check what makes up the question, and complete it."""
    if not isinstance(final, bool):
        raise TypeError(f"`final` must be true or false; got {final!r}.")
    unit = None if unit is None else check_text("unit", unit, most=UNIT_LENGTH)
    goal = check_choice("goal", goal, GOALS)
    reading = ValueScale(check_choice("scale", scale, SCALES) == LOG, goal, unit)
    return _checked(
        model=model,
        goal=goal,
        eps=None if eps is None else reading.read_eps(eps),
        confidence=confidence,
        noise_floor=None if noise_floor is None else reading.read_error(noise_floor, "floor"),
        seed=_new_seed(items) if seed is None else seed,
        deviation=reading.read_size(deviation, "deviation"),
        extra_scatter=reading.read_size(extra_scatter, "extra_scatter"),
        budget=budget,
        looks=ONCE if final else None,
        bounds=bounds,
        scatter=FIRST if scatter is None else check_choice("scatter", scatter, (OWN, POOLED)),
        noise=noise,
        items=items,
        unit=unit,
        scale=LOG if reading.log else None,
        measure=measure,
    )


def _checked(
    *,
    model: Any,
    goal: Any,
    eps: Any,
    confidence: Any,
    noise_floor: Any,
    seed: Any,
    deviation: Any,
    extra_scatter: Any,
    budget: Any,
    looks: Any,
    bounds: Any,
    scatter: Any,
    noise: Any,
    items: Any,
    unit: Any,
    scale: Any,
    measure: Any,
) -> dict[str, Any]:
    """Check the question as a specification keeps it: on the scale that is computed with."""
    chosen = choose_model(model, deviation, extra_scatter)
    checked: dict[str, Any] = {
        **asdict(chosen),
        "goal": check_choice("goal", goal, GOALS),
        "eps": None if eps is None else check_amount("eps", eps),
        "confidence": check_within("confidence", check_probability("confidence", confidence), CONFIDENCE),
        "noise_floor": None if noise_floor is None else check_amount("floor", noise_floor),
        "seed": check_count_within("seed", seed, SEED),
        "budget": None if budget is None else check_count_within("budget", budget, COUNT),
        "looks": None if looks is None else check_choice("looks", looks, (ONCE,)),
        "bounds": None if bounds is None else _two_bounds(bounds),
        "scatter": scatter,
        "noise": None if noise is None else check_choice("tails", noise, (HEAVY, SYMMETRIC)),
        "items": None if items is None else check_pool(items),
        "unit": None if unit is None else check_text("unit", unit, most=UNIT_LENGTH),
        "scale": None if scale is None else check_choice("scale", scale, (LOG,)),
        "measure": None if measure is None else check_choice("measure", measure, DECLARED),
    }
    _check_together(checked, chosen, scatter)
    if checked["eps"] is None and checked["looks"] != ONCE:
        raise ValueError(
            "`eps` must be given: how far from the best is good enough, in the unit of your values. Nothing "
            "else says what a small difference is. Only a finished table (`final=True`) needs none."
        )
    return checked


def _new_seed(items: Any) -> int:
    """A seed where none was stated: unforeseeable if the order of a pool follows from it."""
    return 0 if items is None else secrets.randbelow(2**53)  # as JSON keeps it everywhere


def _check_together(checked: dict[str, Any], chosen: ModelChoice, scatter: Any) -> None:
    """Refuse what does not go together; docs/studies.md has the table."""
    if chosen.uses_features:
        _check_shared(checked, chosen, scatter)
    if checked["looks"] == ONCE:
        _check_one_look(checked)
    if checked["noise"] == HEAVY:
        check_tails(chosen, checked["looks"])
    if checked["noise"] == SYMMETRIC:
        _check_rounds(checked, chosen)
    if checked["scale"] == LOG:
        _check_logarithms(checked)
    if scatter == OWN and chosen.extra_scatter is not None:
        raise ValueError(
            'nw.Errors(`scatter="own"`, `extra=`...) is a contradiction: scatter that readings do not '
            "show cannot "
            "be told from their own. Leave one of the two out."
        )


def _check_shared(checked: dict[str, Any], chosen: ModelChoice, scatter: Any) -> None:
    """Refuse what needs options that share nothing, in a model where they do."""
    if checked["items"] is not None or checked["noise"] == SYMMETRIC:
        what = "items" if checked["items"] is not None else "rounds"
        raise ValueError(
            f"`measure` must not be {what} in the {chosen.model} model: options are compared by their "
            f"features "
            'there, and not one by one. Use `model="independent"`.'
        )
    if scatter == OWN:
        raise ValueError(
            f'nw.Errors(`scatter="own"`) needs options that share nothing; in the {chosen.model} model '
            f"scatter is "
            'pooled. Leave it out, or use `model="independent"`.'
        )


def check_tails(chosen: ModelChoice, looks: str | None) -> None:
    """Refuse what errors of any tails do not go with: all that is known of them is their variance."""
    heavy = f'nw.Errors(`tails="{HEAVY}"`)'
    if chosen.uses_features:
        raise ValueError(f'{heavy} needs options that share nothing: use `model="independent"`.')
    if chosen.extra_scatter == ESTIMATE:
        raise ValueError(f"{heavy} needs `extra` as a number, or none: estimating it assumes normal errors.")
    if looks == ONCE:
        raise ValueError(f"{heavy} does not go with `final=True`: a bound for one look needs normal errors.")


def _check_rounds(checked: dict[str, Any], chosen: ModelChoice) -> None:
    """Refuse what rounds do not go with."""
    if chosen.extra_scatter is not None:
        raise ValueError('`measure="rounds"` has no error bars: leave `extra` out of nw.Errors.')
    if checked["looks"] == ONCE:
        raise ValueError('`measure="rounds"` does not go with `final=True`.')
    if checked["scale"] != LOG and checked["bounds"] is None:
        raise ValueError(
            f'`measure="rounds"` needs `scale="{LOG}"`, for ratios, or nw.Rounds(low, high), the bounds '
            f"of all values."
        )


def _check_logarithms(checked: dict[str, Any]) -> None:
    """Refuse what logarithms do not go with."""
    said = f'`scale="{LOG}"`'
    if checked["noise"] == HEAVY:
        raise ValueError(
            f'{said} does not go with nw.Errors(`tails="{HEAVY}"`): the logarithm of a value with an '
            f"error of any "
            "tails is off by an unknown amount. Take logarithms yourself, if you know their own error bars."
        )
    if checked["measure"] == COUNTED:
        raise ValueError(
            f'{said} does not go with `measure="{COUNTED}"`: a share may be 0, without a logarithm.'
        )
    if checked["bounds"] is not None and checked["bounds"][0] <= 0.0:
        raise ValueError(f"bounds in `measure` must be above 0 with {said}; got {checked['bounds'][0]:g}.")
    if checked["items"] is not None and checked["bounds"] is None:
        raise ValueError(
            f"items with {said} need bounds, nw.Items(pool, low, high), both above 0: what is "
            f"compared is the "
            "geometric mean over items."
        )


def _check_one_look(checked: dict[str, Any]) -> None:
    """Refuse what bounds for one look do not hold for."""
    if checked["items"] is not None or checked["bounds"] is not None:
        what = "items" if checked["items"] is not None else "ratings"
        raise ValueError(
            f"`measure={what}` does not go with `final=True`: a bound for one look does not hold there."
        )


def _two_bounds(bounds: Any) -> tuple[float, float]:
    """The least and the largest that a reading can be."""
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise ValueError(
            f"bounds in `measure` must be a pair (low, high) that no reading lies outside of; got {bounds!r}."
        )
    low, high = (check_within("measure", bound, VALUE) for bound in bounds)
    if not high - low >= 1e-6 * max(abs(low), abs(high), AMOUNT.least):
        raise ValueError(
            f"bounds in `measure` must be low, high, with low below high; got {low:g}, {high:g}."
        )
    return low, high
