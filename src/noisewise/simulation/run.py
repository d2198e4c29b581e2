"""What all replications of one simulation share, on a list of actions or on an infinite set."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.policies.shell.base_policy import BasePolicy
from noisewise.simulation.results import PER_CHECKPOINT, PER_REPLICATION, Simulation
from noisewise.simulation.stopping import make_stop
from noisewise.world import Environment


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

    @abstractmethod
    def refuse_stop(self, policy: Any, stop: str | None) -> None:
        """Refuse a stopping rule that means nothing for this policy."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what all replications share."""

    @abstractmethod
    def loop(self) -> Any:
        """The loop of one replication."""

    @abstractmethod
    def replicate(self, r: int, loop: Any, results: Simulation, row: int) -> None:
        """Run replication ``r`` in this loop, and write its results into a row of them."""

    @abstractmethod
    def empty(self, replications: int) -> Simulation:
        """The results, still to be filled."""

    def __call__(self, piece: range) -> dict[str, Any]:
        """The arrays of some replications, by name."""
        results, loop = self.empty(len(piece)), self.loop()
        for row, r in enumerate(piece):
            self.replicate(r, loop, results, row)
        return {name: getattr(results, name) for name in PER_REPLICATION}

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
            theta_norm=np.empty(replications),
            world=self.env.describe(),
            stop={"name": self._named_stop[0], "eps": self._named_stop[1]},
            **at_checkpoints,
        )
