"""Rounds of compiled loops against loops written in C by hand, one for each rule (`hand_written/`)."""

import ctypes
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from benchmarks.timing import Row
from benchmarks.worlds import sphere
from noisewise.policies.shell.recommendation import make_advice
from noisewise.simulation.compilation import compiled_loop
from noisewise.simulation.loop import Truth, run_replication
from noisewise.simulation.record import Record, no_progress
from noisewise.simulation.stopping import make_stop

SOURCE = Path(__file__).parent / "hand_written" / "loops.c"
FLAGS = (
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp-simd",
)
#: Rules and their options: those whose radius and noise the hand-written ones have.
RULES: dict[str, dict[str, Any]] = {"vaee": {}, "weighted_oful": {"noise": "sub-gaussian"}, "vage": {}}
#: Actions, features, rounds.
SIZES = ((100, 10, 20_000), (1000, 20, 3000), (10_000, 50, 200))
BLOCKS, TIMES_C = 15, 1.25


class World(ctypes.Structure):
    """As `hand_written/knowledge.h` has it."""

    _fields_ = (
        ("means", ctypes.c_void_p),
        ("sigma", ctypes.c_void_p),
        ("noise", ctypes.c_void_p),
        ("rounds", ctypes.c_int64),
    )


class Limits(ctypes.Structure):
    """The same of what a rule's options say."""

    _fields_ = tuple(
        (name, ctypes.c_double) for name in ("ridge", "doubt", "delta", "rank", "most", "share", "challenge")
    )


def limits_of(params: Any) -> Limits:
    """The numbers that a hand-written loop needs."""
    radius = params.setting.radius
    most = radius.norm_bound * radius.max_norm
    share, challenge = getattr(params, "share", 0.0), getattr(params, "challenge", 0.0)
    return Limits(
        radius.ridge, radius.doubt + radius.bias**2, radius.delta, radius.rank, most, share, challenge
    )


def built(folder: str) -> ctypes.CDLL:
    """The hand-written loops as a library."""
    library = f"{folder}/hand_written.so"
    subprocess.run(["cc", *FLAGS, "-shared", "-fPIC", str(SOURCE), "-o", library, "-lm"], check=True)
    return ctypes.CDLL(library)


def by_hand(library: ctypes.CDLL, policy: Any, world: Any) -> Callable[[], Any]:
    """A replication in C; it returns what was measured."""
    limits, columns = limits_of(policy._params), np.ascontiguousarray(world.actions.vectors.T)
    dim, n = columns.shape
    function, pulled = getattr(library, policy.name), np.empty(world.sigma.size, np.int32)
    function.restype = None
    told = World(world.means.ctypes.data, world.sigma.ctypes.data, world.noise.ctypes.data, pulled.size)

    def run() -> Any:
        function(
            *(ctypes.c_int64(size) for size in (dim, n)),
            ctypes.c_void_p(columns.ctypes.data),
            ctypes.byref(limits),
            ctypes.byref(told),
            ctypes.c_void_p(pulled.ctypes.data),
        )
        return pulled

    return run


def compiled(policy: Any, world: Any) -> Callable[[], Any]:
    """The same replication as a compiled loop, from a fresh state to the last round."""
    rule, params, horizon = policy.rule, policy._params, world.sigma.size
    columns = np.ascontiguousarray(world.actions.vectors.T)
    params = params._replace(setting=params.setting._replace(columns=columns))
    nothing = np.empty((0, 0), np.bool_), np.empty(0, np.int64), np.empty(0)
    truth = Truth(
        world.theta,
        world.means,
        world.action_sigma,
        world.sigma,
        world.noise,
        np.empty((horizon, 0)),
        False,
        False,
        *nothing,
    )
    advice = make_advice(policy.options, world.means.size, np.random.default_rng(0))
    loop, stop = compiled_loop(rule), make_stop(None, None, 0.05, 1.0)
    pulled, checkpoint = np.empty(horizon, np.int32), np.array([horizon])

    def run() -> Any:
        at_checkpoint = (np.empty(1) for _ in range(6))
        record = Record(pulled, checkpoint, no_progress(), np.empty(1, np.int32), *at_checkpoint)
        run_replication(loop, rule, params, rule.init(params), truth, record, advice, stop)
        return pulled

    return run


def compare(library: ctypes.CDLL, name: str, size: tuple[int, int, int]) -> Row:
    """The time of a replication against that in C, in alternating blocks, by the processor's clock."""
    n, dim, horizon = size
    env = sphere(n, dim, horizon)
    policy, world = nw.make_policy(name, env.actions, **RULES[name]), env.world(horizon, 0, 0)
    ours, theirs = compiled(policy, world), by_hand(library, policy, world)
    same = float((ours().copy() == theirs()).mean())
    taken = [[_processor_time(each) for each in (ours, theirs)] for _ in range(BLOCKS)]
    fast, slow = (min(times) / horizon * 1e6 for times in zip(*taken, strict=True))
    return Row(
        name=f"{name}, {n} x {dim}: a compiled round against C by hand",
        figure=statistics.median(one / other for one, other in taken),
        unit="x",
        target=TIMES_C,
        detail=f"{fast:.2f} against {slow:.2f} µs a round at best; {same:.0%} of the actions are the same",
    )


def _processor_time(function: Callable[[], Any]) -> float:
    start = time.thread_time()
    function()
    return time.thread_time() - start


def rows() -> list[Row]:
    """All rules at all sizes."""
    with tempfile.TemporaryDirectory() as folder:
        library = built(folder)
        return [compare(library, name, size) for name in RULES for size in SIZES]
