"""What a problem is: how its actions and its true parameter are drawn, and for which rounds."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.model.dense import Floats
from noisewise.world.schedules import Schedule

if TYPE_CHECKING:
    from noisewise.world.environment import Environment

Draw = Callable[[np.random.Generator, Floats], tuple[Floats, Floats]]
Turns = Callable[[Floats], tuple[NDArray[np.bool_], NDArray[np.int64]]]


@dataclass(frozen=True)
class Instance:
    """A problem: how actions and parameter are drawn, knowing the sigmas that will come."""

    name: str
    options: dict[str, Any]
    draw: Draw
    """``(rng, sigma) -> vectors (n, dim), theta (dim,)``; may scale gaps with the total precision."""
    same_actions: bool
    """Whether all draws have the same actions; then a replication only shuffles their order."""
    schedule: Schedule | None = None
    """The schedule that belongs to it, if there is one."""
    turns: Turns | None = None
    """``(sigma) -> masks (G, n), opening (horizon,)``: the sets of actions that take turns, and the one
    that is allowed in each round; default: always all."""
    over: OracleSet | None = None
    """The set, where it is one that answers questions; then ``draw`` returns no vectors."""

    @functools.cached_property
    def actions(self) -> Any:
        """A typical set of actions, to make a policy for it (simulations draw their own)."""
        if self.over is not None:
            return self.over
        return ActionSet(self.draw(np.random.default_rng(0), np.ones(1))[0])

    def environment(self, schedule: Any = None, **options: Any) -> "Environment":
        """This problem under a schedule; options as for `Environment`."""
        from noisewise.world.environment import Environment

        return Environment.of(self, self.schedule if schedule is None else schedule, **options)


def on_set(
    name: str,
    options: dict[str, Any],
    actions: OracleSet,
    parameter: Callable[[np.random.Generator, Floats], Floats],
) -> Instance:
    """A problem on a set that answers questions: only the parameter is drawn."""

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return np.empty((0, actions.dim)), parameter(rng, sigma)

    return Instance(name, options, draw, same_actions=False, over=actions)


def constant(name: str, options: dict[str, Any], vectors: Floats, theta: Floats, **more: Any) -> Instance:
    """A problem that is the same in every replication, but for the order of its actions."""

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return vectors, theta

    return Instance(name, options, draw, same_actions=True, **more)


def shuffled(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random order of n actions, so that the order of storage never helps a rule."""
    return rng.permutation(n)
