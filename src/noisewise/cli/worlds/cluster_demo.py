"""``noisewise demo --cluster``: a simulation on a small Dask cluster, one of whose workers is killed."""

import os
import signal
import time
from dataclasses import fields
from typing import Any

from noisewise.cli.terminal.exits import DIFFERS, leave
from noisewise.cli.terminal.output import console, print_json, progress

#: Pieces of a piece's usual size would be too few to watch.
HORIZON, REPLICATIONS, PIECE, WORKERS = 500, 800, 50, 2
INTRODUCTION = f"""\
A cluster of {WORKERS} workers on this machine, which no other machine can reach, simulates a rule:
{REPLICATIONS} replications of {HORIZON} rounds, {PIECE} at a time. When the first are back, one worker is
killed (SIGKILL), as if its machine had been switched off. Then the same is simulated in
this process, and compared bit by bit.
"""


def cluster_demo(seed: int, json: bool) -> None:
    """Simulate on a cluster, kill a worker, and compare with this process; exit code 1 if a bit differs."""
    import noisewise as nw
    from noisewise.core.spreading.workers import workers_on
    from noisewise.simulation.sharing.elsewhere import Elsewhere
    from noisewise.simulation.sharing.replications import Replications
    from noisewise.simulation.simulate import make_run

    screen = console()
    if not json:
        screen.print(INTRODUCTION, highlight=False)
    world = nw.instances.sphere(200, 8)
    env = world.environment(nw.schedules.named("log-uniform"))
    policy = nw.vaee(world.actions)
    how: dict[str, Any] = {"horizon": HORIZON, "replications": REPLICATIONS, "seed": seed, "compile": False}
    with started_cluster() as client, progress(quiet=json) as bars:
        event = _Event(client)
        bar = bars.add_task("on the cluster", total=REPLICATIONS, note="")

        def show(done: int, total: int) -> None:
            if event.killed is None and 0 < done < total:
                event.kill_one()
                if not json:
                    screen.print(event.words(done), highlight=False)
            bars.update(bar, completed=done)

        begun = time.perf_counter()
        todo = Replications(make_run(policy, env, HORIZON, seed, None, (None, None)), REPLICATIONS, show)
        with workers_on(client) as workers:
            Elsewhere(todo, workers).run(compile=False, at_a_time=PIECE)
        there = todo.results
        seconds = time.perf_counter() - begun
        alone = bars.add_task("in this process", total=REPLICATIONS, note="")
        here = nw.simulate(
            policy, env, **how, threads=1, progress=lambda done, _: bars.update(alone, completed=done)
        )
    compared = [f.name for f in fields(here) if hasattr(getattr(here, f.name), "tobytes")]
    differing = [n for n in compared if getattr(here, n).tobytes() != getattr(there, n).tobytes()]
    found = {"workers": WORKERS, "killed": event.killed, "replications": REPLICATIONS, "horizon": HORIZON,
             "seconds": seconds, "arithmetic": there.arithmetic, "compared": compared,
             "differing": differing}  # fmt: skip
    if json:
        print_json("cluster-demo", found)
    else:
        for line in _told(found):
            screen.print(line, markup=False, highlight=False)
    if differing:
        leave("demo", DIFFERS)


def started_cluster() -> Any:
    """A client of a cluster on this machine; leaving its ``with`` ends both."""
    import contextlib
    import logging

    # This says in one sentence what to install, if it is missing.
    import noisewise.core.spreading.dask_workers  # noqa: F401

    @contextlib.contextmanager
    def cluster() -> Any:
        from distributed import Client, LocalCluster

        made = LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )  # fmt: skip
        client = Client(made, set_as_default=False)
        try:
            yield client
        finally:
            # Workers that are slow to leave on a busy machine are ended with this process.
            for one in (client, made):
                with contextlib.suppress(TimeoutError):
                    one.close(timeout=30)

    return cluster()


class _Event:
    """A worker that is killed while it works."""

    def __init__(self, client: Any) -> None:
        self._processes: dict[str, int] = client.run(os.getpid)
        self.killed: str | None = None
        self.process = 0

    def kill_one(self) -> None:
        """The first one; what it was doing is lost."""
        self.killed, self.process = next(iter(self._processes.items()))
        os.kill(self.process, getattr(signal, "SIGKILL", signal.SIGTERM))

    def words(self, done: int) -> str:
        """What happened."""
        return (
            f"{done} replications are back. Killed the worker at {self.killed} (process {self.process}): "
            "what it was doing is done again."
        )


def _told(found: dict[str, Any]) -> list[str]:
    count, compared = found["replications"], found["compared"]
    if found["differing"]:
        verdict = f"They differ in {', '.join(found['differing'])}, which must not be."
    else:
        verdict = f"All {count} are the same as in one process, bit by bit, in all {len(compared)} arrays."
    killed = "with one worker killed on the way" if found["killed"] else "before a worker could be killed"
    return [
        f"The cluster was done after {found['seconds']:.0f} s, {killed}.",
        verdict,
        f"Computed by: {found['arithmetic']}",
        "",
        "With a cluster of your own: noisewise simulate --on tcp://HOST:8786, or on=client in Python.",
        "From a laptop to Slurm and Kubernetes: docs/clusters.md",
    ]
