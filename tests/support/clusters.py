"""Small Dask clusters on this machine, for tests; they are skipped where Dask is not installed."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

WHY = "needs distributed: pip install 'noisewise[cluster]'"


def dask_or_skip():
    """The module `distributed`, or a test that is skipped and says why."""
    return pytest.importorskip("distributed", reason=WHY)


@contextlib.contextmanager
def small_cluster(workers=2, **options):
    """A client of a cluster of processes with a thread each; quiet about workers that tests kill."""
    distributed = dask_or_skip()
    options = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL} | options
    with _soon_given_up():
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", **options
        )
        client = distributed.Client(cluster, set_as_default=False)
        try:
            yield client
        finally:
            # A busy machine takes longer than Dask waits by itself, which is not what tests are about.
            with contextlib.suppress(TimeoutError):
                client.close(timeout=60)
            with contextlib.suppress(TimeoutError):
                cluster.close(timeout=60)


@contextlib.contextmanager
def cluster_of(environments):
    """A client of a cluster with one worker for each environment, as if on machines of their own."""
    with small_cluster(workers=0) as client:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address]
        command += ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        started = [
            subprocess.Popen(
                command, env=os.environ | env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            for env in environments
        ]
        try:
            client.wait_for_workers(len(started), timeout=60)
            yield client
        finally:
            for process in started:
                process.kill()
                process.wait()


def _soon_given_up():
    """A piece that kills its workers is given up sooner than usual."""
    import dask

    return dask.config.set({"distributed.scheduler.allowed-failures": 1})


@contextlib.contextmanager
def a_worker_killed(client, doing, after=0.0):
    """Kill (SIGKILL) the first worker that does a task whose key contains a word; says afterwards whether."""
    killed, over = [], threading.Event()

    def look():
        while not over.is_set():
            for address, keys in client.processing().items():
                if any(doing(str(key)) for key in keys):
                    (pid,) = client.run(os.getpid, workers=[address]).values()
                    time.sleep(after)
                    os.kill(pid, signal.SIGKILL)
                    killed.append(address)
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()
