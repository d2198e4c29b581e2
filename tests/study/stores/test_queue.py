"""What others do meanwhile is taken into account, and asking computes no advice."""

import uuid

import pytest

import noisewise as nw
from noisewise.study.asking import ask
from noisewise.study.log.state import State
from noisewise.study.telling import table_rows


@pytest.mark.parametrize("same", [True, False])
def test_an_import_is_read_again_if_the_news_concern_it(tmp_path, monkeypatch, same):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    rival = nw.load_study(tmp_path / "s.db")
    real, told = table_rows.take_table, []

    def outrun(state, table, now):
        if not told:
            told.append(rival.tell(option="A", value=1.0 if same else 2.0, se=0.1, key="k3"))
        return real(state, table, now)

    monkeypatch.setattr(table_rows, "take_table", outrun)
    table = {"option": ["A"] * 5, "value": [1.0] * 5, "se": [0.1] * 5, "key": [f"k{i}" for i in range(5)]}
    if same:
        assert len(study.tell_many(table)) == 4
        assert study.n_measurements == 5
    else:
        with pytest.raises(ValueError, match=r"row 4 \(key k3\): m-1 was told as A = 2"):
            study.tell_many(table)
        assert study.n_measurements == 1


def test_asking_computes_neither_check_nor_certificate(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)

    def never(*arguments):
        raise AssertionError("asking needs no advice")

    for name in ("check_fit", "certify"):
        monkeypatch.setattr(f"noisewise.study.study.{name}", never)
    (job,) = study.ask()
    assert job.option == "B"


def test_whoever_asks_reckons_with_what_others_ask_for_meanwhile(open_storage, monkeypatch):
    """Prepared before the turn came, the suggestion is the one of somebody who came later."""
    storage = open_storage()
    options = [f"o{k}" for k in range(6)]
    study = nw.create_study(storage, name=f"beside {uuid.uuid4().hex}", options=options, eps=0.5)
    rival = nw.load_study(storage, name=study.name)
    study.tell_many({"option": options, "value": [0.0] * 6, "se": [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]})
    prepare, rivals = ask.Asking, []

    def prepared(*arguments, **named):
        made = prepare(*arguments, **named)
        if not rivals:
            rivals.append(None)
            rivals[:] = rival.ask()
            rival.tell(option="o0", value=0.0, se=0.5)
        return made

    monkeypatch.setattr(ask, "Asking", prepared)
    mine = study.ask()
    assert (rivals[0].option, mine[0].option) == ("o5", "o4")
    assert [job.id for job in study.pending] == ["ask-1", "ask-2"]


def test_suggestions_and_measurements_in_any_mixture_give_one_state():
    """Read at once or one by one: runs are entered together, and an edited log is not."""
    study = nw.create_study(options=["A", "B"], eps=0.5)
    jobs = [study.ask()[0]]
    for _ in range(4):
        jobs.append(study.ask()[0])
        study.tell(jobs[-2], 1.0, se=0.1)
    study.fail(jobs[-1], reason="lost")
    events = study.events()
    edited = [events[0]._replace(kind="tell", body={**events[2].body, "job": "ask-2"}), *events[1:]]
    for log in (events, edited):
        log = [event._replace(number=number) for number, event in enumerate(log, start=1)]
        whole, steps = State(study.specification), State(study.specification)
        whole.apply_all(log)
        for event in log:
            steps.apply_all([event])
        assert whole.jobs == steps.jobs
        assert list(whole.told) == list(steps.told)
        assert whole.n_events == steps.n_events == len(log)
