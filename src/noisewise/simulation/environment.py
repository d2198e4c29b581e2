"""The world a simulation measures in: truth, schedule and noise, all drawn from the seed."""

import functools
import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise.actions import ActionSet, OracleSet
from noisewise.actions.oracle_set import finite_vector
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count
from noisewise.core.randomness import generator
from noisewise.simulation.action_noise import ActionNoise, NamedActionNoise
from noisewise.simulation.instances import Instance, on_set, shuffled
from noisewise.simulation.noise import Law, NamedLaw
from noisewise.simulation.noise import named as named_law
from noisewise.simulation.schedules import NAMES, NamedSchedule, Schedule, flat
from noisewise.simulation.schedules import named as named_schedule

NO_MASKS = np.empty((0, 0), dtype=np.bool_)
NO_TURNS = np.empty(0, dtype=np.int64)


class World(NamedTuple):
    """One replication's truth, in the order in which the policy sees the actions."""

    actions: ActionSet
    theta: Floats  # (dim,)
    means: Floats  # (n,)
    sigma: Floats  # (horizon,): the rounds' sigmas
    action_sigma: Floats  # (n,): factors of noise that depends on the action
    noise: Floats  # (horizon,), unit variance
    order: NDArray[np.int64]  # (n,): the action in the instance's order that row k stands for
    masks: NDArray[np.bool_] = NO_MASKS  # (G, n): sets of actions that take turns
    opening: NDArray[np.int64] = NO_TURNS  # (horizon,): the set allowed in each round; empty: always all


class SetWorld(NamedTuple):
    """One replication's truth on a set that answers questions."""

    theta: Floats  # (dim,)
    best: float  # the value of the best action
    sigma: Floats  # (horizon,)
    noise: Floats  # (horizon,), unit variance


