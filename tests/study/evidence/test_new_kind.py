"""A new kind of evidence is one class, and a place in the list."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.study.evidence.kind import Kind, LogEvidence
from noisewise.study.models import independent
from noisewise.study.telling.error_bars import KNOWN


class OneScale(Kind):
    """Known error bars by one normal mixture on both sides: valid, and wider for most differences."""

    name, told = "one scale", (KNOWN,)

    def __init__(self, precision, resolution):
        self._precision, self._resolution, self._rho = precision, resolution, 0.1 / resolution**2

    @classmethod
    def takes(cls, recorded):
        return recorded.of_kind(KNOWN)

    @classmethod
    def of(cls, recorded, rows):
        weight = recorded.sigma[rows] ** -2.0
        precision = np.bincount(recorded.columns.plus[rows], weight, recorded.n)
        return cls(precision, recorded.resolution)

    facts = property(lambda self: self._precision[:, None])
    signature = property(lambda self: (self.name, self._rho))
    precision = property(lambda self: self._precision)

    def holds(self):
        return self._precision > 0.0

    def log_e(self, options, z, side):
        precision, x = self._precision[options][:, None], np.maximum(z, 0.0)
        pull = precision**2 / (precision + self._rho)
        return LogEvidence(0.5 * pull * x**2 - 0.5 * np.log1p(precision / self._rho), pull * x)

    def guess(self, options, levels, side):
        precision = self._precision[options][:, None]
        level = np.maximum(levels + 0.5 * np.log1p(precision / self._rho), 0.0) + 1.0
        return np.sqrt(2.0 * level * (precision + self._rho)) / precision

    def imagined(self, options, more):
        return OneScale(self._precision[options] + more, self._resolution)


@pytest.fixture
def study(monkeypatch):
    monkeypatch.setattr(independent, "EVIDENCE", [*independent.EVIDENCE, OneScale])
    study = nw.create_study(options=["A", "B", "C"], eps=0.3)
    for option, value in (("A", 1.0), ("B", 1.6), ("C", 0.2)):
        study.tell(option=option, value=value, se=0.2)
    return study


def test_a_new_kind_of_evidence_is_one_class(study):
    found = study.certificate()
    assert found.evidence == ("one scale",)
    assert found.option == "B"
    study.tell(option="C", successes=1, trials=10)
    assert study.certificate().evidence == ("counts", "one scale")


def test_what_is_asked_planned_checked_and_reported_follows_it(study, tmp_path):
    (job,) = study.ask(sigma=0.2)
    assert job.option in ("A", "B")
    for _ in range(200):
        if study.certificate().reached:
            break
        (job,) = study.ask(sigma=0.2)
        study.tell(job, value={"A": 1.0, "B": 1.6, "C": 0.2}[job.option], se=0.2)
    assert study.certificate().reached
    assert study.check().ok
    assert study.plan(noise=0.2, paths=4).forecasts
    assert "one scale" in str(study.certificate())
    assert len(study.worth().ledger) > 3
    assert "B is at most" in study.report(tmp_path / "page.html").read_text()
