"""The theorems as numbers: their formulas, their limits, and that they hold."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import noisewise as nw
from noisewise.theory import (
    SHARPEST,
    TOTAL_VARIANCE_ROWS,
    clipped_level,
    core_set_size,
    cumulative_lower_bound,
    floored_level,
    information_budget,
    lower_bound,
    robust_radius,
    robust_vaee_bound,
    rounds_needed,
    total_variance_bound,
    vaee_bound,
    vagd_bound,
    water_level,
)
from noisewise.theory.bounds import family_regret

RNG = np.random.default_rng(0)
SIGMA = 10 ** RNG.uniform(-2, 0, 4000)


def test_theorem_1_is_factor_times_radius_times_level():
    """Notes 5 and 6: 2 for the best mean, 4 for any candidate; 1/ln 2 in ι instead of 2."""
    d, ridge, norm_bound, max_norm, delta = 3, 0.5, 2.0, 1.5, 0.01
    options = {"ridge": ridge, "norm_bound": norm_bound, "max_norm": max_norm, "delta": delta}
    total = (SIGMA**-2.0).sum()
    log_det = d * np.log1p(total * max_norm**2 / (d * ridge))
    x = water_level(SIGMA, log_det / math.log(2))
    mixture = math.sqrt(log_det + 2 * math.log(1 / delta) + ridge * norm_bound**2)
    assert vaee_bound(SIGMA, d, **options) == pytest.approx(2 * mixture * x, rel=1e-12)
    for recommendation in ("candidate", "last"):
        found = vaee_bound(SIGMA, d, recommendation=recommendation, **options)
        assert found == pytest.approx(4 * mixture * x, rel=1e-12)
    wide = norm_bound * math.sqrt(ridge) + math.sqrt(log_det + 2 * math.log(1 / delta))
    found = vaee_bound(SIGMA, d, radius="self-normalised", **options)
    assert found == pytest.approx(2 * wide * x, rel=1e-12)
    assert vaee_bound(SIGMA, d, radius=1.25, **options) == pytest.approx(2.5 * x, rel=1e-12)
    half = vaee_bound(SIGMA, d, radius=1.25, oracle=0.5, **options)
    assert half == pytest.approx(5.0 * x, rel=1e-12)


def test_a_finished_run_sharpens_theorem_1():
    """Note 6: log det V may replace its bound, in the level and in the radius."""
    information = 0.5 * 3 * np.log1p((SIGMA**-2.0).sum() / 3)
    x = water_level(SIGMA, information / math.log(2))
    beta = math.sqrt(information + 2 * math.log(20) + 1)
    assert vaee_bound(SIGMA, 3, log_det=information) == pytest.approx(2 * beta * x, rel=1e-12)
    assert vaee_bound(SIGMA, 3, log_det=1e9) == vaee_bound(SIGMA, 3)
    assert vaee_bound(SIGMA, 3, log_det=information, form="printed") == pytest.approx(2 * beta * x, rel=1e-12)
    # Rows of their own, each with its own log det.
    rows = np.array([SIGMA[:2000], SIGMA[2000:]])
    found = vaee_bound(rows, 3, log_det=[information, 1e9])
    assert found.tolist() == [vaee_bound(rows[0], 3, log_det=information), vaee_bound(rows[1], 3)]
    assert vaee_bound(SIGMA, 3, log_det=0.0) < 1e-100


def test_too_few_rounds_leave_the_trivial_bound():
    """Notes 6 and 8: no root, or no precision left: what no regret exceeds, never an error."""
    few = np.full(4, 1e-9)
    assert vaee_bound(few, 8, norm_bound=3.0, max_norm=0.5) == 3.0
    assert vaee_bound(few, 8, form="harmonic") == 2.0
    assert vaee_bound(few, 8, form="printed") == 2.0
    assert vagd_bound(few, 8, 100) == 2.0
    assert vagd_bound(few, 8, 100, support_size=5, g_value=8) == 2.0
    assert vagd_bound(few, 8, 100, support_size=4, g_value=8) < 1e-3
    assert robust_vaee_bound(few, 8) == 2.0


def test_more_precise_rounds_do_not_raise_the_clipped_bound():
    """Note 27: 100 rounds at sigma0, 2000 at 1, twice the level in d = 5; as printed it rises to 0.61."""
    printed, clipped = [], []
    for quiet in (1e-2, 1e-3, 1e-8):
        sigma = np.r_[np.full(100, quiet), np.ones(2000)]
        printed.append(2 * vaee_bound(sigma, 5, radius=0.5, form="printed"))
        clipped.append(2 * vaee_bound(sigma, 5, radius=0.5))
    np.testing.assert_allclose(printed, [0.01875, 0.20624, 0.61215], rtol=1e-3)
    np.testing.assert_allclose(clipped, [0.01875, 0.00871, 0.00871], rtol=1e-3)
    rare = nw.schedules.rare_quiet(3000, np.random.default_rng(0))
    ratio = vaee_bound(rare, 5, radius=0.1) / vaee_bound(rare, 5, radius=0.1, form="printed")
    assert ratio == pytest.approx(0.356, abs=5e-4)
    for name in ("fast-decaying", "flat", "moderate-spikes", "log-uniform"):
        options = {"dim": 5} if name == "flat" else {}
        sigma = nw.schedules.named(name, **options)(3000, np.random.default_rng(0))
        for radius in ("mixture", 0.1):
            both = [vaee_bound(sigma, 5, radius=radius, form=form) for form in ("clipped", "printed")]
            assert both[0] == pytest.approx(both[1], rel=1e-13)


def test_the_clipped_width_bound_holds_where_the_printed_one_says_nothing():
    """Note 27, run: VAEE after a hundred very quiet rounds is as narrow as the clipped level promises."""
    vectors = np.random.default_rng(3).standard_normal((12, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    policy, sigma = nw.vaee(vectors), np.r_[np.full(60, 1e-6), np.ones(100)]
    for one in sigma:
        policy.tell(policy.ask(), 0.0, one)
    width = policy.estimate().widths.max()
    assert width <= clipped_level(sigma, 3) < 0.1 * water_level(sigma, information_budget(sigma, 3))


def test_theorem_2_with_its_constants():
    """Note 8: 2·√(g/D)·(√(2·log(2n/δ)) + R√λ); printed is half of what the proof gives, without the ridge."""
    d, n, norm_bound, ridge, delta = 4, 50, 1.5, 2.0, 0.1
    weights = np.sort(SIGMA**-2.0)
    bound = vagd_bound(
        SIGMA, d, n, g_value=4.5, support_size=9, ridge=ridge, norm_bound=norm_bound, max_norm=99, delta=delta
    )
    tail = math.sqrt(2 * math.log(2 * n / delta)) + norm_bound * math.sqrt(ridge)
    assert bound == pytest.approx(2 * math.sqrt(4.5 / weights[:-8].sum()) * tail, rel=1e-12)
    size = core_set_size(d)
    printed = vagd_bound(SIGMA, d, n, delta=delta, as_printed=True)
    assert printed == pytest.approx(2 * math.sqrt(d * math.log(n / delta) / weights[:-size].sum()), rel=1e-12)
    default = vagd_bound(SIGMA, d, n, delta=delta)
    rest = weights[: -(size - 1)].sum()
    expected = 2 * math.sqrt(2 * d / rest) * (math.sqrt(2 * math.log(2 * n / delta)) + 1)
    assert default == pytest.approx(expected, rel=1e-12)


def test_the_size_of_a_core_set():
    """Note 11: the double logarithm counts as 0 up to d = 2; up to d = 8 the exact design is as small."""
    assert [core_set_size(d) for d in (1, 2, 3, 8, 50)] == [16, 16, 17, 39, 288]
    for d in range(1, 9):
        assert d * (d + 1) // 2 <= core_set_size(d)
    assert core_set_size(9) < 9 * 10 // 2


def test_the_lower_bound_and_its_sharp_form():
    """Note 12: 3/16 as printed; 0.3400 in the worst case over the scale, once S >= 0.5652·d²/R²."""
    assert abs(norm.cdf(-SHARPEST) - SHARPEST * norm.pdf(SHARPEST)) < 1e-10
    assert round(float(family_regret(SHARPEST)), 4) == 0.3399
    grid = np.linspace(0.01, 4, 4000)
    assert family_regret(grid).max() <= family_regret(SHARPEST)
    total = (SIGMA**-2.0).sum()
    assert lower_bound(SIGMA, 5, as_printed=True) == pytest.approx(3 / 16 * 5 / math.sqrt(total))
    assert lower_bound(SIGMA, 5) == pytest.approx(0.33994241 * 5 / math.sqrt(total), rel=1e-7)
    # As printed it claims a regret of 3.75 where nothing exceeds 2; the true one stays below R.
    assert lower_bound([1.0], 20, as_printed=True) == 3.75
    assert lower_bound([1.0], 20) == pytest.approx(2 * (1 / 20) * norm.cdf(-1 / 20) * 20)
    assert lower_bound([1.0], 20) < 1.0
    # At the printed scale, u = 1/4, everything lies between 0.2006 and 0.25: it tells nobody apart.
    assert round(float(family_regret(0.25)), 4) == 0.2006
    assert 2 * 0.25 * 0.5 == 0.25


def test_the_printed_lower_bound_needs_enough_precision():
    """Note 26: at c = ¼√(d/S), ‖θ‖ = c√d is at most 1 only if S >= d²/16."""
    for d in (2, 5, 12):
        total = d**2 / 16
        assert 0.25 * math.sqrt(d / total) * math.sqrt(d) == pytest.approx(1.0)
        assert 3 / 16 * d / math.sqrt(total) == pytest.approx(0.75)


def test_the_robust_radius_of_note_15():
    """About 3600 at d = 8, T = 1000, σ_min = 0.1."""
    assert robust_radius(1000, 8, sigma_min=0.1) == pytest.approx(3635.318, abs=1e-3)
    with pytest.raises(ValueError, match="`tau` must be at least"):
        robust_radius(1000, 8, sigma_min=0.1, tau=0.5)
    larger = robust_radius(1000, 8, sigma_min=0.1, tau=30.0)
    kappa, doubt = 8 * math.log(1 + 1000 / 0.08), math.log(2e6 / 0.05)
    expected = 32 * (kappa / 30 + math.sqrt(kappa * doubt) + 30 * doubt) + 5
    assert larger == pytest.approx(expected, rel=1e-12)


def test_floors_cost_the_fast_rate():
    """Note 15: without floors x falls like T^(-3/2) in the fast-decaying schedule; with them like 1/T."""
    slopes = {}
    for slope in (None, 0.05):
        low, high = (
            water_level(sigma, 80.0) if slope is None else floored_level(sigma, 80.0, slope)
            for sigma in map(nw.schedules.fast_decaying, (10**5, 10**6))
        )
        slopes[slope] = math.log10(high / low)
    assert slopes[None] == pytest.approx(-1.5, abs=0.01)
    assert slopes[0.05] == pytest.approx(-1.0, abs=0.01)
    sigma = 10 ** np.random.default_rng(1).uniform(-3, 0, (5, 400))
    assert (robust_vaee_bound(sigma, 2) >= robust_vaee_bound(sigma, 2, floors=False)).all()


def test_the_rows_of_table_1():
    sigma = np.array([[1.0, 2.0], [3.0, 0.5]])
    variance = np.array([5.0, 9.25])
    expected = {
        "weighted_oful": 3 * np.sqrt(variance) + 2 * math.sqrt(6),
        "weighted_oful_plus": 3 * np.sqrt(variance) + 6 + 3,
        "voful": 3**4.5 * np.sqrt(variance) + 3**5,
        "voful2": np.minimum(3 * math.sqrt(2), 3**1.5 * np.sqrt(variance)) + 9,
        "save": 3 * np.sqrt(variance) + 6 + 3,
        "linnats": 3**1.5 * np.sqrt(variance) + 3**1.5,
        "varcb": np.sqrt(7 * variance * 3) + 9,
    }
    assert set(expected) == set(TOTAL_VARIANCE_ROWS)
    for rule, total in expected.items():
        found = total_variance_bound(rule, sigma, 3, n_actions=7, noise_bound=2.0)
        np.testing.assert_allclose(found, total / 2, rtol=1e-14)
        assert (total_variance_bound(rule, sigma, 3, n_actions=7, lower_order=False) < found).all()


def test_the_term_that_row_1_omits_leads_for_quiet_noise():
    """Note 22: R·√(d/T) exceeds d·√Λ/T as soon as Λ < T/d."""
    rounds, dim = 10_000, 5
    for factor, leads in ((0.9, True), (1.1, False)):
        sigma = np.full(rounds, math.sqrt(factor / dim))
        leading = total_variance_bound("weighted_oful", sigma, dim, lower_order=False)
        assert (total_variance_bound("weighted_oful", sigma, dim) > 2 * leading) is leads


def test_lower_bounds_on_cumulative_regret_are_no_bounds_here():
    """Note 22: divided by T they exceed what a rule reaches that never stops exploring."""
    sigma = np.where(np.arange(10_000) < 5000, 1e-6, 1.0)
    assert cumulative_lower_bound("varcb", sigma, 5, n_actions=40) > vagd_bound(sigma, 5, 40)
    assert cumulative_lower_bound("he-gu", sigma, 2) > vagd_bound(sigma, 2, 40)
    assert cumulative_lower_bound("he-gu", sigma, 5) == 0.0  # 384·25 exceeds Λ = 5000
    with pytest.raises(ValueError, match="`n_actions` must be given for 'varcb'"):
        cumulative_lower_bound("varcb", sigma, 5)
    with pytest.raises(ValueError, match="`n_actions` must be given for 'varcb'"):
        total_variance_bound("varcb", sigma, 5)
    with pytest.raises(ValueError, match="Did you mean 'voful2'"):
        total_variance_bound("vofull2", sigma, 5)


def test_the_level_is_below_the_total_variance_form():
    """The remark after Theorem 1: x² <= ι·Λ/(T·(T - ι)); equal for flat noise as T grows (note 25)."""
    for sigma in (SIGMA, np.full(4000, 0.3), nw.schedules.front_loaded(4000)):
        rounds, budget = sigma.size, information_budget(sigma, 4)
        square = budget * (sigma**2).sum() / (rounds * (rounds - budget))
        assert water_level(sigma, budget) ** 2 <= square * (1 + 1e-12)
    rounds, budget = 4000, information_budget(np.full(4000, 0.3), 4)
    square = budget * 0.09 / (rounds - budget)
    flat = water_level(np.full(rounds, 0.3), budget) ** 2
    assert flat == pytest.approx(square * (1 - budget / rounds), rel=1e-12)


def test_regret_falls_with_the_harmonic_mean():
    """Note 25: the smaller the harmonic mean of the variances, the smaller the bound."""
    quiet = np.r_[np.full(2000, 0.1), np.full(2000, 1.0)]
    loud = np.ones(4000)
    assert 1 / (quiet**-2.0).mean() < 1 / (loud**-2.0).mean()
    assert vaee_bound(quiet, 4) < vaee_bound(loud, 4)


def test_rounds_needed_inverts_a_bound():
    def bound(sigma):
        return vagd_bound(sigma, 4, 50)

    rounds = rounds_needed(0.25, 0.5, bound)
    assert bound(np.full(rounds, 0.5)) <= 0.25 < bound(np.full(rounds - 1, 0.5))
    fast = rounds_needed(0.01, nw.schedules.fast_decaying, lambda sigma: vaee_bound(sigma, 4))
    before, after = (vaee_bound(nw.schedules.fast_decaying(t), 4) for t in (fast - 1, fast))
    assert after <= 0.01 < before
    assert rounds_needed(5.0, 0.5, bound) == 1
    with pytest.raises(ValueError, match=r"`target` must be reached within 100 rounds; got 0.001, .* 2\."):
        rounds_needed(0.001, 1.0, bound, most=100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "clip"}, "`form` must be one of .*Did you mean 'clipped'"),
        ({"recommendation": "worst"}, "`recommendation` must be one of"),
        ({"oracle": 1.5}, "`oracle` must be above 0 and at most 1"),
        ({"delta": 2.0}, "`delta` must lie strictly between 0 and 1"),
        ({"radius": "mixtur"}, "`radius` must be one of"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        vaee_bound(np.ones(50), 2, **options)
