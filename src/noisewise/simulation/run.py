"""The one replication loop, for lists of actions and infinite sets: choose, measure, learn, record."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.core.randomness import generator
from noisewise.rules.policy import Advice, Policy
from noisewise.rules.rule import ANYTIME
from noisewise.simulation import Environment
from noisewise.simulation.environment import SetWorld, World
from noisewise.simulation.results import PER_CHECKPOINT, PER_REPLICATION, Simulation
from noisewise.simulation.stopping import CERTIFIED, make_stop


class ListTruth:
    """What a world knows in one replication and the rule does not, on a list of actions."""

    kind, nothing = np.int32, -1  # of what was measured, and of what was not

    def __init__(self, world: World) -> None:
        self._world = world
        # Numbers of lists are Python's own, which compute several times as fast as NumPy's.
        self._means, self._factors = world.means.tolist(), world.action_sigma.tolist()
        self._sigmas, self._noise = world.sigma.tolist(), world.noise.tolist()
        self.best = float(world.means.max())
        self.least_sigma = float(world.sigma.min() * world.action_sigma.min())
        horizon = world.sigma.size
        self.tops = np.full(horizon, self.best)  # the best value among those allowed in each round
        self.allowed: list[Any] = [np.ones(world.means.size, np.bool_)] * horizon
        if world.opening.size:
            self.tops = np.array([world.means[mask].max() for mask in world.masks])[world.opening]
            self.allowed = [world.masks[turn] for turn in world.opening]

    def measure(self, action: int, t: int) -> tuple[float, float]:
        """What comes out in round t, and its sigma."""
        sigma = self._sigmas[t] * self._factors[action]
        return self._means[action] + sigma * self._noise[t], sigma

    def values(self, actions: Sequence[int]) -> Floats:
        """The true values of some actions."""
        return self._world.means[actions]

    def sigmas(self, actions: Sequence[int]) -> Floats:
        """The sigmas of the actions that were measured, in order."""
        return self._world.sigma[: len(actions)] * self._world.action_sigma[actions]

    def named(self, actions: Sequence[int]) -> NDArray[Any]:
        """The world shuffled the actions; people see them in the order they know."""
        return self._world.order[actions]


class SetTruth:
    """What a world knows on an infinite set, where actions are vectors."""

    kind, nothing = np.float64, math.nan

    def __init__(self, world: SetWorld) -> None:
        self._world = world
        self._sigmas, self._noise = world.sigma.tolist(), world.noise.tolist()
        self.best, self.least_sigma = world.best, float(world.sigma.min())
        self.tops = np.full(world.sigma.size, self.best)
        self.allowed = [None] * world.sigma.size

    def measure(self, vector: Floats, t: int) -> tuple[float, float]:
        """What comes out in round t, and its sigma."""
        sigma = self._sigmas[t]
        return float(np.dot(self._world.theta, vector)) + sigma * self._noise[t], sigma

    def values(self, vectors: Sequence[Floats]) -> Floats:
        """The true values of some actions."""
        return np.array([np.dot(self._world.theta, vector) for vector in vectors])

    def sigmas(self, vectors: Sequence[Floats]) -> Floats:
        """The sigmas of the actions that were measured, in order."""
        return self._world.sigma[: len(vectors)]

    def named(self, vectors: Sequence[Floats]) -> NDArray[Any]:
        """As they are."""
        return np.array(vectors)


class Run:
    """A rule in an environment for a number of rounds; called with a range, it runs these replications."""

    def __init__(
        self,
        policy: Policy,
        env: Environment,
        horizon: int,
        seed: int,
        checkpoints: NDArray[np.int64],
        stop: tuple[str | None, float | None],
    ) -> None:
        self.rule, self.env, self.horizon, self.seed = policy.rule, env, horizon, seed
        self.on_set, self.checkpoints = policy.on_set, checkpoints
        self.stop = make_stop(*stop, policy.rule.delta, policy.actions.max_norm)
        self._named_stop = stop
        self._prepared: Any = None
        if self.on_set and stop[0] not in (None, "gap"):
            raise ValueError(
                "`stop` must be 'gap' on an infinite set, where the best action is never known exactly; "
                f"got {stop[0]!r}."
            )
        if stop[0] in CERTIFIED and not policy.fresh().rule.certificate().startswith(ANYTIME):
            raise ValueError(
                f"`stop` must not be {stop[0]!r} with {policy.name!r}: its certificate does not hold at a "
                "moment that is chosen by looking at the values."
            )

    def __call__(self, piece: range) -> dict[str, Any]:
        """The arrays of some replications, by name."""
        runs = [self.replicate(r) for r in piece]
        return {name: np.array([run[name] for run in runs]) for name in PER_REPLICATION}

    def replicate(self, r: int) -> dict[str, Any]:
        """One replication: a pure function of its number."""
        world: Any = (self.env.set_world if self.on_set else self.env.world)(self.horizon, self.seed, r)
        truth: Any = SetTruth(world) if self.on_set else ListTruth(world)
        rule = self._rule_on(world)
        if truth.least_sigma < rule.limits.sigma_min:
            raise ValueError(
                f"`sigma_min` must not exceed the smallest sigma of the schedule, {truth.least_sigma}; "
                f"got {rule.limits.sigma_min}."
            )
        rule.rng = generator(self.seed, "rule", r)
        advice = Advice(float(generator(self.seed, "advice", r).random()))
        announced = self.env.announced and rule.foresees
        coming = world.sigma.tolist() if announced else [None] * self.horizon
        choose, learn, measure = rule.choose, rule.learn, truth.measure
        by_rule = rule.recommendation == "best"
        hidden, stop, most = rule.sees_sigma == "never", self.stop, rule.limits.largest_gap
        told: list[Any] = []
        looks: list[tuple[Any, float, float, float]] = []
        precision, fired = 0.0, False
        ahead = iter([*(self.checkpoints - 1).tolist(), math.inf])
        due = next(ahead)
        for t, (mask, foreseen) in enumerate(zip(truth.allowed, coming, strict=True)):
            action = choose(mask, foreseen)
            reward, sigma = measure(action, t)
            learn(action, reward, math.nan if hidden else sigma)
            told.append(action)
            if t < due and stop is None:
                continue
            advised = rule.recommend() if by_rule else advice.of(rule, told)
            if stop is not None:
                precision += 1.0 / (sigma * sigma)
                fired = stop(rule, advised, precision)
            if t == due or fired:
                bound = rule.bound(advised)
                bound = bound if bound < most else most  # also where it is NaN
                looks.append((advised, rule.beta(), rule.model.distance_to(world.theta), bound))
                due = next(ahead)
            if fired:
                break
        return self._record(truth, told, looks, fired) | {"theta_norm": np.linalg.norm(world.theta)}

    def _rule_on(self, world: Any) -> Any:
        """The rule before any measurement; what was prepared for the same actions is used again."""
        actions = self.env.actions if self.on_set else world.actions
        if self._prepared is None or self._prepared.actions is not actions:
            rule = self.rule if self.on_set else self.rule.knowing(world.action_sigma)
            self._prepared = rule.on(actions, self.horizon)
        return self._prepared.again()

    def _record(self, truth: Any, told: list[Any], looks: list[Any], fired: bool) -> dict[str, Any]:
        padded = (looks + looks[-1:] * self.checkpoints.size)[: self.checkpoints.size]
        advised, radius, distance, bound = (list(column) for column in zip(*padded, strict=True))
        at = np.minimum(self.checkpoints, len(told)) - 1
        pulled = truth.named(told).astype(truth.kind)
        left = np.full((self.horizon - len(told), *pulled.shape[1:]), truth.nothing, truth.kind)
        return {
            "pulled": np.concatenate([pulled, left]),
            "advised": truth.named(advised).astype(truth.kind),
            "simple_regret": truth.best - truth.values(advised),
            "cumulative_regret": np.cumsum(truth.tops[: len(told)] - truth.values(told))[at],
            "total_precision": np.cumsum(1.0 / truth.sigmas(told) ** 2)[at],
            "radius": radius,
            "distance": distance,
            "bound": bound,
            "stopped": len(told),
            "fired": fired,
        }

    def empty(self, replications: int) -> Simulation:
        """The results, still to be filled."""
        entries = (self.env.actions.dim,) if self.on_set else ()
        kind: Any = np.float64 if self.on_set else np.int32
        shape = replications, self.checkpoints.size
        at_checkpoints: dict[str, Any] = {name: np.empty(shape) for name in PER_CHECKPOINT}
        at_checkpoints["advised"] = np.empty((*shape, *entries), dtype=kind)
        return Simulation(
            policy=self.rule.name,
            options=self.rule.options(),
            horizon=self.horizon,
            seed=self.seed,
            checkpoints=self.checkpoints,
            pulled=np.empty((replications, self.horizon, *entries), dtype=kind),
            stopped=np.full(replications, self.horizon, dtype=np.int64),
            fired=np.zeros(replications, dtype=np.bool_),
            theta_norm=np.empty(replications),
            world=self.env.describe(),
            stop={"name": self._named_stop[0], "eps": self._named_stop[1]},
            **at_checkpoints,
        )
