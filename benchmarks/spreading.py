"""What a cluster costs: CPU of pieces against threads, and machine code that travels against compiling it.

Ratios of CPU seconds within one run, on a cluster of two workers on this machine.
"""

import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import noisewise as nw
from benchmarks.timing import Row
from noisewise.core.spreading.tasks import Kit
from noisewise.core.spreading.workers import workers_on
from noisewise.simulation.machine_code import PackedCode, compiled_code, install_code
from noisewise.simulation.run import Run
from noisewise.simulation.sharing import elsewhere
from noisewise.simulation.simulate import make_run

HORIZON, REPLICATIONS, PIECES, TURNS = 2000, 2800, 4, 3
#: Task CPU over that of threads; the same with scheduler and client; installing over compiling.
TASKS, ALL, INSTALLING = 1.10, 1.30, 0.10


def rows() -> list[Row]:
    """All figures, or a row that says what is missing."""
    return [*_sweeps(), _shipping()]


def _run() -> Run:
    world = nw.instances.sphere(60, 6)
    env = world.environment(nw.schedules.log_uniform)
    return make_run(nw.vaee(world.actions), env, HORIZON, 0, None, (None, None))


def timed(sent: bytes, piece: range) -> tuple[float, float]:
    """On a worker: the CPU and the clock of a piece."""
    cpu, clock = time.thread_time(), time.perf_counter()
    elsewhere._replicated(sent, piece)
    return time.thread_time() - cpu, time.perf_counter() - clock


def _one(piece: range) -> str:
    return "loop"


def _sweeps() -> list[Row]:
    from distributed import Client, LocalCluster

    run = _run()
    how: dict[str, Any] = {"horizon": HORIZON, "replications": REPLICATIONS, "compile": True, "threads": 2}
    nw.simulate(run.policy, run.env, **how | {"replications": 2})
    order = elsewhere.SweepOrder(run.recipe, True, {}, False)
    size = REPLICATIONS // PIECES
    pieces = [range(k * size, (k + 1) * size) for k in range(PIECES)]
    tasks, everything, seconds = [], [], []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
        workers_on(client) as workers,
    ):
        kit = Kit(_one, elsewhere._compiled_here, install_code)
        spreading: dict[str, Any] = {"shared": elsewhere._sent(order), "kit": kit}
        list(workers.spread(timed, pieces[:2], **spreading))  # what is done once is not the subject
        for _ in range(TURNS):
            start = time.process_time()
            nw.simulate(run.policy, run.env, **how)
            threads = time.process_time() - start
            before = time.process_time() + sum(client.run(time.process_time).values())
            found = [out for _, out in workers.spread(timed, pieces, **spreading)]
            after = time.process_time() + sum(client.run(time.process_time).values())
            tasks.append(sum(cpu for cpu, _ in found) / threads)
            everything.append((after - before) / threads)
            seconds.append(sum(cpu for cpu, _ in found) / PIECES)
    detail = f"{PIECES} pieces of {statistics.median(seconds):.2f} CPU s each; median of {TURNS} turns"
    return [
        Row("CPU of pieces on a cluster, over threads", statistics.median(tasks), "x", TASKS, detail=detail),
        Row(
            "the same with workers, scheduler and client",
            statistics.median(everything),
            "x",
            ALL,
            detail=detail,
        ),
    ]


CODE = "import sys; from benchmarks.spreading import child; child(sys.argv[1], sys.argv[2])"


def child(what: str, file: str) -> None:
    """In a process with an empty cache: compile and pack, or install, load and run one round."""
    run = _run()
    import noisewise.simulation.behind  # noqa: F401 - loading Numba is the same for both

    run.replicate(0, run.loop(compiled=False), False, run.empty(1), rounds=1)
    start = time.process_time()
    if what == "compile":
        packed = compiled_code(run)
        spent = time.process_time() - start
        Path(file).write_bytes(pickle.dumps(packed))
    else:
        shipped: PackedCode = pickle.loads(Path(file).read_bytes())
        start = time.process_time()
        install_code(shipped)
        loop = run.loop(compiled=True)
        run.replicate(0, loop, True, run.empty(1), rounds=1)
        spent = time.process_time() - start
        assert not any(code.made for code in loop.codes), "it was compiled again"
    print(json.dumps(spent))


def _shipping() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "code"

        def spent(what: str, home: str) -> float:
            command = [sys.executable, "-c", CODE, what, str(file)]
            env = os.environ | {"NOISEWISE_CACHE_DIR": str(Path(folder) / home)}
            done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
            return float(json.loads(done.stdout.splitlines()[-1]))

        made = spent("compile", "one")
        loaded = statistics.median(spent("install", f"other{turn}") for turn in range(TURNS))
        size = len(file.read_bytes()) / 1000
    detail = f"{loaded:.2f} s to install, load and run a round of {size:.0f} kB; {made:.2f} s to compile it"
    name = "installing machine code that was sent, over compiling it"
    return Row(name, loaded / made, "x", INSTALLING, detail=detail)
