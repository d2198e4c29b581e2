"""Paired rounds: the bets are fair for any even scatter, limits are where they say, studies use them."""

import itertools
import math

import numpy as np
import pytest
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.evidence.rounds import (
    GROSS,
    GROSS_STAKE,
    GROSS_WEIGHT,
    NORMAL_MEDIAN,
    REACH_WEIGHTS,
    REACHES,
    SELDOM,
    STAKES,
    WEIGHTS,
    PairRounds,
    SignedRounds,
    gathered,
    log_evidence,
    shares_by_place,
    upper_limits,
)


def rounds_of(*apart):
    """Some sequences of differences, as the evidence takes them."""
    return gathered([PairRounds().extend(np.array(one, dtype=float)) for one in apart], np.ones(len(apart)))


def plain_evidence(apart, claim, gross):
    """E round by round, as the docstring says it."""
    total = 0.0
    for (stake, weight), (reach, share) in itertools.product(
        zip(STAKES, WEIGHTS, strict=True), zip(REACHES, REACH_WEIGHTS, strict=True)
    ):
        product = 1.0
        for t, difference in enumerate(apart):
            y, before = claim - difference, np.array(apart[:t])
            scale = 0.0
            if t >= 2:
                scale = reach * NORMAL_MEDIAN * float(np.median(np.abs(before - np.median(before))))
            psi = max(-1.0, min(1.0, y / scale)) if scale > 0.0 else float(np.sign(y))
            product *= 1.0 + stake * psi
        total += weight * share * product
    if not gross:
        return total
    far = math.prod(
        1.0 + GROSS_STAKE * ((claim - difference > math.log(GROSS)) / SELDOM - 1.0) for difference in apart
    )
    return (1.0 - GROSS_WEIGHT) * total + GROSS_WEIGHT * far


@pytest.mark.parametrize("gross", [False, True])
def test_the_evidence_is_what_the_formula_says(gross):
    rng = np.random.default_rng(1)
    for length in (1, 2, 3, 7, 20):
        apart = (0.5 * rng.standard_t(2, length)).tolist()
        for claim in (-1.5, -0.2, 0.0, 0.4, 2.0):
            found = log_evidence(rounds_of(apart), np.array([claim]), gross=gross)[0]
            assert found == pytest.approx(math.log(plain_evidence(apart, claim, gross)), rel=1e-10)


@pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1, 1, 1, 1], [0.1, 5, 0.3, 90, 1, 1e-3, 2, 0.0]])
def test_over_all_signs_the_evidence_is_one_on_average_whatever_the_sizes(sizes):
    signs = list(itertools.product((-1.0, 1.0), repeat=len(sizes)))
    rounds = rounds_of(*[np.array(sizes) * sign for sign in signs])
    values = np.exp(log_evidence(rounds, np.zeros(len(signs)), gross=False))
    assert np.mean(values) == pytest.approx(1.0, rel=1e-12)
    assert values.max() > 10.0  # signs that all agree are evidence


def test_gross_errors_that_are_as_frequent_as_promised_are_a_fair_bet():
    far = math.log(GROSS) + 0.1
    factors = [1.0 + GROSS_STAKE * ((y > math.log(GROSS)) / SELDOM - 1.0) for y in (far, 0.0)]
    assert SELDOM * factors[0] + (1.0 - SELDOM) * factors[1] == pytest.approx(1.0)
    assert min(factors) > 0.0


def test_the_limit_is_the_least_claim_that_is_ruled_out():
    rng = np.random.default_rng(2)
    apart = [rng.normal(0.1, 0.05, size) for size in (12, 40)]
    rounds, level = rounds_of(*apart), np.array([4.0, 5.0])
    limits = upper_limits(rounds, level, gross=False)
    assert (log_evidence(rounds, limits, gross=False) >= level).all()
    assert (log_evidence(rounds, limits - 1e-4, gross=False) < level).all()
    assert (limits > 0.1).all()
    assert limits[1] < limits[0]


def test_one_round_that_is_far_off_moves_a_limit_by_no_more_than_one_that_is_not():
    rng = np.random.default_rng(3)
    apart = rng.normal(0.0, 0.02, 40)
    near, far = apart.copy(), apart.copy()
    near[20], far[20] = 0.3, 1e6
    limits = upper_limits(rounds_of(near, far), np.array([4.0, 4.0]), gross=False)
    assert limits[1] == pytest.approx(limits[0], abs=1e-4)
    assert limits[1] < 0.05


