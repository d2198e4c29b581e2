"""One class per model: a fourth one is one class, and no other module asks for a model's name."""

from statistics import NormalDist

import numpy as np
import pytest
from numpy.testing import assert_allclose

import noisewise as nw
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log import model_choice
from noisewise.study.log.model_choice import ModelFacts
from noisewise.study.models import analysis
from noisewise.study.models.fit import Fit, totals
from noisewise.study.models.model import COMPARING, StudyModel

#: A known law that the options of the fourth model are drawn from.
CENTRE, SPREAD = 5.0, 1.0


class Drawn(StudyModel):
    """Options drawn from one known normal law; every value is shrunk towards its centre.

    Given everything measured, the options are independent and normal around their posterior means, whatever
    chose the measurements: at the moment of stopping the n - 1 differences hold by a union bound.
    """

    facts = ModelFacts("drawn from a known law")
    shares_information = True  # there is a bound before every option was measured
    radius = "normal quantiles of the posterior (union bound over options), at the moment of stopping"

    def fit(self, sums, deviation):
        assert not sums.has_border, "this model knows neither blocks nor differences"
        precision = totals(sums.plus, sums.weight, self.n)
        sign, own = self.specification.sign, 1.0 / (precision + SPREAD**-2)
        centre = sign * CENTRE - sums.centre
        pull = totals(sums.plus, sums.weight * sums.value, self.n) + centre * SPREAD**-2
        measured = np.zeros(self.n)
        measured[sums.plus] = sums.value
        zeros = np.zeros(self.n)
        return Fit(
            means=pull * own, fine=zeros, own=own, precision=precision, group=zeros.astype(int),
            offsets=np.zeros(1), offset_precision=np.array([precision.sum()]),
            residuals=sums.value - measured[sums.plus], left=0.0, rank=sums.plus.size, log_det=0.0,
        )  # fmt: skip

    def boundary(self, case):
        quantile = -NormalDist().inv_cdf(COMPARING * case.delta / max(1, case.n_allowed - 1))

        class Quantiles(HalfWidths):
            def half_widths(self, option):
                half = quantile * np.sqrt(case.fit.own + case.fit.own[option])
                half[option] = 0.0
                return half

        return Quantiles()

    def assumptions(self, sizes):
        return [f"options were drawn from a normal law around {CENTRE:g} with standard deviation {SPREAD:g}"]

    def draw_worlds(self, fit, sums, count, rng, span):
        return fit.means + np.sqrt(fit.own) * rng.standard_normal((count, self.n))


@pytest.fixture
def fourth(monkeypatch):
    monkeypatch.setattr(analysis, "_CLASSES", dict(analysis._CLASSES))
    monkeypatch.setattr(model_choice, "_FACTS", dict(model_choice._FACTS))
    analysis.register(Drawn)
    return Drawn.facts.name


def told(model, **more):
    study = nw.create_study(options=["A", "B", "C", "D"], eps=0.3, model=model, **more)
    for option, value in (("A", 4.0), ("B", 6.1), ("C", 5.0)):
        study.tell(option=option, value=value, se=0.05)
    return study


def test_a_fourth_model_is_one_class(fourth):
    study = told(fourth)
    certificate = study.certificate()
    assert certificate.option == "B"
    assert certificate.radius == Drawn.radius
    assert (
        "options were drawn from a normal law around 5 with standard deviation 1" in certificate.assumptions
    )
    # D was never measured: its law says how far above B it may be.
    precision = np.array([0.05**-2 + 1.0, 1.0])
    mean_of_b = (6.1 * 0.05**-2 + CENTRE) / precision[0]
    quantile = -NormalDist().inv_cdf(COMPARING * 0.05 / 3)
    expected = CENTRE - mean_of_b + quantile * np.sqrt((1.0 / precision).sum())
    assert_allclose(certificate.bound, expected, rtol=1e-9)
    assert certificate.candidates == ("B", "D")


def test_a_study_with_a_fourth_model_asks_plans_is_checked_and_reported(fourth, tmp_path):
    study = told(fourth)
    (job,) = study.ask(sigma=0.05)
    assert job.option == "D"
    study.tell(job, value=5.2, se=0.05)
    assert study.certificate().reached
    assert study.check().ok
    plan = told(fourth).plan(noise=0.05, paths=4)
    assert plan.forecasts[0].median == 1.0
    assert len(told(fourth).worth().ledger) == 3
    assert "B is the best of 4" in study.report(tmp_path / "page.html").read_text()


def test_a_fourth_model_can_be_switched_to_and_is_in_the_log(fourth):
    study = told("independent")
    assert not np.isfinite(study.certificate().bound)
    study.switch(model=fourth)
    assert study.model == fourth
    assert np.isfinite(study.certificate().bound)
    assert any(event.kind == "switch" and event.body["model"]["model"] == fourth for event in study.events())
