"""What to do about a misfit, on tables whose defect is known; nothing is said where nothing is wrong."""

import numpy as np
import pytest
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.models.analysis import Analysis

NAMES = [f"o{k}" for k in range(10)]
ROWS = 60


def table(rng, low=0.1, high=0.4):
    """Sixty measurements of ten options in random order: options, standard errors, values."""
    k = rng.permutation(np.arange(ROWS) % 10)
    se = rng.uniform(low, high, ROWS)
    return k, se, rng.uniform(0.1, 0.3, 10)[k] + se * rng.standard_normal(ROWS)


def told(k, value, se, **columns):
    study = nw.create_study(options=NAMES, eps=0.5)
    study.tell_many({"option": [NAMES[i] for i in k], "value": value, "se": se, **columns})
    return study


def advice(study):
    check = study.check()
    return " ".join([*check.remedies, *check.notes])


def test_nothing_is_said_about_tables_without_a_defect():
    """Tables: remedies at a nominal 1 %, notes about error bars that look too large at the same.

    More than 12 of 200, or 4 of 25, at 2 % have a probability below 3e-4.
    """
    tables, most = effort((25, 4), (200, 12))
    spoken = 0
    for seed in range(tables):
        k, se, value = table(np.random.default_rng(seed))
        spoken += bool(advice(told(k, value, se)))
    assert spoken <= most


def test_certificates_do_not_wait_for_advice(monkeypatch):
    """What to do about a misfit takes far longer than the certificate: only the check looks for it."""
    rng = np.random.default_rng(0)
    k, se, value = table(rng)
    study = told(k, value, se / 3.0)

    def never(*_):
        raise AssertionError("advice was computed")

    monkeypatch.setattr("noisewise.study.certificates.diagnosis.explain", never)
    assert study.certificate().withheld
    assert study.ask()
    assert "withheld" in repr(study)
    study.frame("options")
    with pytest.raises(AssertionError, match="advice was computed"):
        study.check()


def test_a_misfit_that_cannot_be_computed_withholds_the_certificate(monkeypatch):
    k, se, value = table(np.random.default_rng(0))
    study = told(k, value, se)
    fit = Analysis(study._log.state).estimates
    monkeypatch.setattr(type(fit), "squares", lambda *_: float("nan"))
    assert study.certificate().verdict == "withheld"
    assert "cannot be computed" in study.certificate().sentence
