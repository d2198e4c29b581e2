"""Slots and suggestions: what is decided is the same, whatever happened to the study."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.asked_studies import asked_study
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.planning.ledger import information, information_of_last

SEEDS = st.integers(0, 2**32)
SIGMAS = st.sampled_from([0.03, 0.2, 0.6])
WHERE = st.sampled_from([None, "Tue", "Sun"])  # going on, begun in some studies, new
PROBES = st.sampled_from([None, "option", "difference"])


def decided(made):
    return [(one.option, one.minus, one.block) for one in made]


@settings(max_examples=effort(12, 60), deadline=None)
@given(seed=SEEDS, sigma=SIGMAS, block=WHERE, probe=PROBES)
def test_a_slot_is_what_the_study_asks_for(seed, sigma, block, probe):
    study = asked_study(seed)
    slots = study.slot(sigma, block=block, probe=probe)
    assert decided(slots) == decided(study.ask(sigma=sigma, block=block, probe=probe, dry_run=True))


@settings(max_examples=effort(5, 25), deadline=None)
@given(seed=SEEDS, sigma=SIGMAS, block=st.sampled_from(["Tue", "Sun"]), probe=PROBES)
def test_equal_slots_are_what_it_asks_for_at_once(seed, sigma, block, probe):
    study = asked_study(seed)
    slots = study.slot([sigma] * 3, block=block, probe=probe)
    assert decided(slots) == decided(study.ask(3, sigma, block=block, probe=probe, dry_run=True))


@settings(max_examples=effort(5, 25), deadline=None)
@given(seed=SEEDS, block=WHERE, probe=PROBES)
def test_of_several_slots_the_quietest_asks_first_and_the_block_goes_on(seed, block, probe):
    study = asked_study(seed)
    slots = study.slot([0.3, 0.02, 0.1], block=block, probe=probe)
    assert [slot.sigma for slot in slots] == [0.3, 0.02, 0.1]
    for slot in sorted(slots, key=lambda slot: slot.sigma):
        assert decided([slot]) == decided(study.ask(sigma=slot.sigma, block=block, probe=probe))


@settings(max_examples=effort(8, 40), deadline=None)
@given(seed=SEEDS, sigma=SIGMAS, block=WHERE, probe=PROBES)
def test_what_a_slot_says_can_be_read_and_claims_no_more_than_the_certificate(seed, sigma, block, probe):
    study = asked_study(seed)
    certificate = study.certificate()
    (slot,) = study.slot(sigma, block=block, probe=probe)
    plain = json.loads(json.dumps(slot.to_plain(), allow_nan=False))
    assert (plain["option"], plain["minus"], plain["policy"]) == (slot.option, slot.minus, None)
    assert slot.information > 0.0
    assert slot.withheld == bool(certificate.withheld)
    if certificate.withheld:
        assert slot.bound_before is slot.bound_after is None
        assert "bound falls" not in str(slot)
        assert "hardly lower" not in str(slot)
    elif not study.pending:
        before = math.inf if slot.bound_before is None else slot.bound_before
        assert before == pytest.approx(certificate.bound)
    what = slot.option if slot.minus is None else f"{slot.option} - {slot.minus}"
    assert f": measure {what}" in str(slot)
    assert "another policy" not in str(slot)


@settings(max_examples=effort(8, 40), deadline=None)
@given(seed=SEEDS, sigma=SIGMAS, block=WHERE, probe=PROBES)
def test_it_is_worth_what_a_measurement_as_expected_brings(seed, sigma, block, probe):
    """Where no size is estimated, since those are not estimated anew, and a value is expected at all."""
    study = asked_study(seed, measured=12)
    (slot,) = study.slot(sigma, block=block, probe=probe)
    model = study._now().state.model
    estimated = "estimate" in (model.deviation, model.extra_scatter)
    groups = set(study._now().estimates.group.tolist()) - {-1}
    if study.pending or estimated or slot.opens or slot.se_before is None or len(groups) > 1:
        return
    expected, what = as_read(study, slot), {"option": slot.option}
    if slot.minus is not None:
        what = {"plus": slot.option, "minus": slot.minus}
    elif slot.block is not None:
        what["block"] = slot.block
    study.tell(**what, value=expected, se=sigma)
    now = study._now()
    assert information_of_last(now) == pytest.approx(information(now)[-1], rel=1e-6)
    if not study.certificate().withheld and slot.bound_after is not None:
        assert study.certificate().bound == pytest.approx(slot.bound_after, rel=1e-6)
    errors = dict(study.frame("options").select("option", "se").rows())
    if slot.minus is None and slot.se_after is not None:
        assert errors[slot.option] == pytest.approx(slot.se_after, rel=1e-6)


def as_read(study, slot):
    """What the study expects to be read, in the block of the slot."""
    analysis = study._now()
    waiting = bool(analysis.sigmas.waiting)
    fit = analysis.estimates if waiting else analysis.certified
    sums = analysis.sums if waiting else analysis.certified_sums
    option, sign = study.options.index(slot.option), analysis.specification.sign
    if slot.minus is not None:
        return sign * float(fit.means[option] - fit.means[study.options.index(slot.minus)])
    name = slot.block or ""
    offset = fit.offsets[sums.blocks.index(name)] if name in sums.blocks else 0.0
    return sign * float(fit.means[option] + offset + sums.centre)


@settings(max_examples=effort(8, 40), deadline=None)
@given(seed=SEEDS, budget=st.sampled_from([1.0, 2.0, 3.5, 6.0, 20.0]), block=WHERE, probe=PROBES)
def test_what_slots_cost_together_is_at_most_the_budget(seed, budget, block, probe):
    study = asked_study(seed)
    prices = dict(zip(study.options, study._state.costs or [], strict=False))
    if not prices:
        with pytest.raises(ValueError, match="has no cost column"):
            study.slot(0.1, budget=budget)
        return
    left = {name: prices[name] for name in study.options if study.options.index(name) in allowed(study)}
    compare = "difference" in (probe, study.ask(dry_run=True, probe=probe)[0].minus and "difference")
    cheapest = sum(sorted(left.values())[: 2 if compare else 1])
    if cheapest > budget:
        with pytest.raises(ValueError, match="costs at most what is left of the budget"):
            study.slot(0.1, budget=budget, block=block, probe=probe)
        return
    (slot,) = study.slot(0.1, budget=budget, block=block, probe=probe)
    assert slot.cost == prices[slot.option] + (0.0 if slot.minus is None else prices[slot.minus])
    assert slot.cost <= budget
    assert slot.option in left
    assert decided(study.slot(0.1, budget=1e6)) == decided(study.slot(0.1))


def allowed(study):
    return {at for at, free in enumerate(study._state.allowed()) if free}


def days():
    study = nw.create_study(options=["A", "B", "C"], eps=0.1)
    for day in ("Mon", "Tue"):
        for option, value in (("A", 1.0), ("B", 1.1), ("C", 0.2)):
            study.tell(option=option, value=value, se=0.2, block=day)
    return study


def test_the_last_block_goes_on_and_a_new_one_is_opened_by_the_leader():
    study = days()
    first, second = study.slot([0.1, 0.2])
    assert (first.block, second.block, first.opens, second.opens) == ("Tue", "Tue", False, False)
    assert f"measure {first.option} in block Tue." in str(first)
    first, second = study.slot([0.1, 0.2], block="Wed")
    assert (first.option, first.opens, second.opens) == ("B", True, False)
    assert "measure B in the new block Wed." in str(first)
    assert first.bound_after == pytest.approx(first.bound_before)
    assert "Others in this block will be compared with it." in str(first)
    assert second.option == "A"
    assert second.bound_after < second.bound_before


def test_a_difference_has_two_options_and_its_own_standard_error():
    study = nw.create_study(options={"id": ["A", "B", "C"], "cost": [1.0, 2.0, 4.0]}, eps=0.1)
    for plus, minus, value in (("A", "B", 0.2), ("B", "C", 5.0)):
        study.tell(plus=plus, minus=minus, value=value, se=0.3)
    (slot,) = study.slot(0.1)
    assert {slot.option, slot.minus} == {"A", "B"}
    assert slot.cost == 3.0
    assert slot.se_before == pytest.approx(0.3)
    assert slot.se_after == pytest.approx((0.3**-2 + 0.1**-2) ** -0.5)
    assert slot.block is None
    assert f"measure {slot.option} - {slot.minus} (cost 3)." in str(slot)
    assert f"{slot.option} - {slot.minus} would be known to ±0.0949, now ±0.3" in str(slot)
