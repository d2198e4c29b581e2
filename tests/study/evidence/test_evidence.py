"""Evidence of each kind against its definition, and half-widths against a brute search."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, special
from tests.support.effort import effort

from noisewise.study.evidence.counts import Counts, log_weights, tilts
from noisewise.study.evidence.half_widths import SeparateOptions
from noisewise.study.evidence.kind import DOWN, UP
from noisewise.study.evidence.known import SCALES, WEIGHTS, KnownErrorBars, LimitedScatter, scaled_tail
from noisewise.study.evidence.levels import (
    AT_REST,
    CHOSEN,
    Stacks,
    chosen_of_suprema,
    ladder,
    levels_for,
    levels_with_limits,
)
from noisewise.study.evidence.limits import tabulate
from noisewise.study.evidence.search import reaches

ALPHA = 0.04


def known(precision, eps=0.5, apart=None):
    precision = np.asarray(precision, dtype=float)
    return KnownErrorBars(precision, np.zeros(precision.size) if apart is None else apart, eps)


def counts(successes, trials, eps=0.05, sign=1.0):
    successes, trials = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    return Counts(successes, trials, successes / np.maximum(trials, 1.0), sign, eps)


def test_the_scaled_tail_is_that_of_the_normal_law():
    z = np.append(0.0, np.geomspace(1e-9, 1e9, 2000))
    assert_allclose(scaled_tail(z), special.erfcx(z), rtol=1e-14)


@pytest.mark.parametrize("side", [UP, DOWN])
@pytest.mark.parametrize("x", [-3.0, -0.2, 0.0, 0.4, 2.5])
def test_known_error_bars_are_the_mixture_of_likelihood_ratios(x, side):
    """Averaged over how far the mean lies beyond, by numerical integration."""
    precision, eps = 7.0, 0.5
    expected = 0.0
    for scale, weight in zip(SCALES / eps**2, WEIGHTS, strict=True):

        def ratio(d, scale=scale):
            prior = 2.0 * math.sqrt(scale / (2.0 * math.pi)) * math.exp(-0.5 * scale * d * d)
            return prior * math.exp(precision * (d * x - 0.5 * d * d))

        most = 12.0 / math.sqrt(precision + scale) + max(0.0, x)
        expected += weight * integrate.quad(ratio, 0.0, most, epsabs=0.0, epsrel=1e-12, limit=500)[0]
    found = known([precision], eps, apart=np.array([side * 0.3])).log_e(
        np.array([0]), np.array([[x + 0.3]]), side
    )
    assert found.value[0, 0] == pytest.approx(math.log(expected), abs=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_counts_are_the_mean_of_tilted_bets(sign):
    kind = counts([37], [50], sign=sign)
    assert np.exp(log_weights(tilts(0.05), 0.05)).sum() == pytest.approx(1.0)
    for side in (UP, DOWN):
        for z in (-0.1, 0.0, 0.15):
            share = 0.74 + side * sign * z
            sizes = tilts(0.05)
            weights = np.exp(log_weights(sizes, 0.05))
            bets = [
                weight * math.exp(t * 37 - 50 * math.log(1 - share + share * math.exp(t)))
                for t, weight in zip(-side * sign * sizes, weights, strict=True)
            ]
            found = kind.log_e(np.array([0]), np.array([[z]]), side).value[0, 0]
            assert found == pytest.approx(math.log(sum(bets)), abs=1e-10)


def test_a_bet_on_any_value_between_0_and_1_is_fair():
    """``E exp(θx) <= 1 - m + m·exp(θ)``: two points at the ends are the worst."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        points, weights = rng.random(4), rng.dirichlet(np.ones(4))
        mean, theta = float(points @ weights), rng.normal() * 3.0
        assert weights @ np.exp(theta * points) <= 1.0 - mean + mean * math.exp(theta) + 1e-12


KINDS = st.sampled_from(["known", "counts", "both"])


