"""The certificate: smallest bound, honest words, re-checked from the log, true as often as it says."""

import functools
import json
import math

import numpy as np
import pytest
from tests.support import simulated_studies as simulated
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.certificates.bound import smallest_bound
from noisewise.study.evidence.half_widths import HalfWidths

#: Studies in each world, and misses at 5 % that true certificates exceed with probability below 1e-6: in one
#: world, and in all ten together.
STUDIES, MOST_OF_ONE, MOST_OF_ALL = effort((2, 2, 8), (20, 8, 27))
#: The same of 60 studies.
MOST_MISSES_OF_60 = 14


class Written(HalfWidths):
    """Half-widths that are written down: of every option over each other one, by row."""

    def __init__(self, half):
        self._half = half

    def half_widths(self, option):
        return self._half[option].copy()

    def lead_widths(self, rival):
        return self._half[:, rival].copy()


def test_the_recommended_option_is_the_one_with_the_smallest_bound():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 30))
        means, errors = rng.normal(size=n), rng.uniform(0.05, 2.0, n)
        half = np.sqrt(errors[:, None] ** 2 + rng.uniform(0.5, 2.0) * errors**2)  # need not be symmetric
        np.fill_diagonal(half, 0.0)
        bounds = (means - means[:, None] + half + np.diag(np.full(n, -np.inf))).max(axis=1)
        option, gaps = smallest_bound(lambda k, means=means: means - means[k], np.arange(n), Written(half))
        assert bounds[option] == pytest.approx(bounds.min())
        assert max(gap for k, gap in enumerate(gaps) if k != option) == pytest.approx(bounds.min())


def test_it_need_not_be_the_largest_number_seen_and_says_so():
    study = nw.create_study(options=["lucky", "solid", "poor"], eps=0.5)
    study.tell(option="lucky", value=7.2, se=3.0)
    study.tell(option="lucky", value=1.0, se=3.0)
    for _ in range(4):
        study.tell(option="solid", value=5.0, se=0.1)
        study.tell(option="poor", value=1.0, se=0.1)
    certificate = study.certificate()
    assert certificate.option == "solid"
    assert "The largest single value, 7.2, was seen at lucky" in str(certificate)
    assert certificate.candidates == ("lucky", "solid")
    assert "May still be better: lucky." in str(certificate)


def test_the_words():
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    assert study.certificate().sentence == "Nothing was measured yet."
    study.tell(option="A", value=1.0, se=0.05)
    assert study.certificate().bound == math.inf
    study.tell(option="B", value=0.9, se=0.05)
    study.tell(option="C", value=0.1, se=0.05)
    certificate = study.certificate()
    assert certificate.reached
    assert certificate.sentence == (
        f"A is at most {math.ceil(certificate.bound * 100) / 100:g} below the best of 3, with 95 % "
        "confidence. Stopping is allowed (eps 0.5)."
    )
    for _ in range(20):
        study.tell(option="A", value=1.0, se=0.05)
        study.tell(option="B", value=0.9, se=0.05)
    assert study.certificate().sentence.startswith("A is the best of 3, with 95 % confidence.")
    assert any("do not depend on the realised noise" in line for line in study.certificate().assumptions)


def test_why_nobody_is_recommended():
    study = nw.create_study(options=["A", "B"], eps=1.0)
    study.tell(option="A", value=1.0, se=0.1)
    study.exclude("A", "broken")
    assert study.certificate().sentence == "Nothing was measured yet of the options that are not excluded."
    study.exclude("B", "broken")
    sentence = "Every option of this study is excluded: there is nothing to recommend."
    assert study.certificate().sentence == sentence
    assert repr(study).startswith(sentence)


def test_without_a_link_between_blocks_it_says_what_to_do():
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1, block="Monday")
    study.tell(option="B", value=0.5, se=0.1, block="Monday")
    study.tell(option="C", value=9.0, se=0.1, block="Tuesday")
    certificate = study.certificate()
    assert certificate.bound == math.inf
    assert "measure one option of each in a common block" in str(certificate)
    study.tell(option="A", value=11.0, se=0.1, block="Tuesday")
    assert math.isfinite(study.certificate().bound)
    assert study.certificate().option == "A"


