"""The parts of a study, each used alone: a recorder, an advisor, and what follows at one moment."""

import pytest

import noisewise as nw
from noisewise.study.asking.ask import Advisor
from noisewise.study.log.log import Log
from noisewise.study.models.analysis import Analysis
from noisewise.study.study import Moment
from noisewise.study.telling.recording import Recorder


@pytest.fixture
def log():
    storage = nw.MemoryStorage()
    nw.create_study(storage, options=["A", "B"], eps=0.5)
    return Log(storage, "study", lambda: 1e9)


def test_a_recorder_needs_a_log_alone(log):
    recorder = Recorder(log)
    (one,) = recorder.record([{"option": "A", "value": 1.0, "se": 0.1, "key": "k"}], "call")
    assert (one.id, one.option, log.state.measurements.n_live) == ("m-1", "A", 1)
    taken = recorder.record_table(
        {"option": ["A", "B"], "value": [1.0, 2.0], "se": [0.1] * 2, "key": ["k", "l"]}
    )
    assert (len(taken), taken.known, log.state.measurements.n_live) == (1, 1, 2)


def test_an_advisor_reserves_what_it_suggests(log):
    advisor = Advisor(log, lambda: Analysis(log.state))
    assert len(advisor.ask(2, dry_run=True)) == 2
    assert not log.state.jobs
    assert [job.id for job in advisor.ask(2)] == list(log.state.jobs) == ["ask-1", "ask-2"]


def test_a_moment_is_that_of_its_state(log):
    before = Moment(log)
    assert before.certificate.option is None
    Recorder(log).record([{"option": "B", "value": 1.0, "se": 0.1}], "call")
    assert not before.is_of(log)
    assert (Moment(log).certificate.option, before.certificate.option) == ("B", None)
