"""Nothing that is shown says more than the certificate, in whatever state a study is."""

import json
import math
import re

import numpy as np
import pytest
from tests.support import report_states
from tests.support.report_states import items, one_look

import noisewise as nw
from noisewise.study.certificates import claims
from noisewise.study.certificates.bound import recommend, smallest_bound
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.models.fit import HARDLY_KNOWN

#: Words that no output may have while nothing is certified.
CLAIMING = re.compile(
    r"ruled out|is the best of|at most \S+ (below|above)|May still be better|best is known|known to be|"
    r"cannot be the best|that may be the best|is recommended|from the best"
)


#: Those in which single measurements may be announced, in the unit of the values.
STATES = [state for state in report_states.STATES if state not in (*report_states.LOGS, one_look, items)]


def strictly(text):
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def texts(study):
    certificate, check = study.certificate(), study.check()
    return [
        str(certificate), certificate._repr_html_(), repr(study), study._repr_html_(), str(check),
        check._repr_html_(), str(study.worth()), *(repr(job) for job in asked(study)),
    ]  # fmt: skip


def asked(study):
    return study.ask(dry_run=True) if study._log.state.allowed().any() else []


def bound_like(study):
    """Every bound that any output holds."""
    ledger = study.worth().ledger
    return [bound for bound in [*ledger["bound_before"], *ledger["bound_after"]] if bound is not None]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_no_output_says_more_than_the_certificate(state):
    study = state()
    certificate = study.certificate()
    plain = strictly(certificate.to_json())
    frame = study.frame("options")
    assert plain["bound"] == (certificate.bound if math.isfinite(certificate.bound) else None)
    assert plain["reached"] == (certificate.verdict == claims.REACHED)
    allowed = [row["option"] for row in frame.to_dicts() if row["excluded"] is None]
    answers = dict(zip(frame["option"], frame["may_be_best"], strict=True))
    if not certificate.may_show_bounds:
        assert certificate.bound == math.inf
        assert not certificate.reached
        assert list(certificate.candidates) == allowed  # nothing is ruled out
        assert set(answers.values()) <= {None}
        assert bound_like(study) == []
        for text in texts(study):
            assert not CLAIMING.search(text), text
        return
    for option in study.options:
        expected = (option in certificate.candidates) if option in allowed else None
        assert answers[option] == expected
    assert certificate.option in certificate.candidates
    _largest_estimate_is_named(certificate, frame, allowed)
    if certificate.verdict == claims.UNDECIDED:
        assert certificate.sentence.startswith("Nothing is decided yet: ")
        assert certificate.bound > certificate.spread
    if certificate.verdict == claims.UNBOUNDED:
        assert "without a bound yet" in certificate.sentence
        assert "at most" not in certificate.sentence


def _largest_estimate_is_named(certificate, frame, allowed):
    sign = 1.0 if certificate.goal == "max" else -1.0
    known = {
        row["option"]: sign * row["estimate"]
        for row in frame.to_dicts()
        if row["option"] in allowed and row["estimate"] is not None
    }
    assert known[certificate.largest_estimate] == pytest.approx(max(known.values()))
    assert certificate.n_compared == len(known)
    better = [name for name, value in known.items() if value > known[certificate.option] + 1e-12]
    assert certificate.rank == 1 + len(better)
    if better:
        assert certificate.largest_estimate in str(certificate)
        assert f"of {len(known)} by estimate" in str(certificate)


def test_a_sixteenth_of_twenty_two_is_not_named_without_saying_so():
    study = nw.create_study(options=[f"A{k:02d}" for k in range(22)], eps=0.1)
    for k in range(22):
        study.tell(option=f"A{k:02d}", value=0.1 * k, se=0.2 if k == 6 else 5.0)
    certificate = study.certificate()
    assert certificate.option == "A06"
    assert (certificate.verdict, certificate.rank) == ("undecided", 16)
    assert certificate.sentence.startswith("Nothing is decided yet: A06 is at most ")
    assert "which is more than any two estimates differ (2.1)" in certificate.sentence
    said = (
        "The largest estimate is that of A21, 2.1; A06 is 16th of 22 by estimate and has the smallest bound."
    )
    assert said in str(certificate)
    assert said in repr(study)
    assert json.loads(certificate.to_json())["largest_estimate"] == "A21"


def test_a_bound_that_is_not_a_number_is_infinite(monkeypatch):
    class Unknown(HalfWidths):
        def half_widths(self, option):
            return np.full(3, np.nan)

    means = np.array([1.0, 2.0, 3.0])
    option, gaps = smallest_bound(lambda k: means - means[k], np.arange(3), Unknown())
    assert np.isinf(np.delete(gaps, option)).all()
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    for name in "ABC":
        study.tell(option=name, value=1.0, se=0.1)
    for widths in ("half_widths", "lead_widths"):
        monkeypatch.setattr(type(study.analysis().boundary), widths, lambda *_: np.full(3, np.nan))
    found = recommend(study.analysis())
    assert found.bound == math.inf
    assert found.candidates.all()
    certificate = study.certificate()
    assert (certificate.verdict, certificate.reached) == ("unbounded", False)
    assert "cannot be computed" in certificate.sentence