def test_readings_are_withheld_below_twenty_degrees_of_freedom():
    rng = np.random.default_rng(0)
    study = nw.create_study(options=["A", "B"], eps=0.5, errors=nw.Errors(scatter="pooled"))
    for round_ in range(10):
        certificate = study.certificate()
        assert certificate.withheld or round_ == 0
        study.tell(option="AB"[round_ % 2], values=(round_ % 2 + 0.1 * rng.standard_normal(3)).tolist())
    assert not study.certificate().withheld
    study.tell(option="A", values=[0.0, 0.1], instrument="new")
    (reason,) = study.certificate().withheld
    assert reason.startswith("the scatter of instrument new has 1 degree of freedom and needs 20")
    assert study.certificate().bound == math.inf


def test_without_error_bars_one_common_sigma_is_estimated():
    rng = np.random.default_rng(0)
    study = nw.create_study(options=["A", "B"], eps=0.5)
    values = np.array([[0.0], [1.0]]) + 0.1 * rng.standard_normal((2, 11))
    for one, other in values.T:
        study.tell(option="A", value=one)
        study.tell(option="B", value=other)
    assert not study.certificate().withheld
    assert study.certificate().option == "B"
    pooled = math.sqrt(values.var(axis=1, ddof=1).mean())
    assert study.frame("measurements")["sigma"][0] == pytest.approx(pooled, rel=1e-12)
    study.void("m-1", "to see it withheld")
    study.void("m-2", "to see it withheld")
    study.void("m-3", "to see it withheld")
    assert "measurements without error bars has 17" in study.certificate().withheld[0]


def test_it_is_rechecked_from_the_log_alone(tmp_path):
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    for name, value in (("A", 1.0), ("B", 2.0), ("C", 0.0)):
        study.tell(option=name, value=value, se=0.1)
    path = tmp_path / "certificate.json"
    path.write_text(study.certificate().to_json())
    kept = json.loads(path.read_text())
    assert kept["option"] == "B"
    assert kept["sentence"] == study.certificate().sentence
    study.tell(option="A", value=5.0, se=0.1)  # what happened later does not matter
    assert nw.verify_certificate(path, study).bound == kept["bound"]
    with pytest.raises(ValueError, match=r"the certificate says bound=0\.01; the log says"):
        nw.verify_certificate(json.dumps(kept | {"bound": 0.01}), study)
    with pytest.raises(ValueError, match="the certificate says option='A'; the log says 'B'"):
        nw.verify_certificate(json.dumps(kept | {"option": "A"}), study)


@pytest.mark.parametrize("text", ["x", "{}", "[]", '{"n_events": -1}', '{"n_events": true}', "[" * 100_000])
def test_what_is_no_certificate_is_refused_with_one_sentence(text):
    study = nw.create_study(options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)
    with pytest.raises(ValueError, match="must be a certificate as JSON"):
        nw.verify_certificate(text, study)


@functools.cache
def coverage_of(name):
    """Studies that stop when allowed; the benchmark has 1000."""
    stopped, missed, ever, _ = simulated.coverage(name, STUDIES)
    return stopped, missed, ever


def test_it_is_true_as_often_as_it_says_over_all_worlds():
    """What certificates have to be false in to be seen, in four of five cases.

    In the long size 16 % of all studies together, or 52 % of one world; in the quick one half of all.
    """
    assert len(simulated.WORLDS) == 10
    missed = np.sum([coverage_of(name)[1:] for name in simulated.WORLDS], axis=0)
    assert missed.max() <= MOST_OF_ALL


@pytest.mark.long("statistics")
def test_the_judgement_would_notice_error_bars_from_the_same_data():
    """The trap itself: three readings told with their own standard error miss far too often."""
    rng = np.random.default_rng(0)
    misses = 0
    for _ in range(60):
        study = nw.create_study(options=["A", "B"], eps=0.1)
        for option in "AB" * 40:
            readings = rng.standard_normal(3)
            study.tell(option=option, value=readings.mean(), se=readings.std(ddof=1) / math.sqrt(3))
        gap = study.frame("options")["estimate"].to_numpy()
        half = study.analysis().boundary.half_widths(0)[1]
        misses += abs(gap[0] - gap[1]) > half
    assert misses > MOST_MISSES_OF_60
