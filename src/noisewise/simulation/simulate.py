"""`simulate`: replications of a policy in an environment, over threads, the same whatever their number."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise.actions import ActionSet
from noisewise.core.support.checks import check_count
from noisewise.core.support.randomness import check_seed, generator
from noisewise.policies.shell.policy import Policy
from noisewise.policies.shell.recommendation import make_advice
from noisewise.policies.shell.rule import ANYTIME, FORESEEING, make_params
from noisewise.policies.shell.set_policy import SetPolicy
from noisewise.simulation.compilation import compiled_loop
from noisewise.simulation.loop import Loop, Record, Truth, make_loop, run_replication
from noisewise.simulation.results import PER_CHECKPOINT, Simulation, SimulationInterrupted, select
from noisewise.simulation.set_run import SetRun
from noisewise.simulation.stopping import CERTIFIED, make_stop
from noisewise.world import Environment, World

#: Checkpoints by default: about so many, evenly spread over the logarithm of the rounds.
N_CHECKPOINTS = 40
#: Replications handed to a thread at a time.
CHUNK = 8


def simulate(
    policy: Policy,
    env: Environment,
    *,
    horizon: int,
    replications: int = 200,
    seed: int = 0,
    threads: int | None = None,
    stop: str | None = None,
    eps: float | None = None,
    checkpoints: ArrayLike | None = None,
    compiled: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Run a rule many times in a simulated world.

    Every random number is a function of the seed and the replication, and the noise of a round does not
    depend on the action: two policies simulated with the same seed face the same world and noise.

    Args:
        policy: A template: its rule and options are used, its measurements are not.
        env: The world.
        horizon: Rounds per replication.
        replications: How many.
        seed: Of everything random.
        threads: How many replications run at the same time; default: as many as there are processors.
        stop: When to stop before the horizon: "glr", "gap" (with ``eps``), or one of the heuristic
            thresholds in `noisewise.simulation.stopping.STOPS`; default: never.
        eps: With ``stop="gap"``: the regret bound to reach. With the others: a regret that does not matter,
            nothing by default.
        checkpoints: The rounds after which the recommendation is recorded; default: about 40.
        compiled: Whether to compile the rule; default: if it can be.
        progress: Called now and then with (finished, all) replications.
    """
    run = _make_run(policy, env, check_count("horizon", horizon), check_seed(seed), checkpoints, (stop, eps))
    check_count("replications", replications)
    n_threads = (os.cpu_count() or 1) if threads is None else check_count("threads", threads)
    use_compiler = run.compiles if compiled is None else compiled
    if use_compiler and not run.compiles:
        raise ValueError(f"`compiled` must be False for {policy.name!r} here: it runs in plain NumPy only.")
    results = run.empty(replications)
    loop: Any = run.loop(use_compiler)
    finished = np.zeros(replications, dtype=np.bool_)
    interrupted = threading.Event()

    def work(chunk: range) -> None:
        for r in chunk:
            if interrupted.is_set():
                return
            run.replicate(r, loop, use_compiler, results)
            finished[r] = True
        if progress is not None:
            progress(int(finished.sum()), replications)

    starts = range(0, replications, CHUNK)
    chunks = (range(start, min(start + CHUNK, replications)) for start in starts)
    try:
        # The first replications run alone: they compile, and find what is wrong with the input.
        work(next(chunks))
        _spread(work, chunks, n_threads, interrupted)
    except KeyboardInterrupt:
        whole = np.flatnonzero(finished)
        raise SimulationInterrupted(select(results, whole) if whole.size else None) from None
    return results


def misfit(policy: Policy, env: Environment) -> str | None:
    """Why this policy cannot run in this world, in one sentence; None if it can."""
    if not env.fits(policy.actions):
        return f"`policy` must be made for the actions of `env`; got {policy.actions!r} and {env.actions!r}."
    if policy.rule.sees_sigma == "before" and not env.announced:
        return (
            f"`env` must announce sigma for {policy.name!r}, which needs it before the choice: "
            "make it with announced=True."
        )
    if policy.rule.fixed_set and env.changes:
        return (
            f"`env` must allow the same actions in every round for {policy.name!r}, which plans shares "
            f"for all of them; {env.instance.name!r} does not."
        )
    return None


def _spread(
    work: Callable[[range], None], chunks: Iterator[range], n_threads: int, interrupted: threading.Event
) -> None:
    """Work through the chunks on several threads; Ctrl-C and errors end it soon."""
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            # A few chunks wait in the queue, not all: after Ctrl-C nothing more is begun.
            waiting = {pool.submit(work, chunk) for chunk in islice(chunks, 2 * n_threads)}
            while waiting:
                # A time limit lets Ctrl-C through to this thread.
                done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                waiting |= {pool.submit(work, chunk) for chunk in islice(chunks, len(done))}
        except BaseException:
            interrupted.set()
            raise


def _make_run(
    policy: Policy,
    env: Environment,
    horizon: int,
    seed: int,
    checkpoints: ArrayLike | None,
    stop: tuple[str | None, float | None],
) -> "_Run | SetRun":
    """Check that policy and world belong together."""
    if not isinstance(policy, Policy) or not isinstance(env, Environment):
        raise TypeError(
            "`policy` must be a policy, such as nw.vaee(actions), and `env` an Environment; "
            f"got {policy!r} and {env!r}."
        )
    if not env.fits(policy.actions):
        raise ValueError(
            f"`policy` must be made for the actions of `env`; got {policy.actions!r} and {env.actions!r}."
        )
    if policy.rule.sees_sigma == "before" and not env.announced:
        raise ValueError(
            f"`env` must announce sigma for {policy.name!r}, which needs it before the choice: "
            "make it with announced=True."
        )
    rounds = _checkpoints(horizon, checkpoints)
    if isinstance(policy, SetPolicy):
        return SetRun(policy, env, horizon, seed, rounds, stop)
    return _Run(policy, env, horizon, seed, rounds, stop)


