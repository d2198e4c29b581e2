"""`simulate`: replications of a policy in an environment, the same on any number of processors."""

import contextlib
import math
import time
import warnings
from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise.core.blocks import one_blas_thread
from noisewise.core.checks import check_count
from noisewise.core.parallel import spread
from noisewise.core.randomness import check_seed
from noisewise.rules.policy import Policy
from noisewise.simulation import Environment
from noisewise.simulation.results import Simulation, SimulationInterrupted, select
from noisewise.simulation.run import Run

#: Seconds that a piece of work should take, and how many pieces to make at least.
PIECE, LEAST_PIECES = 0.5, 32
#: Checkpoints by default: about this many, evenly spread over the logarithm of the rounds.
N_CHECKPOINTS = 40


def simulate(
    policy: Policy,
    env: Environment,
    *,
    horizon: int,
    replications: int = 200,
    seed: int = 0,
    stop: str | None = None,
    eps: float | None = None,
    checkpoints: ArrayLike | None = None,
    on: Any = None,
) -> Simulation:
    """Run a rule many times in a simulated world.

    Every random number is a function of the seed and the replication, and the noise of a round does not
    depend on the action: two policies simulated with the same seed face the same world and noise.

    Args:
        policy: A template: its rule and options are used, its measurements are not.
        env: The world.
        horizon: Rounds per replication.
        replications: Number of replications.
        seed: Seed of everything random.
        stop: When to stop before the horizon: "glr", "gap" (with ``eps``), or one of the heuristic
            thresholds in `noisewise.simulation.stopping.STOPS`; default: never.
        eps: With ``stop="gap"``: the regret bound to reach. With the others: a regret that does not matter,
            nothing by default.
        checkpoints: The rounds after which the recommendation is recorded; default: about 40.
        on: Number of processes, an executor of `concurrent.futures`, or a Dask client (or the address of its
            scheduler); default: this process for a second, then all processors. The results are the same.
    """
    run = make_run(policy, env, check_count("horizon", horizon), check_seed(seed), checkpoints, (stop, eps))
    results = run.empty(check_count("replications", replications))
    finished = np.zeros(replications, np.bool_)
    try:
        with contextlib.closing(_in_pieces(run, replications, on)) as pieces:
            for piece, arrays in pieces:
                for name, rows in arrays.items():
                    getattr(results, name)[piece.start : piece.stop] = rows
                finished[piece.start : piece.stop] = True
    except KeyboardInterrupt:
        whole = np.flatnonzero(finished)
        raise SimulationInterrupted(select(results, whole) if whole.size else None) from None
    if results.caveat:
        warnings.warn(f"{results.caveat}: give a larger norm_bound.", stacklevel=2)
    return results


def _in_pieces(run: Run, replications: int, on: Any) -> Generator[tuple[range, dict[str, Any]]]:
    """All replications: the first one here, which shows how long they take, the others in pieces."""
    start = time.perf_counter()
    with one_blas_thread():
        yield range(1), run(range(1))
    size = int(PIECE / (time.perf_counter() - start))
    size = max(1, min(size, math.ceil((replications - 1) / LEAST_PIECES)))
    pieces = [range(r, min(r + size, replications)) for r in range(1, replications, size)]
    yield from spread(run, pieces, on, label=f"simulating {run.rule.name}")


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


def make_run(
    policy: Policy,
    env: Environment,
    horizon: int,
    seed: int,
    checkpoints: ArrayLike | None,
    stop: tuple[str | None, float | None],
) -> Run:
    """Check that policy and world belong together."""
    if not isinstance(policy, Policy) or not isinstance(env, Environment):
        raise TypeError(
            "`policy` must be a policy, such as nw.vaee(actions), and `env` an Environment; "
            f"got {policy!r} and {env!r}."
        )
    reason = misfit(policy, env)
    if reason is not None:
        raise ValueError(reason)
    return Run(policy, env, horizon, seed, _checkpoints(horizon, checkpoints), stop)


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
