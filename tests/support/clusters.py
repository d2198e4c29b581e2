"""Small Dask clusters on this machine, for tests; they are skipped where Dask is not installed."""

import contextlib
import logging

import pytest

WHY = "needs distributed: pip install 'noisewise[cluster]'"


def dask_or_skip():
    """Return the module `distributed`, or skip the test with the reason."""
    return pytest.importorskip("distributed", reason=WHY)


@contextlib.contextmanager
def small_cluster(workers=2, **options):
    """A client of a cluster of processes with a thread each; quiet about workers that tests kill.

    With ``processes=False`` the workers are threads of this process, which takes a tenth of the time.
    """
    distributed = dask_or_skip()
    import dask

    where = {} if options.get("processes") is False else {"host": "127.0.0.1"}
    where |= {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    # A piece that kills its workers is given up sooner than usual.
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, **where | options)
        client = distributed.Client(cluster, set_as_default=False)
        try:
            yield client
        finally:
            # A busy machine takes longer than Dask waits by itself.
            with contextlib.suppress(TimeoutError):
                client.close(timeout=60)
            with contextlib.suppress(TimeoutError):
                cluster.close(timeout=60)
