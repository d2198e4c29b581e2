"""Studies on a log scale: the same as a study that is told logarithms by hand, in the user's unit."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noisewise as nw
from noisewise.study.study import Study

OPTIONS = ["a", "b", "c", "d"]
TRUTH = {"a": 1.00, "b": 1.04, "c": 1.3, "d": 1.02}


def _tell_readings(study: Study, option: str, readings: Any, round: int, log: bool) -> None:
    study.tell(option=option, values=np.log(readings) if log else readings)


def _tell_single(study: Study, option: str, readings: Any, round: int, log: bool) -> None:
    study.tell(option=option, value=math.log(readings[0]) if log else readings[0])


def _tell_in_rounds(study: Study, option: str, readings: Any, round: int, log: bool) -> None:
    value = readings[0] * (1.0 + 0.1 * round)
    study.tell(option=option, value=math.log(value) if log else value, block=f"round {round}")


def _tell_error_bars(study: Study, option: str, readings: Any, round: int, log: bool) -> None:
    value, se = float(np.mean(readings)), 0.01
    study.tell(option=option, value=math.log(value) if log else value, se=se / value if log else se)


def _tell_instruments(study: Study, option: str, readings: Any, round: int, log: bool) -> None:
    told = np.log(readings) if log else readings
    study.tell(option=option, values=told, instrument=f"clock {round % 2}")


def _tell_sd(study: Study, option: str, readings: Any, round: int, log: bool) -> None:
    mean, sd = float(np.mean(readings)), float(np.std(readings, ddof=1))
    if log:
        study.tell(option=option, value=math.log(mean), sd=sd / mean, n=len(readings))
    else:
        study.tell(option=option, value=mean, sd=sd, n=len(readings))


WAYS = [_tell_readings, _tell_single, _tell_in_rounds, _tell_error_bars, _tell_instruments, _tell_sd]


def _twins(goal: str, tell: Callable[..., None], scale: float = 1.0, **question: Any) -> tuple[Study, Study]:
    """A study on a log scale, and one that is told the logarithms by hand."""
    logs = nw.create_study(options=OPTIONS, goal=goal, eps="3%", scale="log", **question)
    plain = nw.create_study(options=OPTIONS, goal=goal, eps=logs.specification.eps, **question)
    rng = np.random.default_rng(5)
    for round in range(6):
        for option, true in TRUTH.items():
            readings = scale * true * np.exp(0.02 * rng.standard_normal(4))
            tell(logs, option, readings, round, False)
            tell(plain, option, readings, round, True)
    return logs, plain


@pytest.mark.parametrize("goal", ["min", "max"])
@pytest.mark.parametrize("tell", WAYS)
def test_a_log_study_says_what_one_told_logarithms_by_hand_says(goal: str, tell: Callable[..., None]) -> None:
    logs, plain = _twins(goal, tell)
    mine, theirs = logs.certificate(), plain.certificate()
    assert mine.option == theirs.option
    assert mine.candidates == theirs.candidates
    assert mine.verdict == theirs.verdict
    assert mine.rank == theirs.rank
    assert mine.bound == pytest.approx(theirs.bound, rel=1e-12, abs=1e-15)
    assert mine.spread == pytest.approx(theirs.spread, rel=1e-12)
    assert mine.estimate == pytest.approx(math.exp(theirs.estimate or 0.0), rel=1e-12)
    assert logs.ask(dry_run=True)[0].option == plain.ask(dry_run=True)[0].option
    assert logs.check().problems == plain.check().problems


def test_no_unit_of_the_values_changes_a_bound() -> None:
    seconds, milliseconds = (_twins("min", _tell_readings, scale=scale)[0] for scale in (1.0, 1000.0))
    one, other = seconds.certificate(), milliseconds.certificate()
    assert other.bound == pytest.approx(one.bound, rel=1e-9)
    assert other.estimate == pytest.approx(1000.0 * (one.estimate or 0.0), rel=1e-12)


@given(
    part=st.floats(1e-6, 0.999),
    goal=st.sampled_from(["min", "max"]),
    spelled=st.sampled_from(["{0!r}", "{0!r}%", " {0!r} % "]),
)
@settings(max_examples=60)
def test_eps_is_the_ratio_that_was_said(part: float, goal: str, spelled: str) -> None:
    text = spelled.format(100.0 * part if "%" in spelled else part)
    study = nw.create_study(options=["a", "b"], goal=goal, eps=text, scale="log")
    ratio = study.certificate().eps_ratio
    assert ratio == pytest.approx(1.0 + part if goal == "min" else 1.0 - part, rel=1e-12)


@given(
    readings=st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=6),
    value=st.floats(1e-40, 1e40),
    goal=st.sampled_from(["min", "max"]),
)
@settings(max_examples=40, deadline=None)
def test_a_log_keeps_what_was_told_and_reads_it_back(
    readings: list[float], value: float, goal: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    study = nw.create_study(folder / "s.db", options=["a", "b"], goal=goal, eps=0.05, scale="log")
    study.tell(option="a", values=readings)
    study.tell(option="b", value=value)
    study.export(folder / "log.jsonl")
    nw.rebuild_study(folder / "log.jsonl", folder / "again.db")
    for store in ("s.db", "again.db"):
        again = nw.load_study(folder / store)
        assert again.specification.scale == "log"
        told = [event.body for event in again.events()]
        assert told[0]["values"] == readings
        assert told[1]["value"] == value
        assert told[0]["value"] == pytest.approx(math.exp(np.mean(np.log(readings))), rel=1e-9)
        assert again.certificate().to_json() == study.certificate().to_json()


def test_a_certificate_says_the_bound_as_a_logarithm_and_as_a_ratio() -> None:
    for goal, option, beyond in (("min", "a", 1.0), ("max", "c", -1.0)):
        certificate = _twins(goal, _tell_error_bars)[0].certificate()
        assert certificate.option == option
        assert certificate.bound_ratio is not None
        assert math.log(certificate.bound_ratio) == pytest.approx(beyond * certificate.bound)
        assert '"scale": "log"' in certificate.to_json()
