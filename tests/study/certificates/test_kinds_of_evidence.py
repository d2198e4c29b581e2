"""A certificate names the evidence that it was computed from, and says at which price trials entered."""

import json

import pytest

import noisewise as nw
import noisewise.study.models.independent
from noisewise.study.evidence.half_widths import HalfWidths

EXACT = "without a normal approximation"
WORST = "the largest error they can have"


def told_counts(study, **more):
    for option, successes in {"A": 40, "B": 31, "C": 12}.items():
        study.tell(option=option, successes=successes, trials=50, **more)
    return study.certificate()


def about_trials(certificate):
    (said,) = [line for line in certificate.assumptions if line.startswith("trials")]
    return said


def test_known_error_bars_and_counts_are_named_and_shown_everywhere():
    study = nw.create_study(options=["A", "B", "C"], eps=0.1)
    assert study.certificate().evidence == ()
    study.tell(option="A", value=0.8, se=0.1)
    assert study.certificate().evidence == ("known error bars",)
    certificate = told_counts(study)
    assert certificate.evidence == ("known error bars", "counts")
    assert "\nEvidence: known error bars, counts.\nIt rests on 4 measurements." in str(certificate)
    assert json.loads(certificate.to_json())["evidence"] == ["known error bars", "counts"]
    assert nw.verify_certificate(certificate.to_json(), study).evidence == certificate.evidence


def test_trials_count_as_what_they_are_where_options_share_nothing():
    said = about_trials(told_counts(nw.create_study(options=["A", "B", "C"], eps=0.1)))
    assert EXACT in said
    assert WORST not in said


@pytest.mark.parametrize(
    ("question", "more", "evidence", "why"),
    [
        ({"errors": nw.Errors(extra=0.01)}, {}, ("known error bars",), "as extra scatter is added to them"),
        ({}, {"block": "Monday"}, ("contrasts",), "as options are compared by what they share"),
    ],
    ids=["extra scatter", "blocks"],
)
def test_where_they_enter_with_their_largest_error_the_certificate_says_why(question, more, evidence, why):
    certificate = told_counts(nw.create_study(options=["A", "B", "C"], eps=0.1, **question), **more)
    assert certificate.evidence == evidence
    assert why in about_trials(certificate)
    assert WORST in about_trials(certificate)


@pytest.mark.parametrize(
    ("model", "evidence"), [("linear", ("features",)), ("linear+deviation", ("features", "deviations"))]
)
def test_features_and_deviations_are_named(model, evidence):
    table = {"id": [f"o{k}" for k in range(6)], "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}
    model = f"{model}:0.1" if len(evidence) > 1 else model
    study = nw.create_study(options=table, roles={"option": "id"}, model=model, eps=0.5)
    study.tell(option="o1", value=1.0, se=0.1)
    study.tell(option="o4", value=4.1, se=0.1)
    assert study.certificate().evidence == evidence


def test_every_family_of_bounds_names_its_evidence():
    families, found = [], [HalfWidths]
    while found:
        found = [family for one in found for family in one.__subclasses__()]
        families += [family for family in found if family.__module__.startswith("noisewise.")]
    assert len(families) >= 4
    for family in families:
        assert family.evidence is not HalfWidths.evidence, family.__name__
