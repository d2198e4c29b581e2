"""Every note on the paper is backed: by tests that exist, figures that are drawn, and the small runs here."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.radius import make_radius
from noisewise.paper.case_study import ROWS
from noisewise.paper.measurements import ERROR_BARS, information, own_error_bars, ridge_bias
from noisewise.paper.report import SECTIONS
from noisewise.paper.section import most_misses, slope
from noisewise.paper.table2 import HORIZONS, limit

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text("utf-8")
NOTES = re.split(
    r"^(\d+)\. ", PAGE[PAGE.index("## Notes") : PAGE.index("## Why a fixed set")], flags=re.MULTILINE
)[1:]


def test_there_are_thirty_two_notes_in_order():
    assert [int(number) for number in NOTES[::2]] == list(range(1, 33))


@pytest.mark.parametrize(("number", "text"), list(zip(NOTES[::2], NOTES[1::2], strict=True)), ids=NOTES[::2])
def test_every_note_is_backed(number, text):
    figures = {name for section in SECTIONS for name in section.figures}
    sources = "".join(
        (ROOT / "docs" / link).resolve().read_text("utf-8")
        for link in re.findall(r"\((\.\./tests/[^)]+)\)", text)
    )
    named = re.findall(r"`(test_\w+)`", text)
    drawn = [name for name in re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", text) if name in figures]
    assert named
    for name in named:
        assert f"def {name}(" in sources, f"note {number} names {name}"
    cited = re.search(r"Figures?:(.*)", text, re.DOTALL)
    if cited:
        assert re.findall(r"`([^`]+)`", cited[1]) == drawn[-len(re.findall(r"`", cited[1])) // 2 :]


def test_the_constants_of_the_proof_add_up_to_four():
    """Note 5: two widths for the optimism at a_T, two for being a survivor; checked on the worst survivor."""
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((30, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    theta = vectors[0] * 0.9
    policy = nw.vaee(vectors, explore="candidates")
    for _ in range(150):
        before = policy.estimate()
        action = policy.ask()
        alive = before.candidates
        gaps = (vectors @ theta).max() - (vectors @ theta)[alive]
        # Every survivor is within four radii times the width of the widest one.
        assert gaps.max() <= 4 * before.radius * before.widths[alive].max() + 1e-12
        policy.tell(action, vectors[action] @ theta + 0.1 * rng.standard_normal(), 0.1)


def test_the_ridge_breaks_the_printed_interval():
    """Note 9: at R√λ = 10 the printed interval misses always, the corrected one as often as it may."""
    found = ridge_bias(10.0, 2000, 0)
    assert found["without"] > 1900
    assert found["with"] <= most_misses(2000, 0.05)


def test_error_bars_from_the_own_sample_break_the_certificate():
    """Note 10: 92 % and 24 % of the runs missed, 99.5 % and 88 %; with sound sigmas at most 5 %."""
    found = {kind: own_error_bars(kind, 400, 300, 1)["missed"] / 300 for kind in ERROR_BARS}
    assert found["three repeats, their own scatter"] > 0.9
    assert found["three repeats, widened by Student's t"] > 0.75
    assert found["binomial, own successes"] > 0.8
    assert found["binomial, smoothed successes"] > 0.12
    for kind in ERROR_BARS[-2:]:
        assert found[kind] * 300 <= most_misses(300, 0.05, 2)


def test_the_slope_of_the_limit_over_the_horizons():
    """Note 13: -0.642 for the moderate spikes, not -2/3."""
    x = np.array(HORIZONS, dtype=float)
    slopes = {name: slope(x, limit(name, 5)) for name in ("fast-decaying", "flat", "moderate-spikes")}
    assert slopes["moderate-spikes"] == pytest.approx(-0.642, abs=5e-4)
    assert slopes["flat"] == pytest.approx(-0.5, abs=1e-12)
    assert slopes["fast-decaying"] == pytest.approx(-1.5, abs=2e-3)


def test_who_learns_the_second_coordinate():
    """Notes 14 and 20: near β² for Weighted OFUL, a few β² for VAEE as printed, half of S for the others."""
    horizon = 2000
    beta = math.sqrt(2 * math.log(horizon))
    for row in ROWS:
        options = row.options | ({"radius": beta} if row.fixed else {})
        found = information(row.rule, options, 1.0, False, {"horizon": horizon, "replications": 8, "seed": 0})
        learnt = np.median(np.add(found["inside"], found["outside"]))
        if row.keeps_exploring:
            assert 0.45 < learnt / found["total"] < 0.55
        else:
            most = 2 if "OFUL" in row.label else 8
            assert learnt <= most * np.median(found["radius"]) ** 2 + found["quiet_weight"]
            # Far fewer than log T/ε² units, which Case 1 assumes.
            assert learnt < 0.5 * math.log(horizon) * math.sqrt(horizon)


def test_the_expected_regret_is_below_the_bound_and_a_little():
    """Note 18: E[gap] <= bound + 2RAδ, here with the certificate of each run as the bound."""
    instance = nw.instances.sphere(20, 3)
    env = instance.environment(nw.schedules.named("log-uniform"))
    sim = nw.simulate(nw.vaee(instance.actions, delta=0.2), env, horizon=60, replications=200)
    assert (sim.simple_regret.mean(axis=0) <= sim.bound.mean(axis=0) + 2 * 0.2).all()


def test_the_windows_lengths():
    """Note 19: L·ε²·T^α is c·log T/ε² with the printed length, c·log T with the corrected one."""
    horizon, alpha = 10**6, 0.25
    gap, quiet = horizon**-0.25, horizon**alpha
    for printed, expected in ((True, math.log(horizon) / gap**2), (False, math.log(horizon))):
        instance = nw.instances.case_study(horizon, exponent=alpha, as_printed=printed)
        sigma = instance.schedule(horizon, None)
        length = int((sigma < 1.0).sum())
        assert length < horizon // 2
        assert length * gap**2 * quiet == pytest.approx(expected, rel=0.005)


def test_with_the_printed_radius_cumulative_regret_is_linear():
    """Note 21: every action is pulled for ever, where the mixture radius has dropped most of them."""
    instance = nw.instances.hypercube(3, scale=1e9)
    env = instance.environment(nw.schedules.named("flat", dim=3))
    printed = nw.rules.vaee_as_printed(instance.actions, sigma_min=3**-0.5)
    tight = nw.vaee(instance.actions, explore="candidates", recommendation="last")
    growth = {}
    for policy in (printed, tight):
        sim = nw.simulate(policy, env, horizon=2000, replications=10, checkpoints=[500, 2000])
        early, late = sim.cumulative_regret.mean(axis=0)
        growth[policy.name] = late / early
    assert growth["vaee_as_printed"] > 3.8
    assert growth["vaee"] < 2.0


def test_the_printed_radius_covers_its_own_proof():
    """Note 23: the proof needs β² >= 2λR² + 2·64·log(4t²/δ)·d·log(…); 256 is printed, and squared 16."""
    for dim in (1, 3, 20):
        for told in (1, 10, 10**6):
            made = make_radius(
                "paper", delta=0.05, ridge=1.0, norm_bound=1.0, max_norm=1.0, sigma_min=0.1, rank=dim
            )
            inside = math.log(4 * told**2 / 0.05) * dim * math.log1p(told * 100 / dim)
            assert made.after(0.0, told) ** 2 >= 2.0 + 2 * 64 * inside


def test_a_tied_action_is_pulled_again():
    """Note 24: action 0 has as much as action 1 ends with after its first pull, and is pulled again."""
    policy = nw.vagd(np.eye(2))
    pulled = []
    for _ in range(3):
        pulled.append(policy.ask())
        policy.tell(pulled[-1], 0.0, 1.0)
    assert pulled == [0, 1, 0]


def test_the_error_as_defined_is_one_half_for_every_estimator():
    """Note 28: random laws of six transcripts, all 64 estimators; endpoint errors do tell them apart."""
    rng = np.random.default_rng(28)
    for _ in range(20):
        plus, minus = rng.dirichlet(np.ones(6), 2)
        mixture = (plus + minus) / 2
        endpoints = []
        for code in range(64):
            says_plus = (code >> np.arange(6) & 1).astype(bool)
            defined = mixture @ (0.5 * ~says_plus + 0.5 * says_plus)
            assert defined == pytest.approx(0.5, abs=1e-15)
            endpoints.append(0.5 * plus[~says_plus].sum() + 0.5 * minus[says_plus].sum())
        # By the best test it is half of one minus the distance of the two laws, and by the worst the rest.
        apart = 0.5 * np.abs(plus - minus).sum()
        assert min(endpoints) == pytest.approx(0.5 * (1 - apart), abs=1e-12)
        assert max(endpoints) == pytest.approx(0.5 * (1 + apart), abs=1e-12)


def test_one_pair_per_coordinate_is_not_enough():
    """Note 28: two coordinates, each hidden while the other is positive: η = 1/2, the risk 1/2, not 1."""
    signs = [(first, second) for first in (-1, 1) for second in (-1, 1)]

    def seen(theta):
        return tuple(own if other < 0 else 0 for own, other in zip(theta, reversed(theta), strict=True))

    def errors(theta):
        """Each coordinate as seen, and -1 where nothing is."""
        return [guess != own for guess, own in zip((one or -1 for one in seen(theta)), theta, strict=True)]

    for j in (0, 1):
        pair = [theta for theta in signs if theta[1 - j] == 1]
        assert np.mean([errors(theta)[j] for theta in pair]) == 0.5
        # No estimator does better on that pair: both look the same.
        assert len({seen(theta)[j] for theta in pair}) == 1
    risk = np.mean([sum(errors(theta)) for theta in signs])
    assert risk == 0.5 < 0.5 * 2


def test_varcb_plays_where_actions_take_turns():
    """Note 29: its set may change from round to round, and its sigma is told before it chooses."""
    instance = nw.instances.he_gu([0.02, 1.0])
    env = instance.environment(nw.schedules.named("rare-quiet", share=0.3, quiet=0.02), announced=True)
    sim = nw.simulate(nw.rules.varcb(instance.actions, horizon=60), env, horizon=60, replications=2)
    for r in range(2):
        world = env.world(60, 0, r)
        place = np.argsort(world.order)[sim.pulled[r]]
        assert world.masks[world.opening, place].all()
        assert len(set(world.opening)) == 2


def test_a_very_quiet_window_has_no_room_for_a_round():
    """Note 30: c·T^(1/2-α)·log T rounds; from α > 1/2 on less than one, and one teaches x more than log T."""
    for horizon, alpha, room in ((10**6, 0.75, False), (10**8, 0.6, True), (10**16, 0.6, False)):
        wanted = horizon ** (0.5 - alpha) * math.log(horizon)
        gap, quiet = horizon**-0.25, horizon**alpha
        assert wanted * gap**2 * quiet == pytest.approx(math.log(horizon))
        assert (wanted >= 1) is room is (gap**2 * quiet <= math.log(horizon))
    instance = nw.instances.case_study(10**6, exponent=0.75)
    assert (instance.schedule(10**6, None) < 1.0).sum() == 1
    # At 1/2 itself the window has log T rounds, and room.
    assert (nw.instances.case_study(10**6, exponent=0.5).schedule(10**6, None) < 1.0).sum() == 13


def test_the_bounds_match_only_where_no_few_rounds_hold_the_precision():
    """Note 31: the ratio of Theorem 1, in either form, and of Theorem 2 to the lower bound has no limit."""
    dim, theory = 5, nw.theory
    ratios = []
    for quiet in (1e-3, 1e-6, 1e-9):
        sigma = np.r_[np.full(dim + 11, quiet), np.ones(10_000)]
        limit = theory.lower_bound(sigma, dim)
        above = [theory.vaee_bound(sigma, dim, form=form) for form in ("clipped", "printed")]
        above.append(theory.vagd_bound(sigma, dim, 40))
        ratios.append(min(above) / limit)
        assert theory.vagd_bound(sigma, dim, 40, g_value=dim, support_size=dim) < 30 * limit
        # Of d - 1 quiet rounds no design sees anything.
        few = np.r_[np.full(dim - 1, quiet), np.ones(10_000)]
        assert theory.vagd_bound(few, dim, 40, g_value=dim, support_size=dim) > 0.05
    assert ratios[1] > 1e5
    assert ratios[2] > 900 * ratios[1]
