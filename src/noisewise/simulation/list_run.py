"""Replications on a list of actions."""

from typing import Any

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.support.randomness import generator
from noisewise.policies.shell.policy import Policy
from noisewise.policies.shell.recommendation import make_advice
from noisewise.policies.shell.rule import ANYTIME, FORESEEING, make_params
from noisewise.simulation.loop import Loop, Truth, make_loop, run_replication
from noisewise.simulation.record import Record, no_progress
from noisewise.simulation.results import PER_CHECKPOINT, Simulation
from noisewise.simulation.run import Run
from noisewise.simulation.stopping import CERTIFIED
from noisewise.world import World


class ListRun(Run):
    """What all replications of a simulation on a list share."""

    policy: Policy

    def refuse_stop(self, policy: Policy, stop: str | None) -> None:
        """A certificate that holds at fixed moments only cannot decide when to stop."""
        if stop in CERTIFIED and not _certificate(policy).startswith(ANYTIME):
            raise ValueError(
                f"`stop` must not be {stop!r} with {policy.name!r}: its certificate does not hold at a "
                "moment that is chosen by looking at the values."
            )

    def prepare(self) -> None:
        """Parameters are made with the first world."""
        self._prepared: tuple[ActionSet, Any] | None = None

    def loop(self) -> Loop:
        """The loop of one replication."""
        return make_loop(self.policy.rule)

    def empty(self, replications: int) -> Simulation:
        """The results, still to be filled."""
        return self._empty(replications, (), np.int32)

    def params(self, world: World) -> Any:
        """The rule's parameters; made once where all replications have the same actions."""
        actions, options = world.actions, self.policy.options
        if self._prepared is not None and self._prepared[0] is actions:
            return self._prepared[1]
        if "action_sigma" in options:
            # What a world announces is the noise of every action.
            options = options | {"action_sigma": world.action_sigma}
        params = make_params(self.policy.rule, actions, self.horizon, options)
        self._prepared = actions, params
        return params

    def replicate(self, r: int, loop: Loop, results: Simulation, row: int) -> None:
        """Run one replication and write its results where they belong."""
        rule = self.policy.rule
        world = self.env.world(self.horizon, self.seed, r)
        params = self.params(world)
        truth = self._truth(world, params, r)
        advice = make_advice(self.policy.options, world.means.size, generator(self.seed, "advice", r))
        at_checkpoints = (getattr(results, name)[row] for name in PER_CHECKPOINT)
        record = Record(results.pulled[row], self.checkpoints, no_progress(), *at_checkpoints)
        state = rule.init(params)
        done, fired = run_replication(loop, rule, params, state, truth, record, advice, self.stop)
        results.stopped[row], results.fired[row] = done, fired
        results.theta_norm[row] = np.linalg.norm(world.theta)
        # The world shuffled the actions; people see them in the order they know.
        results.pulled[row, :done] = world.order[results.pulled[row, :done]]
        results.advised[row] = world.order[results.advised[row]]

    def _truth(self, world: World, params: Any, r: int) -> Truth:
        """What the world knows, and the random numbers of the rule."""
        rule = self.policy.rule
        least = params.setting.radius.sigma_min
        smallest = float(world.sigma.min() * world.action_sigma.min())
        if smallest < least:
            raise ValueError(
                f"`sigma_min` must not exceed the smallest sigma of the schedule, {smallest}; got {least}."
            )
        draws = np.empty((self.horizon, rule.n_draws(params)))
        if draws.size:
            generator(self.seed, "rule", r).standard_normal(out=draws)
        return Truth(
            world.theta,
            world.means,
            world.action_sigma,
            world.sigma,
            world.noise,
            draws,
            self.env.announced and rule.sees_sigma in FORESEEING,
            rule.sees_sigma == "never",
            world.masks,
            world.opening,
            np.array([world.means[mask].max() for mask in world.masks]),
        )


def _certificate(policy: Policy) -> str:
    """What kind of certificate the rule has before any measurement."""
    return policy.rule.certificate(policy._params, policy.rule.init(policy._params))