def some_evidence(seed, which, n=4):
    """The evidence about some options, with estimates that lie anywhere between."""
    rng = np.random.default_rng(seed)
    trials = rng.integers(1, 10 ** rng.integers(1, 7), n).astype(float)
    successes = np.floor(trials * rng.beta(0.3, 0.3, n))
    estimate = np.clip(successes / trials + 0.05 * rng.normal(size=n), 0.0, 1.0)
    eps = float(10.0 ** rng.uniform(-3.0, -0.5))
    bars = KnownErrorBars(10.0 ** rng.uniform(-3.0, 6.0, n), 0.05 * rng.normal(size=n), eps)
    tried = Counts(successes, trials, estimate, rng.choice([1.0, -1.0]), eps)
    return {"known": [bars], "counts": [tried], "both": [bars, tried]}[which]


@settings(max_examples=effort(8, 40))
@given(seed=st.integers(0, 2**32), which=KINDS, side=st.sampled_from([UP, DOWN]))
def test_evidence_is_convex_and_never_falls_and_slopes_are_its_own(seed, which, side):
    for kind in some_evidence(seed, which):
        low, high = kind.ends(np.arange(1), side)
        z = np.linspace(max(float(low[0]), -3.0), min(float(high[0]), 3.0), 301)[None]
        found = kind.log_e(np.arange(1), z, side)
        steps = np.diff(found.value[0])
        room = 1e-9 * (1.0 + np.abs(found.value).max())
        assert (steps >= -room).all()
        assert (np.diff(steps) >= -2.0 * room).all()
        middle = np.diff(found.value[0]) / np.diff(z[0])
        assert (found.slope[0, :-1] <= middle + room / np.diff(z[0])).all()
        assert (found.slope[0, 1:] >= middle - room / np.diff(z[0])).all()


@settings(max_examples=effort(8, 40))
@given(seed=st.integers(0, 2**32), which=KINDS, side=st.sampled_from([UP, DOWN]))
def test_a_reach_is_where_evidence_reaches_the_level(seed, which, side):
    kinds = some_evidence(seed, which)
    levels = np.array([-6.0, -0.5, 0.5, 3.0, 12.0])
    options = np.arange(4)
    reach = reaches(kinds, options, levels, side)
    low = np.max([kind.ends(options, side)[0] for kind in kinds], axis=0)
    high = np.min([kind.ends(options, side)[1] for kind in kinds], axis=0)

    def total(z):
        return sum(kind.log_e(options, z, side).value for kind in kinds)

    inside = reach > -np.inf
    at = np.where(inside, reach, 0.0)
    values = total(at)
    room = 1e-7 * (1.0 + np.abs(values))
    # Never inside of what is possible; and not beyond, unless a mean cannot lie further out.
    assert (inside <= ((values >= levels - room) | (at >= high[:, None]))).all()
    assert (inside <= (values <= levels + np.maximum(room, 1e-6))).all() or (at <= low[:, None] + 1e-12).any()
    ended = np.where(np.isfinite(low), low, 0.0)[:, None] + np.zeros_like(at)
    assert (~inside <= (total(ended) >= levels)).all()


def brute_half_width(kinds, rival, chosen, spent, left):
    """The largest ``z_j + z_i`` that the evidence leaves possible, over many levels."""
    up = reaches(kinds, np.array([rival]), left, UP)[0]
    down = reaches(kinds, np.array([chosen]), spent, DOWN)[0]
    return float((up + down).max())


def many_levels(n):
    whole = math.log(1.0 / ALPHA)
    spent = np.linspace(-12.0, whole + math.log(n) + 40.0, 2001)
    return spent, whole - np.logaddexp(math.log(1.0 - CHOSEN), spent + math.log(CHOSEN / (n - 1)))


