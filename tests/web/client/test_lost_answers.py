"""Answers that are lost after the server has written: nothing is doubled, and nothing is missing."""

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.lossy_proxy import LossyProxy, answering, losing
from tests.support.servers import in_thread

import noisewise as nw
from noisewise.web.app import make_app


@pytest.fixture
def behind(tmp_path):
    """A study behind a server behind a proxy: the file, and the proxy with its address."""
    here = nw.create_study(tmp_path / "s.db", name="s", options=["A", "B", "C"], eps=0.1)
    with in_thread(make_app(tmp_path / "s.db")) as server:
        proxy = LossyProxy(server)
        with answering(proxy) as address:
            yield here, proxy, address


@pytest.mark.parametrize("lost", [1, 3])
def test_a_measurement_whose_answer_is_lost_counts_once(behind, lost):
    here, proxy, address = behind
    study = nw.load_study(address)
    proxy.lose = losing(lost, "/tells")
    measured = study.tell(option="A", value=1.0, se=0.1)
    assert (measured.id, here.n_measurements) == ("m-1", 1)
    keys = {key for _, path, key in proxy.seen if path.endswith("/tells")}
    assert len(keys) == 1
    assert next(iter(keys)).startswith("sent-")


def test_two_equal_measurements_are_two(behind):
    here, _, address = behind
    study = nw.load_study(address)
    assert [study.tell(option="A", value=1.0, se=0.1).id for _ in range(2)] == ["m-1", "m-2"]
    assert here.n_measurements == 2


def test_the_answer_to_a_suggestion_counts_once(behind):
    here, proxy, address = behind
    study = nw.load_study(address)
    (job,) = study.ask()
    proxy.lose = losing(2, "/tells")
    study.tell(job, 1.0, se=0.1)
    assert here.n_measurements == 1
    assert here.events()[-1].body.get("key") is None  # the log knows it by its suggestion


def test_several_measurements_whose_answer_is_lost_count_once_each(behind):
    here, proxy, address = behind
    proxy.lose = losing(2, "/tells")
    rows = [{"option": option, "value": 1.0, "se": 0.1} for option in ("A", "A", "B")]
    assert [one.id for one in nw.load_study(address).tell_all(rows)] == ["m-1", "m-2", "m-3"]
    assert here.n_measurements == 3


def test_suggestions_whose_answer_is_lost_are_reserved_once(behind):
    here, proxy, address = behind
    study = nw.load_study(address)
    proxy.lose = losing(2, "/asks")
    assert [job.id for job in study.ask(2)] == ["ask-1", "ask-2"]
    assert len(here.pending) == 2


@pytest.mark.parametrize(
    ("verb", "act"),
    [
        ("/fail", lambda s: s.fail("ask-1", "broken")),
        ("/release", lambda s: s.release(["ask-1"])),
        ("/void", lambda s: s.void("m-1", "wrong")),
        ("/amend", lambda s: s.amend("m-1", "typing error", 1.5, se=0.1)),
        ("/exclude", lambda s: s.exclude("B", "gone")),
        ("/add", lambda s: s.add_options(["D"])),
        ("/imports", lambda s: s.tell_many({"option": ["A"], "value": [1.0], "se": [0.1]}, repeat=True)),
    ],
)
def test_every_other_change_is_made_once(behind, verb, act):
    here, proxy, address = behind
    here.ask()
    here.tell(option="A", value=1.0, se=0.1)
    before = len(here.events())
    proxy.lose = losing(1, verb)
    act(nw.load_study(address))
    assert len(here.events()) == before + 1


def test_after_giving_up_the_same_call_repeats_the_change_and_another_is_another(behind):
    here, proxy, address = behind
    study = nw.load_study(address, timeout=4.0)
    proxy.lose = losing(1000, "/tells")
    with pytest.raises(nw.OutcomeUnknownError, match="Call the same again"):
        study.tell(option="A", value=1.0, se=0.1)
    proxy.lose = lambda method, path: False
    assert study.tell(option="A", value=1.0, se=0.1).id == "m-1"
    assert study.tell(option="A", value=1.0, se=0.1).id == "m-2"
    assert here.n_measurements == 2


def test_a_look_whose_answer_is_lost_is_repeated(behind):
    _, proxy, address = behind
    study = nw.load_study(address)
    left = [2]

    def lose(method, path):
        left[0] -= 1
        return left[0] >= 0

    proxy.lose = lose
    assert study.n_measurements == 0
