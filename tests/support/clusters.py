"""A small Dask cluster on this machine, for tests; they are skipped where Dask is not installed."""

import contextlib
import logging

import pytest

WHY = "needs distributed: pip install 'noisewise[cluster]'"


def dask_or_skip():
    """The module `distributed`, or a test that is skipped and says why."""
    return pytest.importorskip("distributed", reason=WHY)


@contextlib.contextmanager
def small_cluster(workers=2, **options):
    """A client of a cluster of processes with a thread each; quiet about workers that tests kill."""
    distributed = dask_or_skip()
    import dask

    options = {"dashboard_address": None, "silence_logs": logging.CRITICAL} | options
    with (
        # A piece that kills its workers is given up sooner than usual.
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", **options
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
