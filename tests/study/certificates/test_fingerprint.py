"""The field `data` of a certificate: equal for equal questions and measurements, and only then."""

from dataclasses import fields, replace

import numpy as np
import pytest

import noisewise as nw
from noisewise.study.certificates.bound import FILED, fingerprint
from noisewise.study.log.specification import PolicyChoice, Specification
from noisewise.study.log.state import replay
from noisewise.study.models.analysis import Analysis

#: Another value for every field of a specification.
OTHER = {
    "model": "linear", "goal": "min", "eps": 0.4, "confidence": 0.9, "noise_floor": 0.1,
    "seed": 5, "version": "0", "deviation": 0.3, "extra_scatter": 0.3,
    "budget": 9, "looks": "once", "bounds": (0.0, 9.0), "scatter": "pooled", "noise": "heavy", "items": 7,
    "unit": "ms", "scale": "log", "measure": "counts", "policy": PolicyChoice("uniform", "0", {}),
}  # fmt: skip
#: Another value for every field of a measurement, and one where the field is missing.
BODY = {
    "option": "B", "minus": "C", "value": 1.5, "kind": "readings", "sigma": 0.3, "readings": 4,
    "scatter": 0.7, "block": "Tue", "instrument": "scale 2", "arm": True, "values": [1.0, 2.0], "at": 5.0,
    "cost": 2.0, "items": "01", "places": "1-2", "names": ["q1"],
}  # fmt: skip


def told(**question):
    study = nw.create_study(options=["A", "B", "C"], **{"eps": 0.5, **question})
    for name, value in (("A", 1.0), ("B", 2.0), ("C", 0.5)):
        study.tell(option=name, value=value, se=0.1)
    return study


def data_of(specification, events):
    return fingerprint(Analysis(replay(specification, events)))


def test_every_field_of_the_specification_counts_but_the_name():
    study = told()
    events, mine = study.events(), study.specification
    right = data_of(mine, events)
    assert right == study.certificate().data
    names = {field.name for field in fields(Specification)} - {"name", "catalogue"}
    assert names == set(OTHER)
    seen = {right}
    for name, value in OTHER.items():
        assert getattr(mine, name) != value, name
        analysis = Analysis(replay(mine, events))
        analysis.specification = replace(mine, **{name: value})
        seen.add(fingerprint(analysis))
    assert len(seen) == 1 + len(OTHER)
    assert data_of(replace(mine, name="renamed"), events) == right


@pytest.mark.parametrize("change", [{"ids": ["A", "B", "D"]}, {"costs": [1.0, 2.0, 3.0]}])
def test_the_catalogue_counts(change):
    study = told()
    right, analysis = study.certificate().data, Analysis(study._log.state)
    analysis.specification = replace(
        study.specification, catalogue=replace(study.specification.catalogue, **change)
    )
    assert fingerprint(analysis) != right


@pytest.mark.parametrize("name", [*BODY, *sorted(FILED)])
def test_every_field_of_a_measurement_counts_but_what_it_is_filed_under(name):
    study = told()
    analysis = study.analysis()
    right, body = fingerprint(analysis), analysis.state.told[1]
    analysis.state.told[1] = body | {name: BODY.get(name, "something")}
    assert (fingerprint(analysis) == right) == (name in FILED or body.get(name) == BODY[name])


def test_no_field_of_a_measurement_is_forgotten_here():
    study = nw.create_study(options=["A", "B", "C"], eps=0.5, measure="ratings:0,9")
    study.tell(
        option="A",
        values=[1.0, 2.0],
        block="Mon",
        instrument="i",
        key="k",
        by="me",
        note="n",
        at=1.0,
        cost=1.0,
    )
    study.tell(plus="A", minus="B", value=1.0, se=0.1)
    study.tell(option="A", value=1.0, sd=0.1, n=3)
    studied = nw.create_study(options=["A", "B"], eps=0.5)
    studied.tell(option="A", items={"q1": 1, "q2": 0})
    studied.tell(option="B", items={"q1": 1, "q2": 0})
    names = set().union(*(body for one in (study, studied) for body in one._log.state.told))
    assert names <= set(BODY) | FILED, names - set(BODY) - FILED


def test_what_happened_to_the_options_counts():
    study = told()
    seen = {study.certificate().data}
    study.exclude("C", "broken")
    seen.add(study.certificate().data)
    study.add_options(["D"])
    seen.add(study.certificate().data)
    assert len(seen) == 3


def test_the_order_of_telling_does_not_count():
    rng = np.random.default_rng(0)
    rows = [
        {"option": "ABC"[i % 3], "value": float(i), "se": 0.1, "block": f"day {i % 2}"} for i in range(12)
    ]
    found = set()
    for _ in range(4):
        study = nw.create_study(options=["A", "B", "C"], eps=0.5, policy="uniform")
        for place in rng.permutation(len(rows)):
            study.tell(**rows[place])
        found.add(study.certificate().data)
    assert len(found) == 1
