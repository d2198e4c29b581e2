"""What a rule is: a class with a few short methods, options as fields, and state as plain attributes.

    class Widest(Rule):
        name = "widest"

        def choose(self, allowed, sigma):
            return self.model.widest(allowed)

That is a whole rule. It runs live behind `Policy` and in simulations, on lists and on infinite sets.
Everything else has a default: learning is weighted least squares, the advice is the largest mean, the
certificate is the anytime one. A rule overrides what is different, and keeps in ``self`` whatever it likes.
"""

import copy
import dataclasses
import math
from typing import Any, ClassVar, Literal, Self, dataclass_transform

import numpy as np

from noisewise.actions import ActionSet, OracleSet
from noisewise.actions.large_list import LargeList
from noisewise.core.blocks import Floats, Mask
from noisewise.core.checks import check_choice, check_positive
from noisewise.core.independent import Separate
from noisewise.core.radius import RADII, Averaged, GivenRadius, Radius, make_radius
from noisewise.core.randomness import check_seed
from noisewise.rules.model import new_model

#: A row number on a list, a vector on an infinite set.
Action = Any
RECOMMENDATIONS = ("best", "smallest-bound", "last", "most-played", "uniform-played")
#: How a certificate begins that is true at every moment at once.
ANYTIME = "anytime"


def fixed(value: Any) -> Any:
    """An option of all rules that means nothing to this one: it has this value and cannot be given."""
    return dataclasses.field(default=value, init=False)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(fixed,))
