"""`simulate`: replications of a policy in an environment, on all processors, the same on any number."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise.core.spreading.arithmetic import arithmetic
from noisewise.core.spreading.workers import opened
from noisewise.core.support.checks import check_count
from noisewise.core.support.randomness import check_seed
from noisewise.policies.shell.base_policy import BasePolicy
from noisewise.policies.shell.policy import Policy
from noisewise.policies.shell.set_policy import SetPolicy
from noisewise.simulation.engine import choose_loop, is_ready
from noisewise.simulation.list_run import ListRun
from noisewise.simulation.results import Simulation, SimulationInterrupted
from noisewise.simulation.run import Run
from noisewise.simulation.set_run import SetRun
from noisewise.simulation.sharing.elsewhere import Elsewhere
from noisewise.simulation.sharing.replications import Replications
from noisewise.simulation.sharing.team import Team
from noisewise.world import Environment

#: Checkpoints by default: about this many, evenly spread over the logarithm of the rounds.
N_CHECKPOINTS = 40


def simulate(
    policy: BasePolicy,
    env: Environment,
    *,
    horizon: int,
    replications: int = 200,
    seed: int = 0,
    threads: int | None = None,
    stop: str | None = None,
    eps: float | None = None,
    checkpoints: ArrayLike | None = None,
    compile: bool | None = None,
    compiled: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
    on: Any = None,
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
        threads: How many replications run at the same time, in threads or in processes; default: as many
            as there are processors. The results are the same with any number.
        stop: When to stop before the horizon: "glr", "gap" (with ``eps``), or one of the heuristic
            thresholds in `noisewise.simulation.stopping.STOPS`; default: never.
        eps: With ``stop="gap"``: the regret bound to reach. With the others: a regret that does not matter,
            nothing by default.
        checkpoints: The rounds after which the recommendation is recorded; default: about 40.
        compile: Whether to make machine code of the rule with Numba, or run it in plain Python; default:
            whichever will be done sooner, as `Simulation.engine` says afterwards. The results are the same,
            up to rounding.
        compiled: An older name of ``compile``.
        progress: Called now and then with (finished, all) replications.
        on: Who runs them, if not this machine: a Dask ``Client``, the address of its scheduler or its
            scheduler file, or an executor of `concurrent.futures`. The results are the same, on processors
            of one type to the last bit, as `Simulation.arithmetic` says.
    """
    run = make_run(policy, env, check_count("horizon", horizon), check_seed(seed), checkpoints, (stop, eps))
    check_count("replications", replications)
    if on is not None and threads is not None:
        raise ValueError("`threads` must be left out with `on`: the workers are as many as they are.")
    wanted = _wanted(run, compile, compiled)
    todo = Replications(run, replications, progress)
    try:
        with opened(on) as workers:
            if workers is None:
                _run_here(todo, None if threads is None else check_count("threads", threads), wanted)
            else:
                Elsewhere(todo, workers).run(wanted)
    except KeyboardInterrupt:
        raise SimulationInterrupted(todo.whole_ones()) from None
    return todo.results


def _run_here(todo: Replications, threads: int | None, compile: bool | None) -> None:
    """On this machine, in threads or processes."""
    team = Team(todo, threads)
    loop = choose_loop(team, compile)
    if loop is None:
        team.run_plain()
    else:
        team.run_compiled(loop)
        is_ready(todo.run)
    todo.computed_by(arithmetic(compiled=loop is not None))


def _wanted(run: Run, compile: bool | None, compiled: bool | None) -> bool | None:
    """What was said about the engine, under either name."""
    if compile is not None and compiled is not None and bool(compile) != bool(compiled):
        raise ValueError(f"`compiled` is an older name of `compile`; got {compiled!r} and {compile!r}.")
    wanted = compiled if compile is None else compile
    if wanted and not run.compiles:
        raise ValueError(
            f"`compile` must be False for {run.policy.name!r} here: it runs in plain NumPy only."
        )
    return wanted


def misfit(policy: BasePolicy, env: Environment) -> str | None:
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


def make_run(
    policy: BasePolicy,
    env: Environment,
    horizon: int,
    seed: int,
    checkpoints: ArrayLike | None,
    stop: tuple[str | None, float | None],
) -> Run:
    """Check that policy and world belong together."""
    if not isinstance(policy, BasePolicy) or not isinstance(env, Environment):
        raise TypeError(
            "`policy` must be a policy, such as nw.vaee(actions), and `env` an Environment; "
            f"got {policy!r} and {env!r}."
        )
    reason = misfit(policy, env)
    if reason is not None:
        raise ValueError(reason)
    rounds = _checkpoints(horizon, checkpoints)
    if isinstance(policy, SetPolicy):
        return SetRun(policy, env, horizon, seed, rounds, stop)
    assert isinstance(policy, Policy)
    return ListRun(policy, env, horizon, seed, rounds, stop)


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
