"""`simulate`: replications of a policy in an environment, over threads, the same whatever their number."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise.actions import ActionSet
from noisewise.core.checks import check_count
from noisewise.core.randomness import check_seed, generator
from noisewise.policies.policy import Policy
from noisewise.policies.rule import make_params
from noisewise.simulation.compiling import compiled_loop
from noisewise.simulation.loop import Loop, Record, Truth, make_loop, run_replication
from noisewise.simulation.results import Simulation, SimulationInterrupted, select
from noisewise.world import Environment

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
    checkpoints: ArrayLike | None = None,
    compiled: bool | None = None,
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
        checkpoints: The rounds after which the recommendation is recorded; default: about 40.
        compiled: Whether to compile the rule; default: if it can be.
    """
    run = _Run(policy, env, check_count("horizon", horizon), check_seed(seed), checkpoints)
    check_count("replications", replications)
    n_threads = (os.cpu_count() or 1) if threads is None else check_count("threads", threads)
    use_compiler = policy.rule.compiled if compiled is None else compiled
    if use_compiler and not policy.rule.compiled:
        raise ValueError(f"`compiled` must be False for {policy.name!r}: it runs in plain NumPy only.")
    results = run.empty(replications)
    loop = compiled_loop(policy.rule) if use_compiler else make_loop(policy.rule)
    chunks = [range(start, min(start + CHUNK, replications)) for start in range(0, replications, CHUNK)]
    # The first chunk runs alone: it compiles, and it finds what is wrong with the input.
    finished = np.zeros(replications, dtype=np.bool_)
    stop = threading.Event()
    try:
        run.replicate(chunks[0], loop, use_compiler, results, finished, stop)
        with ThreadPoolExecutor(n_threads) as pool:
            rest = iter(chunks[1:])
            waiting: set[Future[None]] = set()
            _refill(waiting, rest, pool, n_threads, run, loop, use_compiler, results, finished, stop)
            try:
                while waiting:
                    # A time limit lets Ctrl-C through to this thread.
                    done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                    _refill(
                        waiting,
                        rest,
                        pool,
                        n_threads,
                        run,
                        loop,
                        use_compiler,
                        results,
                        finished,
                        stop,
                    )
            except BaseException:
                stop.set()
                raise
    except KeyboardInterrupt:
        whole = np.flatnonzero(finished)
        raise SimulationInterrupted(select(results, whole) if whole.size else None) from None
    return results


def _refill(
    waiting: set[Future[None]],
    rest: Iterator[range],
    pool: ThreadPoolExecutor,
    n_threads: int,
    run: "_Run",
    *arguments: Any,
) -> None:
    """Keep a few chunks in the queue, not all: after Ctrl-C nothing more is begun."""
    while len(waiting) < 2 * n_threads:
        chunk = next(rest, None)
        if chunk is None:
            return
        waiting.add(pool.submit(run.replicate, chunk, *arguments))


class _Run:
    """What all replications of a simulation share."""

    def __init__(
        self,
        policy: Policy,
        env: Environment,
        horizon: int,
        seed: int,
        checkpoints: ArrayLike | None,
    ) -> None:
        if policy.actions.dim != env.actions.dim or (
            policy.actions is not env.actions and policy.actions.vectors.shape != env.actions.vectors.shape
        ):
            raise ValueError(
                f"`policy` must be made for the actions of `env`; got {policy.actions!r} and {env.actions!r}."
            )
        if policy.rule.sees_sigma == "before" and not env.announced:
            raise ValueError(
                f"`env` must announce sigma for {policy.name!r}, which needs it before the choice: "
                "make it with announced=True."
            )
        self.policy, self.env, self.horizon, self.seed = policy, env, horizon, seed
        self.checkpoints = _checkpoints(horizon, checkpoints)
        self._prepared: tuple[ActionSet, Any] | None = None

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
        )

    def params(self, actions: ActionSet, compiled: bool) -> Any:
        """The rule's parameters; made once where all replications have the same actions."""
        if self._prepared is not None and self._prepared[0] is actions:
            return self._prepared[1]
        params = make_params(self.policy.rule, actions, self.horizon, self.policy.options)
        if compiled:
            columns = np.ascontiguousarray(params.setting.columns, dtype=np.float64)
            params = params._replace(setting=params.setting._replace(columns=columns))
        self._prepared = actions, params
        return params

    def replicate(
        self,
        chunk: range,
        loop: Loop,
        compiled: bool,
        results: Simulation,
        finished: NDArray[np.bool_],
        stop: threading.Event,
    ) -> None:
        """Run some replications and write their results where they belong."""
        rule = self.policy.rule
        for r in chunk:
            if stop.is_set():
                return
            world = self.env.world(self.horizon, self.seed, r)
            params = self.params(world.actions, compiled)
            least = params.setting.radius.sigma_min
            smallest = float(world.sigma.min() * world.action_sigma.min())
            if smallest < least:
                raise ValueError(
                    f"`sigma_min` must not exceed the smallest sigma of the schedule, {smallest}; "
                    f"got {least}."
                )
            n_draws = rule.n_draws(params)
            draws = generator(self.seed, "rule", r).standard_normal((self.horizon, n_draws))
            truth = Truth(
                world.theta,
                world.means,
                world.action_sigma,
                world.sigma,
                world.noise,
                draws,
                self.env.announced and rule.sees_sigma == "before",
                rule.sees_sigma == "never",
            )
            record = Record(
                results.pulled[r],
                self.checkpoints,
                results.advised[r],
                results.simple_regret[r],
                results.cumulative_regret[r],
                results.total_precision[r],
                results.radius[r],
                results.distance[r],
                results.bound[r],
                np.zeros(2),
            )
            run_replication(loop, rule, params, rule.init(params), truth, record)
            # The world shuffled the actions; people see them in the order they know.
            results.pulled[r] = world.order[results.pulled[r]]
            results.advised[r] = world.order[results.advised[r]]
            finished[r] = True


def _checkpoints(horizon: int, given: ArrayLike | None) -> NDArray[np.int64]:
    if given is None:
        spread = np.geomspace(1, horizon, min(N_CHECKPOINTS, horizon))
        return np.unique(np.rint(spread).astype(np.int64))
    rounds = np.unique(np.asarray(given))
    if rounds.ndim != 1 or rounds.size == 0 or rounds[0] < 1 or rounds[-1] > horizon:
        raise ValueError(f"`checkpoints` must be rounds from 1 to the horizon, {horizon}; got {given!r}.")
    return rounds.astype(np.int64)
