"""What all replications of one simulation share, on a list of actions or on an infinite set."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.policies.shell.base_policy import BasePolicy
from noisewise.simulation.results import PER_CHECKPOINT, Simulation
from noisewise.simulation.stopping import make_stop
from noisewise.world import Environment

#: Other programs must not count: they slow down whatever is chosen. Windows has no fine clock for that.
CLOCK = time.perf_counter if sys.platform == "win32" else time.thread_time
#: Rounds of the first replication that are timed, to choose an engine.
TIMED_ROUNDS = 256


class Pace(NamedTuple):
    """How fast the plain loop is."""

    seconds: float  # a round, planning not included: that is the same in every engine
    rounds: int  # that a replication takes, as far as can be seen


class Run(ABC):
    """A policy in an environment for a number of rounds; `replicate` runs it once."""

    policy: BasePolicy

    def __init__(
        self,
        policy: BasePolicy,
        env: Environment,
        horizon: int,
        seed: int,
        checkpoints: NDArray[np.int64],
        stop: tuple[str | None, float | None],
    ) -> None:
        self.refuse_stop(policy, stop[0])
        self.policy, self.env, self.horizon, self.seed = policy, env, horizon, seed
        self.checkpoints = checkpoints
        self.stop = make_stop(*stop, policy.options["delta"], policy.actions.max_norm)
        self._named_stop = stop
        self.prepare()

    @property
    def recipe(self) -> tuple[Any, ...]:
        """What another process makes the same run of."""
        return (
            type(self), self.policy, self.env, self.horizon, self.seed, self.checkpoints, self._named_stop
        )  # fmt: skip

    @abstractmethod
    def refuse_stop(self, policy: Any, stop: str | None) -> None:
        """Refuse a stopping rule that means nothing for this policy."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what all replications share."""

    @property
    @abstractmethod
    def compiles(self) -> bool:
        """Whether all of it can be compiled."""

    @property
    @abstractmethod
    def code(self) -> tuple[Any, ...]:
        """What its machine code is made from: the rule, and perhaps the kind of set."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers every round has to read at least, whatever runs it."""

    @abstractmethod
    def loop(self, compiled: bool) -> Any:
        """The loop of one replication."""

    @abstractmethod
    def replicate(
        self,
        r: int,
        loop: Any,
        compiled: bool,
        results: Simulation,
        row: int | None = None,
        rounds: int | None = None,
    ) -> None:
        """Run one replication and write its results where they belong.

        Args:
            r: Which one.
            loop: What `loop` returned.
            compiled: What it was called with.
            results: Where they are written.
            row: In which row of them; default: ``r``.
            rounds: Break off after so many, with no more than `stopped` and `fired` to be read; default:
                do not.
        """

    @abstractmethod
    def empty(self, replications: int) -> Simulation:
        """The results, still to be filled."""

    @property
    def is_timed_whole(self) -> bool:
        """Whether timing takes no less than a whole replication."""
        return self.horizon <= TIMED_ROUNDS

    def pace(self, results: Simulation) -> Pace:
        """Time plain rounds of the first replication; the results of a short one are written."""
        whole = self.is_timed_whole
        target, timed = results if whole else self.empty(1), _Timed(self.loop(compiled=False))
        self.replicate(0, timed, False, target, rounds=None if whole else TIMED_ROUNDS)
        rounds = int(target.stopped[0])
        return Pace(timed.seconds / rounds, rounds if target.fired[0] else self.horizon)

    def _empty(self, replications: int, action: tuple[int, ...], kind: Any) -> Simulation:
        """The same for actions that are arrays of this shape and kind."""
        shape = replications, self.checkpoints.size
        at_checkpoints: dict[str, Any] = {name: np.empty(shape) for name in PER_CHECKPOINT}
        at_checkpoints["advised"] = np.empty((*shape, *action), dtype=kind)
        return Simulation(
            policy=self.policy.name,
            options=dict(self.policy.options),
            horizon=self.horizon,
            seed=self.seed,
            checkpoints=self.checkpoints,
            pulled=np.empty((replications, self.horizon, *action), dtype=kind),
            stopped=np.full(replications, self.horizon, dtype=np.int64),
            fired=np.zeros(replications, dtype=np.bool_),
            world=self.env.describe(),
            stop={"name": self._named_stop[0], "eps": self._named_stop[1]},
            **at_checkpoints,
        )


class _Timed:
    """A loop, and how long its calls took."""

    def __init__(self, loop: Callable[..., Any]) -> None:
        self.loop, self.seconds = loop, 0.0

    def __call__(self, *arguments: Any) -> Any:
        start = CLOCK()
        answer = self.loop(*arguments)
        self.seconds += CLOCK() - start
        return answer