class Rule:
    """A rule and the options that all rules have.

    Subclasses are dataclasses: an annotated attribute is an option.

    Args:
        radius: ``"mixture"`` (the tightest of equal guarantee), ``"self-normalised"``, ``"paper"`` (as
            printed; needs ``sigma_min``), ``"averaged"`` (over mixtures: smaller where theta is well within
            its norm bound or the actions span many directions; dim³ per round), ``"restarted"`` (averaged
            with mixtures that begin later: the smallest bounds after many measurements; some 15 eigenvalue
            problems per look), or a number.
        ridge: Prior knowledge worth this much precision in every direction; above 0. ``"dim"``:
            dim/norm_bound², with which bounds on many features need fewer measurements.
        norm_bound: A number that the norm of theta does not exceed; the certificate rests on it.
        delta: The certificate holds at all times with probability ``1 - delta``.
        sigma_min: The smallest sigma that will ever be told; only ``radius="paper"`` needs it.
        seed: Seed of the rule's own random choices.
        recommendation: What to recommend. ``"best"``: the largest mean, among the candidates if the rule
            keeps any; ``"smallest-bound"``: the candidate with the smallest certified regret bound;
            ``"last"`` or ``"most-played"``: the action measured last or most often, while it may still be the
            best; ``"uniform-played"``: that of a measurement drawn at random, the only one whose expected
            regret is the cumulative regret over the number of rounds.
    """

    radius: str | float = "mixture"
    ridge: float | str = 1.0
    norm_bound: float = 1.0
    delta: float = 0.05
    sigma_min: float | None = None
    seed: int = 0
    recommendation: str = "best"

    # What a rule declares about itself.
    name: ClassVar[str]
    reference: ClassVar[str] = ""
    year: ClassVar[int | None] = None
    guarantee: ClassVar[str] = ""
    cost: ClassVar[str] = ""  # arithmetic per round, as in "n·dim"
    reconstruction: ClassVar[bool] = False  # the original could not be consulted: this is our reading of it
    sees_sigma: ClassVar[Literal["before", "if announced", "after", "never"]] = "after"
    random: ClassVar[bool] = False  # `choose` draws from `self.rng`
    lists_only: ClassVar[bool] = False  # it must look at every action
    fixed_set: ClassVar[bool] = False  # all actions must be allowed in every round
    needs_horizon: ClassVar[bool] = False  # it plans for a number of rounds
    pools: ClassVar[bool] = False  # measurements of one action may be replaced by their weighted mean
    is_ball: ClassVar[bool] = True  # its certificate is a ball around least squares: restarts may begin in it
    recommends_on_sets: ClassVar[tuple[str, ...]] = ("best",)

    # ---- What a rule may override. ----

    def prepare(self) -> None:
        """Once for these actions: check options, solve for a design. May read actions, horizon and limits."""

    def start(self) -> None:
        """Set up the state before any measurement, beside the model."""

    def choose(self, allowed: Mask, sigma: float | None) -> Action:
        """What to measure now: one of the allowed actions. Changes nothing.

        Args:
            allowed: ``(n,)`` on a list, None on an infinite set.
            sigma: The noise of the coming measurement, if the rule sees it beforehand.
        """
        raise NotImplementedError

    def learn(self, action: Action, reward: float, sigma: float) -> None:
        """One measurement; sigma is NaN for a rule that never sees it."""
        self.model.learn(action, reward, sigma)

    def imagine(self, action: Action, sigma: float) -> None:
        """A measurement under way, as if it came out as expected."""
        self.learn(action, self.model.mean(action), sigma)

    def recommend(self) -> Action:
        """The action to take if measuring stops now."""
        return self.model.best(self.model.everyone())

    def beta(self) -> float:
        """β, the radius of the certificate; NaN for a rule that has none."""
        return self.limits.at(self.model.arrays)

    def candidates(self) -> Any:
        """The actions that may still be the best: a mask on a list, `Certificates` on an infinite set."""
        return self.model.not_ruled_out(self.beta())

    def bound(self, action: Action, candidates: Any = None) -> float:
        """How far an action can be below the best, which is one of the candidates."""
        among = self.candidates() if candidates is None else candidates
        return float(self.model.regret_bound(among, action, self.beta()))

    def certain(self, action: int, eps: float) -> bool:
        """Whether no other action is better than this one by eps or more (a list only)."""
        radius = self.beta()
        return self.model.likelihood_ratio(action, eps) > 0.5 * radius * radius  # type: ignore[no-any-return]

    def most_sigma(self) -> float:
        """The largest sigma that the certificate allows."""
        return math.inf

    def certificate(self) -> str:
        """What kind of certificate the radius gives, in words; see `anytime`."""
        return self.anytime()

    def explain(self, action: Action) -> str:
        """Why to measure this action now, in words."""
        width = self.model.width(action)
        return f"The rule {self.name!r} chose it; its value is known to ±{width:.2g} (one standard error)."

    def chooses_by_width(self) -> bool:
        """Whether it always measures the widest action, so that a large list is seldom read as a whole."""
        return False

    def limits_for(self, actions: Any) -> Radius:
        """The numbers that go into the radius."""
        return self.make_limits(actions)

    def knowing(self, action_sigma: Floats) -> Self:
        """The rule as it is when a world announces how noisy each action is."""
        if not hasattr(self, "action_sigma"):
            return self
        twin: Any = copy.copy(self)
        twin.action_sigma = action_sigma
        return twin  # type: ignore[no-any-return]

    # ---- What all rules do alike. ----

    horizon = None  # type: int | None
    # Set by `on`; ClassVar, because fields are options.
    model: ClassVar[Any]  # a `Model` or a `SetModel`
    actions: ClassVar[Any]  # an `ActionSet` or an `OracleSet`
    limits: ClassVar[Radius]
    rng: ClassVar[np.random.Generator]
    _prepared: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)

    def on(self, actions: ActionSet | OracleSet, horizon: int | None = None) -> Self:
        """A copy of the rule on these actions, before any measurement."""
        twin: Any = copy.copy(self)
        twin.horizon = self.horizon if horizon is None else horizon
        twin.actions = actions
        twin._check_fit()
        twin.limits = twin.limits_for(actions)
        twin.model = twin._new_model()
        twin.prepare()
        twin._prepared = frozenset(vars(twin)) - {"model"}
        twin.start()
        twin.beta()  # a radius that cannot be is refused now, not in the middle of a run
        if self.radius == "restarted":
            from noisewise.rules.restarted import Restarted

            return Restarted(twin)  # type: ignore[return-value]
        return twin  # type: ignore[no-any-return]

    def _new_model(self) -> Any:
        by_width = self.chooses_by_width() and self.recommendation == "best" and self.radius != "restarted"
        if by_width and isinstance(self.actions, LargeList):
            from noisewise.rules.lazy_model import LazyModel

            return LazyModel(self.actions, self.limits.ridge)
        return new_model(self.actions, self.limits.ridge, self.recommendation == "last")

    def _check_fit(self) -> None:
        check_choice("recommendation", self.recommendation, RECOMMENDATIONS)
        check_seed(self.seed)
        if self.needs_horizon and self.horizon is None:
            raise ValueError(
                f"`horizon` must be given for {self.name!r}: it plans for a number of rounds; got None."
            )
        if isinstance(self.actions, OracleSet):
            self._check_set()
        elif (
            not isinstance(self.actions, LargeList)
            and isinstance(self.actions.columns, Separate)
            and issubclass(RADII.get(str(self.radius), GivenRadius), Averaged)
        ):
            raise ValueError(
                f"`radius` must not be {self.radius!r} for options without features, which share no "
                "weights; radius='mixture' serves them."
            )
        if self.radius == "restarted" and not self.is_ball:
            raise ValueError(
                f"`radius` must not be 'restarted' for {self.name!r}, whose bound is not that of weighted "
                "least squares at every moment: restarts would prove nothing about it; choose another "
                "radius, or another rule."
            )

    def _check_set(self) -> None:
        if self.lists_only:
            raise ValueError(
                f"`actions` must be a list of vectors for {self.name!r}, which looks at every action; "
                f"got {self.actions!r}. (nw.vaee runs on it.)"
            )
        if self.radius == "restarted":
            raise ValueError(
                "`radius` must not be 'restarted' on an infinite set, whose questions are answered for one "
                f"ellipsoid at a time; got {self.actions!r}: radius='averaged' serves it."
            )
        if self.recommendation not in self.recommends_on_sets:
            raise ValueError(
                f"`recommendation` must be 'best' for {self.name!r} on {self.actions!r}, whose actions are "
                f"not counted; got {self.recommendation!r}."
            )

    def make_limits(self, actions: Any, **changed: Any) -> Radius:
        """The numbers that go into the radius, some of them other than the options."""
        given = {"radius": self.radius, "ridge": self.ridge, "delta": self.delta} | changed
        if isinstance(given["ridge"], str):
            check_choice("ridge", given["ridge"], ("dim",))
            # The prior N(0, 1/ridge) of the mixture then expects ‖θ‖² = norm_bound².
            given["ridge"] = max(1, actions.rank) / check_positive("norm_bound", self.norm_bound) ** 2
        return make_radius(
            **given,
            norm_bound=self.norm_bound,
            max_norm=actions.max_norm,
            sigma_min=self.sigma_min,
            rank=actions.rank,
        )

    def ridge_at(self, level: float) -> float | str:
        """The ridge of textbooks, ``V = ridge·I + Σ a aᵀ``, where every measurement has sigma ``level``."""
        return self.ridge if isinstance(self.ridge, str) else check_positive("ridge", self.ridge) / level**2

    def anytime(self, *conditions: str, unproven: str = "") -> str:
        """A certificate that is true at every moment at once, in words.

        Args:
            conditions: What it rests on; each starts with "if".
            unproven: The option, with its value, that voids it.
        """
        by_hand = ["if the radius that was given is right"] if isinstance(self.limits, GivenRadius) else []
        words = " and ".join([*by_hand, *conditions])
        doubt = f"but nothing is proven with {unproven}" if unproven else ""
        return ", ".join(part for part in (ANYTIME, words, doubt) if part)

    def scaled(self, beta: float, scale: float) -> float:
        """A radius with its stochastic part, all but the bias of the ridge, multiplied by ``scale``."""
        return self.limits.bias + scale * (beta - self.limits.bias)

    def uniform(self, normal: float | None = None) -> float:
        """A random number between 0 and 1: Φ of a normal one, so that a stream has numbers of one kind."""
        drawn = self.rng.standard_normal() if normal is None else normal
        return 0.5 * math.erfc(-drawn / math.sqrt(2.0))

    def again(self) -> Self:
        """A copy of the rule on the same actions before any measurement; what was prepared is shared."""
        twin: Any = object.__new__(type(self))
        vars(twin).update({name: vars(self)[name] for name in self._prepared})
        twin._prepared, twin.model = self._prepared, self.model.fresh(self.limits.ridge)
        twin.start()
        return twin  # type: ignore[no-any-return]

    def copy(self) -> Self:
        """An independent copy with everything learnt so far; what was prepared is shared."""
        twin: Any = copy.copy(self)
        shared = self._prepared | {"_prepared", "rng"}
        own = {name: value for name, value in vars(self).items() if name not in shared}
        vars(twin).update(copy.deepcopy(own))
        return twin  # type: ignore[no-any-return]

    def options(self) -> dict[str, Any]:
        """The options by name, as plain numbers, strings and lists; the horizon is kept apart."""
        return {name: plain(getattr(self, name)) for name in option_names(type(self)) if name != "horizon"}

    @property
    def foresees(self) -> bool:
        """Whether it is told a coming sigma."""
        return self.sees_sigma in ("before", "if announced")


def option_names(rule: type[Rule]) -> list[str]:
    """The options that can be given: those that only this rule has, then those of all rules."""
    shared = [field.name for field in dataclasses.fields(Rule)]  # type: ignore[arg-type]
    names = [field.name for field in dataclasses.fields(rule) if field.init]  # type: ignore[arg-type]
    return sorted(names, key=shared.__contains__)


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's, which a file can hold."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def below(name: str, value: float, proven: float = 1.0) -> str:
    """The option as `Rule.anytime` names it, if it is below what the proof has."""
    return f"{name}={value:g}" if value < proven else ""


dataclasses.dataclass(kw_only=True, eq=False, repr=False)(Rule)