class Environment:
    """A simulated world: ``reward = <theta, a> + sigma_t·noise``.

    Args:
        actions: The action set (or an array of vectors, or a set such as `noisewise.sets.Ball`).
        theta: The true parameter, ``(dim,)``.
        schedule: The sigmas of the rounds: an array, a function (horizon, rng) -> array, or the name of one
            of `noisewise.schedules`.
        noise: A law of unit variance, by name or as ``nw.noise.named(name, **options)``: "gaussian",
            "rademacher", "uniform", "laplace", "student-t", "pareto", "lognormal", "contaminated". Or a
            function (rng, size) -> array, of mean 0 and variance 1 if sigma is to be the standard deviation.
        announced: Whether a policy is told a round's sigma before it chooses.
        action_sigma: Noise that depends on the action: action k is measured with ``sigma_t·action_sigma[k]``.
            An array, or a function (vectors, theta, rng) -> array that is called in every replication.
            Only for lists of actions.
    """

    def __init__(
        self,
        actions: ActionSet | OracleSet | ArrayLike,
        theta: ArrayLike,
        schedule: ArrayLike | Schedule | str,
        noise: str | Law = "gaussian",
        announced: bool = False,
        *,
        action_sigma: ArrayLike | ActionNoise | None = None,
    ) -> None:
        known = isinstance(actions, ActionSet | OracleSet)
        fixed: Any = actions if known else ActionSet(actions)  # type: ignore[arg-type]
        parameter = finite_vector(theta, fixed.dim)
        if parameter is None:
            raise ValueError(f"`theta` must be {fixed.dim} finite numbers, one per feature; got {theta!r}.")
        self._fixed: Any = fixed
        self._theta = parameter
        if isinstance(fixed, OracleSet):
            given = on_set("given", {}, fixed, lambda rng, sigma: parameter)
        else:
            self._fixed_means = np.asarray(fixed.vectors @ parameter, dtype=np.float64)
            self._fixed_order = np.arange(fixed.n_actions)
            vectors = fixed.vectors.astype(float, copy=False)
            given = Instance("given", {}, lambda rng, sigma: (vectors, parameter), same_actions=True)
        self._prepare(given, schedule, noise, announced, action_sigma)

    @classmethod
    def of(
        cls,
        instance: Instance,
        schedule: ArrayLike | Schedule | str | None,
        noise: str | Law = "gaussian",
        announced: bool = False,
        *,
        action_sigma: ArrayLike | ActionNoise | None = None,
    ) -> "Environment":
        """A named instance under a schedule, drawn or shuffled afresh for every replication."""
        if schedule is None:
            raise ValueError(f"`schedule` must be given: {instance.name!r} has none of its own; got None.")
        environment = cls.__new__(cls)
        environment._fixed = None
        environment._prepare(instance, schedule, noise, announced, action_sigma)
        return environment

    def _prepare(
        self,
        instance: Instance,
        schedule: ArrayLike | Schedule | str,
        noise: str | Law,
        announced: bool,
        action_sigma: ArrayLike | ActionNoise | None,
    ) -> None:
        self.instance = instance
        self.actions: Any = instance.actions if self._fixed is None else self._fixed
        self.schedule = _known_schedule(schedule, self.actions.dim)
        self._law: Law = noise if callable(noise) else named_law(noise)
        self.noise = str(self._law) if isinstance(self._law, NamedLaw) else _name_of(self._law)
        self.announced = bool(announced)
        self.action_noise = action_sigma if callable(action_sigma) else None
        if isinstance(self.actions, OracleSet):
            if action_sigma is not None:
                raise ValueError(
                    f"`action_sigma` must be left out on {self.actions!r}, whose actions have no rows; "
                    f"got {action_sigma!r}."
                )
            self.action_sigma = np.ones(0)
            return
        given = None if callable(action_sigma) else action_sigma
        self.action_sigma = self._checked_factors(np.ones(self.actions.n_actions) if given is None else given)

    def _checked_factors(self, factors: ArrayLike) -> Floats:
        checked = _checked_sigmas("action_sigma", factors)
        if checked.shape != (self.actions.n_actions,):
            raise ValueError(
                f"`action_sigma` must have one number per action, {self.actions.n_actions}; "
                f"got {checked.size}."
            )
        return checked

    @property
    def changes(self) -> bool:
        """Whether the actions that are allowed change from round to round."""
        return self.instance.turns is not None

    def fits(self, actions: ActionSet | OracleSet) -> bool:
        """Whether these are the actions of this world, or look like those that it draws."""
        if actions is self.actions:
            return True
        if isinstance(actions, OracleSet) or isinstance(self.actions, OracleSet):
            return bool(actions.fingerprint() == self.actions.fingerprint())
        same_shape = actions.vectors.shape == self.actions.vectors.shape
        return same_shape and (self._fixed is None or actions.fingerprint() == self._fixed.fingerprint())

    def sigmas(self, horizon: int, seed: int, replication: int) -> Floats:
        """The sigmas of one replication's rounds."""
        check_count("horizon", horizon)
        if not callable(self.schedule):
            if len(self.schedule) < horizon:
                raise ValueError(
                    f"`schedule` must have a sigma for each of the {horizon} rounds; "
                    f"got {len(self.schedule)}."
                )
            return self.schedule[:horizon]
        drawn = self.schedule(horizon, generator(seed, "schedule", replication))
        sigma = _checked_sigmas("schedule", drawn)
        if sigma.shape != (horizon,):
            raise ValueError(f"`schedule` must return {horizon} sigmas, one per round; got {sigma.size}.")
        return sigma

    def world(self, horizon: int, seed: int, replication: int) -> World:
        """The truth of one replication: a pure function of seed and replication."""
        sigma = self.sigmas(horizon, seed, replication)
        noise = self._noise(horizon, seed, replication)
        rng = generator(seed, "instance", replication)
        if self._fixed is not None:
            means, order = self._fixed_means, self._fixed_order
            factors = self._factors(self._fixed.vectors, self._theta, rng, order)
            return World(self._fixed, self._theta, means, sigma, factors, noise, order)
        vectors, theta = self.instance.draw(rng, sigma)
        # Where all replications have the same actions, their order is shuffled.
        order = shuffled(len(vectors), rng) if self.instance.same_actions else np.arange(len(vectors))
        actions = ActionSet(vectors[order] if self.instance.same_actions else vectors)
        masks, opening = NO_MASKS, NO_TURNS
        if self.instance.turns is not None:
            masks, opening = self.instance.turns(sigma)
            masks = np.ascontiguousarray(masks[:, order])
        return World(
            actions,
            theta,
            actions.vectors @ theta,
            sigma,
            self._factors(actions.vectors, theta, rng, order),
            noise,
            order,
            masks,
            opening,
        )

    def _noise(self, horizon: int, seed: int, replication: int) -> Floats:
        """The noise of one replication's rounds, in units of their sigmas."""
        drawn = self._law(generator(seed, "noise", replication), horizon)
        try:
            numbers = np.asarray(drawn, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (horizon,) or not np.isfinite(numbers).all():
            raise ValueError(f"`noise` must return {horizon} finite numbers, one per round; got {drawn!r}.")
        return numbers

    def _factors(
        self,
        vectors: NDArray[np.floating],
        theta: Floats,
        rng: np.random.Generator,
        order: NDArray[np.int64],
    ) -> Floats:
        """The actions' factors of sigma, in the order in which the policy sees the actions."""
        if self.action_noise is None:
            return self.action_sigma[order]
        return self._checked_factors(self.action_noise(vectors.astype(np.float64, copy=False), theta, rng))

    def set_world(self, horizon: int, seed: int, replication: int) -> SetWorld:
        """The truth of one replication on a set that answers questions."""
        sigma = self.sigmas(horizon, seed, replication)
        noise = self._noise(horizon, seed, replication)
        _, theta = self.instance.draw(generator(seed, "instance", replication), sigma)
        return SetWorld(theta, self.actions.best(theta).value, sigma, noise)

    def describe(self) -> dict[str, Any]:
        """What makes this world, as plain numbers and strings; arrays that were given, as their hash."""
        fixed = (
            {} if self._fixed is None else {"actions": self._fixed.fingerprint(), "theta": _hash(self._theta)}
        )
        return {
            "instance": self.instance.name,
            "instance_options": self.instance.options | fixed,
            "schedule": describe_schedule(self.schedule),
            "noise": self.noise,
            "announced": self.announced,
            "action_sigma": self._describe_action_sigma(),
        }

    def _describe_action_sigma(self) -> Any:
        if isinstance(self.action_noise, NamedActionNoise):
            return {"name": self.action_noise.name, "options": self.action_noise.options}
        if self.action_noise is not None:
            return _name_of(self.action_noise)
        return None if (self.action_sigma == 1.0).all() else _hash(self.action_sigma)

    def __repr__(self) -> str:
        return f"Environment({self.instance.name}, {self.actions!r}, noise={self.noise!r})"


def _name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _known_schedule(schedule: ArrayLike | Schedule | str, dim: int) -> Floats | Schedule:
    """A schedule by name, as a function, or as its sigmas; the flat one is told the dimension."""
    given: Any = schedule
    name = "flat" if given is flat else given
    if isinstance(name, str):
        return named_schedule(name, **({"dim": dim} if name == "flat" else {}))
    return schedule if callable(schedule) else _checked_sigmas("schedule", schedule)


def describe_schedule(schedule: Floats | Schedule) -> dict[str, Any]:
    """A schedule by name and options if it has them, by hash if it is an array."""
    if isinstance(schedule, np.ndarray):
        return {"name": "given", "options": {"sigmas": _hash(schedule)}}
    if isinstance(schedule, NamedSchedule):
        return {"name": schedule.name, "options": schedule.options}
    if isinstance(schedule, functools.partial):
        return describe_schedule(schedule.func) | {"options": dict(schedule.keywords)}
    names = {function: name for name, function in NAMES.items()}
    name = names.get(schedule) or getattr(schedule, "__qualname__", type(schedule).__qualname__)
    return {"name": name, "options": {}}


def _hash(array: Floats) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def _checked_sigmas(name: str, sigmas: Any) -> Floats:
    try:
        array = np.array(sigmas, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must be a list of numbers above 0; got {sigmas!r}.") from None
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"`{name}` must be one-dimensional and not empty; got shape {array.shape}.")
    bad = ~(np.isfinite(array) & (array > 0.0))
    if bad.any():
        where = int(np.argmax(bad))
        raise ValueError(
            f"`{name}` must be finite numbers above 0; got {float(array[where])} at position {where}."
        )
    return array
