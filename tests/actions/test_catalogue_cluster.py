"""Catalogues on a Dask cluster: the same actions, also when a worker is killed on the way."""

import os
import signal

import numpy as np
import pytest
from tests.support.clusters import small_cluster

import noisewise as nw
from noisewise.actions.catalogue import files

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