@pytest.mark.parametrize("which", ["known", "counts", "both"])
@pytest.mark.parametrize("seed", range(effort(1, 2)))
def test_half_widths_are_never_below_a_brute_search_and_hardly_above(seed, which):
    kinds = some_evidence(100 + seed, which)
    found = SeparateOptions(kinds, levels_for(4, ALPHA, 12.0))
    for rival, chosen in ((0, 1), (2, 1)):
        half, expected = (
            found.half_widths(chosen)[rival],
            brute_half_width(kinds, rival, chosen, *many_levels(4)),
        )
        assert expected * (1.0 - 1e-6) <= half
        assert half <= expected + 0.02 * abs(expected)
        assert found.lead_widths(rival)[chosen] == half


@given(seed=st.integers(0, 2**32), which=KINDS)
@settings(max_examples=effort(4, 20))
def test_what_a_half_width_excludes_the_evidence_excludes(seed, which):
    """Pairs of means beyond the half-width have evidence against them, wherever they lie."""
    kinds = some_evidence(seed, which)
    half = SeparateOptions(kinds, levels_for(4, ALPHA, 12.0)).half_widths(3)[0]
    if not math.isfinite(half):
        return
    low, high = (max, min)
    up = [kind.ends(np.array([0]), UP) for kind in kinds]
    down = [kind.ends(np.array([3]), DOWN) for kind in kinds]
    rng = np.random.default_rng(seed)
    for _ in range(20):
        far = half + abs(half) * 10.0 ** rng.uniform(-6.0, 1.0) + 1e-9
        one = far * rng.uniform(-1.0, 2.0)
        other = far - one
        if not all(low(e[0][0], -1e9) <= one <= high(e[1][0], 1e9) for e in up):
            continue
        if not all(e[0][0] <= other <= e[1][0] for e in down):
            continue
        against = sum(kind.log_e(np.array([0]), np.array([[one]]), UP).value[0, 0] for kind in kinds)
        chosen = sum(kind.log_e(np.array([3]), np.array([[other]]), DOWN).value[0, 0] for kind in kinds)
        bet = np.logaddexp(math.log(1.0 - CHOSEN), chosen + math.log(CHOSEN / 3))
        assert against + bet >= math.log(1.0 / ALPHA) - 1e-6 * (1.0 + abs(against) + abs(chosen))


def test_scatter_with_a_limit_excludes_less_than_the_true_scatter():
    """For every limit above the true scatter, whatever the levels: what the proof needs."""
    rng = np.random.default_rng(5)
    true = 10.0 ** rng.uniform(-2.0, 4.0, 6)
    spent, left = many_levels(6)
    kept = spent <= 12.0  # the cap: with its own probability, no evidence exceeds it
    half = [brute_half_width([known(true)], rival, 0, spent[kept], left[kept]) for rival in range(1, 6)]
    for factor in (1.0, 0.9, 0.5, 0.1, 1e-3):
        limited = LimitedScatter(true * factor, np.zeros(6), 0.5)
        found = SeparateOptions([limited], levels_for(6, ALPHA, 12.0)).half_widths(0)[1:]
        assert (found >= np.array(half) * (1.0 - 1e-6)).all()


def test_studies_of_limited_scatter_exclude_less_than_the_true_scatter_would():
    """The same with the levels of studies that begin with it: the rival's evidence is partly at rest."""
    rng = np.random.default_rng(6)
    true, levels = 10.0 ** rng.uniform(-2.0, 4.0, 6), levels_with_limits(6, ALPHA)
    spent = np.linspace(-12.0, levels.cap - 1e-6, 2001)
    both = math.log(1.0 / ALPHA) - np.logaddexp(math.log(1.0 - CHOSEN), spent + math.log(CHOSEN / 5))
    left = np.log((np.exp(both) - AT_REST) / (1.0 - AT_REST))
    half = [brute_half_width([known(true)], rival, 0, spent, left) for rival in range(1, 6)]
    exact = SeparateOptions([known(true)], levels).half_widths(0)[1:]
    assert (exact >= np.array(half) * (1.0 - 1e-6)).all()
    assert (exact <= np.array(half) * 1.02).all()
    for factor in (1.0, 0.9, 0.5, 0.1, 1e-3):
        limited = LimitedScatter(true * factor, np.zeros(6), 0.5)
        found = SeparateOptions([limited], levels).half_widths(0)[1:]
        assert (found >= np.array(half) * (1.0 - 1e-6)).all()