def test_shares_of_all_pairs_with_an_option_add_up():
    first = np.array([0.3, 0.9, -1.0, 0.5])
    for best in range(4):
        others = np.array([k for k in range(4) if k != best])
        levels = shares_by_place(first, np.full(3, best), others)
        assert np.exp(-levels).sum() == pytest.approx(1.0)
        assert others[np.argmin(levels)] == (3 if best == 1 else 1)  # the best of the first round


@pytest.mark.parametrize("law", ["cauchy", "bimodal", "changing"])
def test_the_truth_is_seldom_ruled_out_after_any_round(law):
    """At most 5 % may be; of 400 races more than 33, or of 100 more than 12, are seen once in 500 at most."""
    races, most = effort((100, 12), (400, 33))
    rng, wrong = np.random.default_rng(4), 0
    for _ in range(races):
        noise = {
            "cauchy": lambda: rng.standard_cauchy(40),
            "bimodal": lambda: rng.choice([-1.0, 0.0, 1.0], 40) + 0.01 * rng.standard_normal(40),
            "changing": lambda: rng.standard_normal(40) * np.exp(3.0 * np.sin(np.arange(40))),
        }[law]()
        whole = rounds_of(noise)
        # Scales are known before their round, so that an earlier look is the same with fewer rounds.
        looks = SignedRounds(*(np.repeat(part, 40, axis=0) for part in whole[:2]), np.tri(40))
        wrong += bool((log_evidence(looks, np.zeros(40), gross=False) >= math.log(20.0)).any())
    assert wrong <= most


def rounds_study(times, rounds, seed=0, scatter=0.02, store=":memory:", leave=False):
    """A study on the log scale that was told so many rounds, with a slow-down that each round shares."""
    rng = np.random.default_rng(seed)
    study = nw.create_study(
        store, options=list(times), eps="2%", goal="min", scale="log", measure="rounds", unit="s"
    )
    left = list(times)
    for t in range(rounds):
        slow = math.exp(rng.normal(0.0, 0.5))
        for name in left:
            value = times[name] * slow * math.exp(rng.normal(0.0, scatter))
            study.tell(option=name, items={f"round {t}": value})
        if leave:
            left = [name for name in left if name in study.certificate().candidates]
    return study


def test_what_rounds_share_cancels_in_a_study():
    certificate = rounds_study({"a": 1.1, "b": 1.0, "c": 1.5}, 12).certificate()
    assert (certificate.option, certificate.bound, certificate.reached) == ("b", 0.0, True)
    assert certificate.evidence == ("paired rounds",)
    assert any("as easily up as down" in said for said in certificate.assumptions)
    assert not rounds_study({"a": 1.1, "b": 1.0, "c": 1.5}, 4).certificate().reached


def test_options_that_left_do_not_hold_up_the_bound():
    times = {"slow": 30.0, "a": 1.0, "b": 1.003, "middle": 1.3}
    study = rounds_study(times, 40, leave=True)
    certificate = study.certificate()
    told = {name: study._log.state.items.of(at).prefix for at, name in enumerate(times)}
    assert told["slow"] < told["middle"] < told["a"] == told["b"] == 40
    assert certificate.reached
    assert set(certificate.candidates) <= {"a", "b"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scale": "linear"}, 'needs `scale="log"`'),
        ({"errors": "tails=heavy"}, "assumes nothing about tails"),
        ({"final": True}, "does not go with `final=True`"),
        ({"errors": "extra=0.1"}, "has no error bars"),
    ],
)
def test_what_does_not_go_with_rounds_is_refused(given, said):
    question = {"options": ["a", "b"], "eps": "2%", "scale": "log", "measure": "rounds"} | given
    if given.get("scale") == "linear":
        question["eps"] = 0.1
    with pytest.raises(ValueError, match=said):
        nw.create_study(**question)


def test_without_logarithms_rounds_need_bounds_and_compare_differences():
    rng = np.random.default_rng(6)
    study = nw.create_study(options=["a", "b"], eps=0.1, measure=nw.Rounds(-1000, 1000))
    for t in range(14):
        day = rng.normal(0.0, 50.0)
        study.tell(option="a", items={str(t): day + rng.normal(0.0, 0.05)})
        study.tell(option="b", items={str(t): day + 1.0 + rng.normal(0.0, 0.05)})
    certificate = study.certificate()
    assert (certificate.option, certificate.reached) == ("b", True)
    assert not any("factor" in said for said in certificate.assumptions)
