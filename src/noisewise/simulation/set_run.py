"""Replications on a set that answers questions: what `simulate` does differently there."""

from typing import Any

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.randomness import generator
from noisewise.policies.shell.on_sets import SetState, new_state
from noisewise.policies.shell.rule import make_params
from noisewise.policies.shell.set_candidates import narrowed
from noisewise.policies.shell.set_policy import SetPolicy
from noisewise.simulation.record import Record, no_progress
from noisewise.simulation.results import PER_CHECKPOINT, Simulation
from noisewise.simulation.run import Run
from noisewise.simulation.set_loop import SetLoop, SetTruth, make_set_loop


class SetRun(Run):
    """What all replications of a simulation on such a set share."""

    policy: SetPolicy

    def refuse_stop(self, policy: SetPolicy, stop: str | None) -> None:
        """The best action of an infinite set is never known exactly."""
        if stop not in (None, "gap"):
            raise ValueError(
                "`stop` must be 'gap' on an infinite set, where the best action is never known exactly; "
                f"got {stop!r}."
            )

    def prepare(self) -> None:
        """The rule's parameters on this set, the same in every replication."""
        self._on_sets = self.policy.rule.on_sets
        self.params = make_params(self.policy.rule, self.policy.actions, self.horizon, self.policy.options)

    def loop(self) -> SetLoop:
        """The loop of one replication."""
        rule, oracle = self.policy.rule, self.policy.actions.oracle
        if not self._on_sets.among_candidates(self.params):  # type: ignore[union-attr]
            return make_set_loop(rule, oracle)

        def narrow(params: Any, state: SetState, spread: Floats, vector: Floats) -> None:
            vector[:] = narrowed(rule, self.policy.actions, params, state, spread, vector)

        return make_set_loop(rule, oracle, narrow)

    def empty(self, replications: int) -> Simulation:
        """The results, still to be filled."""
        return self._empty(replications, (self.policy.actions.dim,), np.float64)

    def replicate(self, r: int, loop: SetLoop, results: Simulation, row: int) -> None:
        """Run one replication and write its results where they belong."""
        rule, actions = self.policy.rule, self.policy.actions
        world = self.env.set_world(self.horizon, self.seed, r)
        least = self.params.setting.radius.sigma_min
        if world.sigma.min() < least:
            raise ValueError(
                f"`sigma_min` must not exceed the smallest sigma of the schedule, {world.sigma.min()}; "
                f"got {least}."
            )
        on_sets: Any = self._on_sets
        draws = np.empty((self.horizon, actions.dim if on_sets.random else 0))
        if draws.size:
            generator(self.seed, "rule", r).standard_normal(out=draws)
        hidden = rule.sees_sigma == "never"
        truth = SetTruth(world.theta, world.best, world.sigma, world.noise, draws, hidden)
        at_checkpoints = (getattr(results, name)[row] for name in PER_CHECKPOINT)
        record = Record(results.pulled[row], self.checkpoints, no_progress(), *at_checkpoints)
        state = new_state(on_sets, rule.init(self.params))
        last = on_sets.recommends_last(self.params)
        done, fired = loop(self.params, actions.shape, last, state, truth, record, self.stop)
        results.stopped[row], results.fired[row] = done, fired
        results.theta_norm[row] = np.linalg.norm(world.theta)