def test_interpolated_reaches_are_never_smaller_than_searched_ones():
    precision = 10.0 ** np.random.default_rng(1).uniform(-4.0, 8.0, 120)
    levels, options = levels_for(120, ALPHA, 12.0), np.arange(120)
    found = tabulate([known(precision)], levels, None)
    for interpolated, wanted, side in (
        (found.up, levels.left, UP),
        (found.down[:, 1:], levels.spent[1:], DOWN),
    ):
        searched = reaches([known(precision)], options, wanted, side)
        assert_allclose(interpolated, searched, rtol=3e-10, atol=3e-10 / math.sqrt(precision.min()))
        assert (interpolated >= searched).all()


@pytest.mark.parametrize("which", ["known", "counts", "both"])
def test_rows_that_did_not_change_are_kept_and_the_others_are_as_if_from_the_start(which, monkeypatch):
    from noisewise.study.evidence import limits as tables

    levels = levels_for(4, ALPHA, 12.0)
    before = tabulate(some_evidence(3, which), levels, None)
    kinds = some_evidence(3, which)
    kind = kinds[0]
    if isinstance(kind, KnownErrorBars):
        kind._precision[2] *= 1.5
    else:
        kind._trials[2] += 1.0
    looked = []
    rows = tables._rows
    monkeypatch.setattr(tables, "_rows", lambda k, some, **more: looked.append(some) or rows(k, some, **more))
    after = tabulate(kinds, levels, before)
    assert [some.tolist() for some in looked] == [[2]]
    whole = tabulate(kinds, levels, None)
    assert_allclose(after.up, whole.up, rtol=1e-12)
    assert_allclose(after.down, whole.down, rtol=1e-12)
    assert tabulate(kinds, levels, after) is after


def test_pairs_with_thresholds_of_their_own_are_never_below_a_brute_search():
    kinds = some_evidence(7, "known")
    thresholds = np.array([6.0, 9.5, 11.0, 7.0])
    found = SeparateOptions(kinds, ladder(12.0, 12.0), lambda option: thresholds).half_widths(1)
    for rival in (0, 2, 3):
        spent = np.linspace(-12.0, 40.0, 2001)
        left = thresholds[rival] - np.logaddexp(math.log(0.5), spent + math.log(0.5))
        best = brute_half_width(kinds, rival, 1, spent, left)
        assert best - 1e-9 * abs(best) <= found[rival] <= best + 0.04 * abs(best)


def test_the_level_of_suprema_is_that_of_independent_suprema():
    """Suprema that are as heavy as they may be: 1/U with U uniform. 200,000 draws; 5 sigma."""
    chosen = chosen_of_suprema(6)
    whole = levels_for(6, 0.05, 12.0, Stacks(0.95, 0.05)).left[0] + math.log(1.0 - chosen)
    rng = np.random.default_rng(0)
    best, others = 1.0 / rng.random(200_000), 1.0 / rng.random((200_000, 5))
    product = best * (1.0 - chosen + chosen * others.max(axis=1) / 5.0)
    assert (product >= math.exp(whole)).mean() <= 0.05 + 5.0 * math.sqrt(0.05 / 200_000)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (0, 10**7), (10**7, 10**7), (3, 10**7)])
def test_extreme_counts_have_limits(successes, trials):
    kind = [counts([successes], [trials], eps=0.005)]
    levels = np.array([math.log(60.0)])
    up = successes / trials + reaches(kind, np.array([0]), levels, UP)[0, 0]
    down = successes / trials - reaches(kind, np.array([0]), levels, DOWN)[0, 0]
    assert 0.0 <= down <= successes / trials <= up <= 1.0
    assert up - down <= 1.0 if trials == 10 else up - down <= 1e-5
