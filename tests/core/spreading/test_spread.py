"""Pieces of work on executors and on a Dask cluster: every piece is done once."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.clusters import dask_or_skip, small_cluster

from noisewise.core.parallel import WorkersError
from noisewise.core.spreading import identity as identities
from noisewise.core.spreading.tasks import Kit, StrangerError, refuse_strangers
from noisewise.core.spreading.workers import spread, workers_on


@pytest.fixture(scope="module")
def client():
    """A cluster in this process."""
    with small_cluster(processes=False) as client:
        yield client


def square(piece):
    return piece * piece


def refuse_seven(piece):
    if piece == 7:
        raise ValueError("seven is bad")
    return piece


def die_at_three(piece):
    if piece == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def make(piece):
    word, folder = piece
    with open(Path(folder) / "made", "a") as file:
        file.write(f"{word}\n")
    return {"word": word, "process": os.getpid()}


INSTALLED = {}


def install(made):
    INSTALLED[made["word"]] = made["process"]


def use(piece):
    return INSTALLED[piece[0]]


def word_of(piece):
    return piece[0]


WORDS = Kit(word_of, make, install)


def test_every_piece_comes_back_once_with_its_result_from_any_executor():
    with ThreadPoolExecutor(2) as executor:
        assert sorted(spread(square, range(9), executor)) == [(k, k * k) for k in range(9)]
        assert executor.submit(square, 2).result() == 4  # it stays open


def test_every_piece_comes_back_once_with_its_result_from_a_cluster(client):
    wanted = [(k, k * k) for k in range(40)]
    assert sorted(spread(square, range(40), client)) == wanted
    assert sorted(spread(square, range(40), client.scheduler.address)) == wanted
    assert sorted(spread(square, range(40), client.cluster)) == wanted
    with workers_on(client) as workers:
        assert workers.count == 2
        assert workers_on(workers) is workers
        assert list(spread(square, [], workers)) == []


def test_an_error_in_the_work_is_raised_as_it_is(client):
    with pytest.raises(ValueError, match="seven is bad"):
        list(spread(refuse_seven, range(10), client))
    with ThreadPoolExecutor(2) as executor, pytest.raises(ValueError, match="seven is bad"):
        list(spread(refuse_seven, range(10), executor))


@pytest.mark.parametrize("place", ["cluster", pytest.param("processes", marks=pytest.mark.long("processes"))])
def test_a_kit_is_made_once_and_handed_to_every_worker(place, client, tmp_path):
    pieces = [(word, str(tmp_path)) for word in ("a", "b") for _ in range(6)]
    if place == "cluster":
        done = list(spread(use, pieces, client, kit=WORDS))
    else:
        with ProcessPoolExecutor(2) as pool:
            done = list(spread(use, pieces, pool, kit=WORDS))
    assert len(done) == 12
    assert sorted((tmp_path / "made").read_text().split()) == ["a", "b"]
    assert len({maker for (word, _), maker in done if word == "a"}) == 1


def test_a_broken_executor_says_what_it_was_doing():
    with (
        ProcessPoolExecutor(1) as pool,
        pytest.raises(WorkersError, match=r"broke while it did .*what is finished"),
    ):
        list(spread(die_at_three, [3], pool))


def test_strangers_are_refused_in_one_sentence():
    here = identities.identity()
    for other, words in [
        (here._replace(versions=here.versions | {"noisewise": "0.0.9"}), "noisewise"),
        (here._replace(versions=here.versions | {"Python": "3.9.1"}), "Python"),
        (here._replace(versions=here.versions | {"numpy": "1.0"}), "numpy"),
        (here._replace(sources="x"), "other sources of noisewise"),
    ]:
        with pytest.raises(StrangerError, match=f"A worker runs {words}"):
            refuse_strangers(other)
    refuse_strangers(here._replace(plain="another", compiled="another"))  # other digits, the same decisions


@pytest.mark.parametrize(
    ("on", "words"),
    [
        (3, "`on` must be a Dask client or cluster"),
        (object(), "got <object"),
        ("", "got '', which is no file"),
        ("missing.json", "`on` must be the address of a Dask scheduler, such as"),
        ("tcp://127.0.0.1:1", "`on` must lead to a Dask scheduler that answers"),
    ],
)
def test_what_is_no_place_to_work_is_refused_in_one_sentence(on, words, monkeypatch):
    if isinstance(on, str):
        dask_or_skip()
        monkeypatch.setattr("noisewise.core.spreading.dask_workers.TO_CONNECT", 0.5)
    with pytest.raises((TypeError, OSError)) as refused:
        list(spread(square, [1], on))
    assert words in str(refused.value)
    assert str(refused.value).count(". ") == 0
