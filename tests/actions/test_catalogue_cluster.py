"""Catalogues on a Dask cluster: the same actions and designs, also when a worker is killed on the way."""

import os
import signal

import numpy as np
import pytest
from tests.support.clusters import small_cluster

import noisewise as nw
from noisewise.actions.catalogue import files
from noisewise.actions.catalogue.shards import ShardError

N, DIM = 6000, 4


@pytest.fixture(scope="module")
def client():
    with small_cluster() as client:
        yield client


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROWS_PER_SHARD", 1500)
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).standard_normal((N, DIM)).astype(np.float32))
    return tmp_path / "rows.npy"


def kill_one(client):
    """Without telling anybody."""
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def test_a_worker_killed_between_two_passes_changes_no_action(client, path):
    spread = nw.vaee(nw.Catalogue.from_memmap(path, on=client))
    alone = nw.vaee(nw.ActionSet(np.load(path).astype(float)))
    noise = np.random.default_rng(1).standard_normal(40)
    for t in range(40):
        action = alone.ask()
        assert spread.ask() == action
        for policy in (spread, alone):
            policy.tell(action, 0.1 * noise[t], 0.1)
        if t == 15:
            kill_one(client)
    assert spread.actions.passes > 3
    assert spread.recommend() == alone.recommend()


def test_a_design_on_workers_is_that_of_one_process(client, path):
    alone = nw.optimal_design(np.load(path), gap=1e-6)
    spread = nw.optimal_design(nw.Catalogue.from_memmap(path, on=client), gap=1e-6)
    assert spread.indices.tolist() == alone.indices.tolist()
    assert spread.weights == pytest.approx(alone.weights)


def test_a_shard_that_a_worker_cannot_read_is_named(client, path):
    catalogue = nw.Catalogue.from_memmap(path, on=client)
    path.unlink()
    with pytest.raises(ShardError, match=r"rows\.npy"):
        nw.vaee(catalogue).ask()