def test_a_control_is_shown_at_the_average_of_its_days_whichever_day_the_fit_takes_for_zero():
    rng = np.random.default_rng(0)
    study = nw.create_study(options=["control", "B"], eps=0.01)
    days = []
    for day, level in enumerate((0.07, 0.11, 0.15, 0.11)):
        read = level + 0.01 * rng.standard_normal(5 if day else 15)  # the first day has the most precision
        for value in read:
            study.tell(option="control", value=value, se=0.01, block=f"day {day}")
            study.tell(option="B", value=value + 0.02, se=0.01, block=f"day {day}")
        days.append(np.mean(read))
    shown = study.frame("options")["estimate"]
    assert shown[0] == pytest.approx(np.mean(days), abs=1e-9)
    assert shown[1] - shown[0] == pytest.approx(0.02)
    assert study.certificate().estimate == shown[1]


def test_a_block_that_is_hardly_known_does_not_carry_the_level_away():
    study = nw.create_study(options=["control", "B"], eps=0.01)
    for day in range(4):
        for option in ("control", "B"):
            study.tell(option=option, value=0.1, se=0.01, block=f"day {day}")
    study.tell(option="control", value=900.0, se=300.0, block="a wild day")
    assert study.frame("options")["estimate"][0] == pytest.approx(0.1, abs=0.01)


def test_standard_errors_are_those_of_the_values_shown_whichever_node_is_zero():
    """Against the pseudo-inverse of the network, with blocks and with differences alone."""
    rng = np.random.default_rng(0)
    for blocks in (True, False):
        names = ["A", "B", "C", "D"]
        study, nodes = nw.create_study(options=names, eps=0.1), 4 + 3 * blocks
        laplacian, weights = np.zeros((nodes, nodes)), np.zeros(3)
        for i in range(24):
            one, se = i % 4, float(rng.uniform(0.1, 1.0))
            other = 4 + int(rng.integers(3)) if blocks else (one + 1 + int(rng.integers(3))) % 4
            row = np.eye(nodes)[one] - np.eye(nodes)[other]
            laplacian += np.outer(row, row) / se**2
            if blocks:
                weights[other - 4] += se**-2.0
                study.tell(option=names[one], value=float(rng.normal()), se=se, block=f"b{other}")
            else:
                study.tell(plus=names[one], minus=names[other], value=float(rng.normal()), se=se)
        level = np.r_[np.zeros(4), np.full(3, 1 / 3)] if blocks else np.full(4, 0.25)
        assert not blocks or weights.min() > HARDLY_KNOWN * np.median(weights)
        contrasts = np.eye(nodes)[:4] - level
        expected = np.sqrt(np.diagonal(contrasts @ np.linalg.pinv(laplacian) @ contrasts.T))
        assert study.frame("options")["se"].to_numpy() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("told", "only"),
    [
        ([("A", None), ("B", None)], False),  # values without a block have a level
        ([("A", "x"), ("B", "x")], False),  # and so have those of one block
        ([("A", None), ("B", None), ("A", "minus B")], False),  # beside them differences have it, too
        ([("A", "x"), ("B", "x"), ("A", "y")], True),
        ([("A", "minus B")], True),
        ([("A", "x"), ("B", "x"), ("A", "minus B")], True),
    ],
)
def test_differences_come_first_where_nothing_else_is_known(told, only):
    study = nw.create_study(options=["A", "B"], eps=0.1)
    for option, where in told:
        if where == "minus B":
            study.tell(plus=option, minus="B", value=1.0, se=0.1)
        else:
            study.tell(option=option, value=1.0 + (option == "A"), se=0.1, block=where)
    frame = study.frame("options")
    assert (frame.columns[1] == "difference") == only
    if only:
        assert frame["difference"].to_list() == pytest.approx([0.0, -1.0])
        assert frame["difference_se"][0] == 0.0
        assert frame["linked"].to_list() == [True, True]


def test_estimates_that_differ_by_rounding_are_equal():
    """Twenty right answers of thirty each, to different items; differences to x come out as 7.7e-17."""
    rows = [
        {"prompt": prompt, "item": f"q{k}", "score": int((7 * k + shift) % 3 > 0)}
        for k in range(1, 31)
        for prompt, shift in (("x", 1), ("y", 2), ("z", 0))
    ]
    certificate = nw.read_table(rows).answer().certificate
    assert (certificate.rank, certificate.spread) == (1, 0.0)
    assert "and all estimates are equal" in certificate.sentence
