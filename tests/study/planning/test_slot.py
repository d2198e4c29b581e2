"""What slots bring: standard errors, bounds, costs, and words."""

import numpy as np
import pytest

import noisewise as nw


def two_leaders(**question):
    """A and B are close and little known; C and D are far below."""
    table = {"id": ["A", "B", "C", "D"], **question.pop("columns", {})}
    study = nw.create_study(options=table, eps=0.1, **question)
    for option, value, se in (("A", 5.0, 0.3), ("B", 4.9, 0.5), ("C", 1.0, 0.5), ("D", 0.0, 0.5)):
        for _ in range(3):
            study.tell(option=option, value=value, se=se)
    return study


def test_it_settles_the_closest_race():
    study = two_leaders()
    (slot,) = study.slot(0.05)
    assert slot.option == "B"  # the less known of the two
    assert {slot.recommended, slot.rival} == {"A", "B"}
    assert slot.bound_after < slot.bound_before == pytest.approx(study.certificate().bound)
    assert slot.usual == pytest.approx((0.5 / 0.05) ** 2)
    assert slot.se_after < slot.se_before
    assert "measure B." in str(slot)
    assert "worth 100 usual measurements" in str(slot)


def test_the_expected_bound_is_what_the_certificate_says_then():
    study = two_leaders()
    (slot,) = study.slot(0.05)
    study.tell(option="B", value=4.9, se=0.05)
    assert study.certificate().bound == pytest.approx(slot.bound_after)


def test_it_reserves_nothing_and_reckons_with_what_is_under_way():
    study = two_leaders()
    before = len(study.events())
    study.slot([0.05, 0.05])
    assert len(study.events()) == before
    assert study.slot(0.2)[0].option == "B"
    while not any(job.option == "B" for job in study.ask(sigma=0.01)):
        pass
    assert study.slot(0.2)[0].option == "A"  # B will be known soon


def test_costs_are_respected():
    dear = two_leaders(columns={"cost": [1.0, 500.0, 1.0, 1.0]})
    (slot,) = dear.slot(0.05)
    assert (slot.option, slot.cost) == ("A", 1.0)  # B teaches more, but not 500 times more
    assert dear.slot(0.05, budget=2.0)[0].option == "A"
    fair = two_leaders(columns={"cost": [2.0, 3.0, 2.0, 2.0]})
    assert fair.slot(0.05)[0].option == "B"
    assert fair.slot(0.05, budget=2.5)[0].option == "A"
    with pytest.raises(ValueError, match="costs at most what is left of the budget"):
        fair.slot([0.05, 0.05, 0.05], budget=5.5)
    with pytest.raises(ValueError, match="has no cost column"):
        two_leaders().slot(0.05, budget=1.0)


def test_before_anything_is_known_it_looks_at_what_is_cheapest():
    study = nw.create_study(options={"id": ["A", "B"], "cost": [3.0, 1.0]}, eps=0.1)
    (slot,) = study.slot(0.1)
    assert slot.option == "B"
    assert slot.bound_before is None
    assert slot.usual is None
    study.tell(option="B", value=1.0, se=0.1)
    assert study.slot(0.1)[0].option == "A"  # never measured


def test_refusals():
    study = two_leaders()
    with pytest.raises(ValueError, match="`sigma` must be"):
        study.slot(-1.0)
    with pytest.raises(ValueError, match="at least one slot"):
        study.slot([])


def line_study(model="linear", n=10, every=9, **question):
    """Options along a line, of which some were measured."""
    x, rng = np.linspace(0.0, 1.0, n), np.random.default_rng(0)
    table = {"id": [f"o{k}" for k in range(n)], "x": x}
    study = nw.create_study(options=table, model=model, eps=0.2, **question)
    for k in range(0, n, every):
        study.tell(option=f"o{k}", value=2.0 * x[k] + 0.2 * rng.normal(), se=0.4)
    return study


def scattered_study():
    study = nw.create_study(options=["A", "B", "C"], eps=0.5, errors=nw.Errors(extra=1.0))
    for option in "ABC":
        for value in (1.0, 2.0):
            study.tell(option=option, value=value, se=0.1)
    return study


@pytest.mark.parametrize(
    "make",
    [
        scattered_study,
        line_study,
        lambda: line_study(n=30, every=2, model="linear+deviation:0.3"),
        lambda: line_study(n=30, every=2, model="linear+deviation:0.3", errors=nw.Errors(extra=0.5)),
    ],
    ids=["scatter", "linear", "deviation", "both"],
)
def test_standard_errors_are_those_that_the_study_has_before_and_then(make):
    study = make()
    errors = dict(study.frame("options").select("option", "se").rows())
    values = dict(study.frame("options").select("option", "estimate").rows())
    (slot,) = study.slot(0.01)
    assert slot.se_before == pytest.approx(errors[slot.option])
    study.tell(option=slot.option, value=values[slot.option], se=0.01)
    then = dict(study.frame("options").select("option", "se").rows())
    assert slot.se_after == pytest.approx(then[slot.option])
    assert study.certificate().bound == pytest.approx(slot.bound_after)