class _Run:
    """What all replications of a simulation share."""

    def __init__(
        self,
        policy: Policy,
        env: Environment,
        horizon: int,
        seed: int,
        checkpoints: NDArray[np.int64],
        stop: tuple[str | None, float | None],
    ) -> None:
        reason = misfit(policy, env)
        if reason is not None:
            raise ValueError(reason)
        if stop[0] in CERTIFIED and not _certificate(policy).startswith(ANYTIME):
            raise ValueError(
                f"`stop` must not be {stop[0]!r} with {policy.name!r}: its certificate does not hold at a "
                "moment that is chosen by looking at the values."
            )
        self.policy, self.env, self.horizon, self.seed = policy, env, horizon, seed
        self.checkpoints = checkpoints
        self.stop = make_stop(*stop, policy.options["delta"], policy.actions.max_norm)
        self._named_stop = stop
        self._prepared: tuple[ActionSet, Any] | None = None

    @property
    def compiles(self) -> bool:
        """Whether the rule can be compiled."""
        return self.policy.rule.compiled

    def loop(self, compiled: bool) -> Loop:
        """The loop of one replication."""
        return compiled_loop(self.policy.rule) if compiled else make_loop(self.policy.rule)

    def empty(self, replications: int) -> Simulation:
        """The results, still to be filled."""
        shape = (replications, self.checkpoints.size)
        return Simulation(
            policy=self.policy.name,
            options=dict(self.policy.options),
            horizon=self.horizon,
            seed=self.seed,
            checkpoints=self.checkpoints,
            pulled=np.empty((replications, self.horizon), dtype=np.int32),
            advised=np.empty(shape, dtype=np.int32),
            simple_regret=np.empty(shape),
            cumulative_regret=np.empty(shape),
            total_precision=np.empty(shape),
            radius=np.empty(shape),
            distance=np.empty(shape),
            bound=np.empty(shape),
            stopped=np.full(replications, self.horizon, dtype=np.int64),
            fired=np.zeros(replications, dtype=np.bool_),
            world=self.env.describe(),
            stop={"name": self._named_stop[0], "eps": self._named_stop[1]},
        )

    def params(self, world: World, compiled: bool) -> Any:
        """The rule's parameters; made once where all replications have the same actions."""
        actions, options = world.actions, self.policy.options
        if self._prepared is not None and self._prepared[0] is actions:
            return self._prepared[1]
        if "action_sigma" in options:
            # What a world announces is the noise of every action.
            options = options | {"action_sigma": world.action_sigma}
        params = make_params(self.policy.rule, actions, self.horizon, options)
        if compiled:
            columns = np.ascontiguousarray(params.setting.columns, dtype=np.float64)
            params = params._replace(setting=params.setting._replace(columns=columns))
        self._prepared = actions, params
        return params

    def replicate(self, r: int, loop: Loop, compiled: bool, results: Simulation) -> None:
        """Run one replication and write its results where they belong."""
        rule = self.policy.rule
        world = self.env.world(self.horizon, self.seed, r)
        params = self.params(world, compiled)
        least = params.setting.radius.sigma_min
        smallest = float(world.sigma.min() * world.action_sigma.min())
        if smallest < least:
            raise ValueError(
                f"`sigma_min` must not exceed the smallest sigma of the schedule, {smallest}; got {least}."
            )
        draws = np.empty((self.horizon, rule.n_draws(params)))
        if draws.size:
            generator(self.seed, "rule", r).standard_normal(out=draws)
        truth = Truth(
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
        advice = make_advice(self.policy.options, world.means.size, generator(self.seed, "advice", r))
        at_checkpoints = (getattr(results, name)[r] for name in PER_CHECKPOINT)
        record = Record(results.pulled[r], self.checkpoints, np.zeros(4), advice, *at_checkpoints)
        state = rule.init(params)
        rounds, fired = run_replication(loop, rule, params, state, truth, record, self.stop)
        results.stopped[r], results.fired[r] = rounds, fired
        # The world shuffled the actions; people see them in the order they know.
        results.pulled[r, :rounds] = world.order[results.pulled[r, :rounds]]
        results.advised[r] = world.order[results.advised[r]]


def _certificate(policy: Policy) -> str:
    """What kind of certificate the rule has before any measurement."""
    return policy.rule.certificate(policy._params, policy.rule.init(policy._params))


def _checkpoints(horizon: int, given: ArrayLike | None) -> NDArray[np.int64]:
    if given is None:
        spread = np.geomspace(1, horizon, min(N_CHECKPOINTS, horizon))
        return np.unique(np.rint(spread).astype(np.int64))
    rounds = np.asarray(given)
    whole = rounds.dtype.kind in "iu" and rounds.ndim == 1 and rounds.size > 0
    if not whole or rounds.min() < 1 or rounds.max() > horizon:
        raise ValueError(
            f"`checkpoints` must be whole numbers from 1 to the horizon, {horizon}; got {given!r}."
        )
    return np.unique(rounds).astype(np.int64)
