"""Every registered rule keeps every promise of the contract."""

import functools

import pytest
from tests.support.needed import NEEDED

import noisewise as nw
from noisewise.testing import CHECKS

OPTIONS = NEEDED | {
    # So that phases end within the histories of the checks: only then does the order matter.
    **{name: {"scale": 0.05} for name in ("phased_elimination", "rage", "h_rage")},
    # So that candidates are dropped within them.
    "precision_tracking": {"radius": 1.0},
    # Sets that exclude something within the histories of the checks, and grow old, which makes order matter.
    **{name: NEEDED[name] | {"scale": 0.03, "refresh": 1.0} for name in ("voful", "voful2")},
}
VARIANTS = {
    **{name: functools.partial(nw.make_policy, name, **OPTIONS.get(name, {})) for name in nw.rules.POLICIES},
    "precision_tracking, eps": functools.partial(nw.rules.precision_tracking, eps=0.5, radius=1.0),
    "vaee on candidates": functools.partial(nw.vaee, explore="candidates", radius=1.0),
    "vaee, last": functools.partial(nw.vaee, explore="candidates", radius=1.0, recommendation="last"),
    "vaee, most played": functools.partial(nw.vaee, radius=1.0, recommendation="most-played"),
    "vaee, smallest bound": functools.partial(nw.vaee, radius=1.0, recommendation="smallest-bound"),
    "robust_vaee, one pass": functools.partial(nw.robust_vaee, estimator="one-pass", radius=5.0),
    # With the published radius the floor is above every sigma, and the rule would not see any.
    "robust_vaee, one pass as published": functools.partial(
        nw.robust_vaee, estimator="one-pass", tau0=1.0, floor=True, radius=1.0
    ),
    "robust_vaee, medians": functools.partial(nw.robust_vaee, estimator="median-of-means", blocks=3),
    "robust_vaee, candidates": functools.partial(
        nw.robust_vaee, explore="candidates", recommendation="last", radius=1.0
    ),
    "varcb, scaled": functools.partial(nw.rules.varcb, horizon=60, scale=0.01, noise_bound=0.1),
    "save, scaled": functools.partial(nw.rules.save, horizon=60, scale=1e-4, trust_after=0.1),
    "lingame, single": functools.partial(nw.rules.lingame, learners="single", optimistic=False),
    "vaee, self-normalised": functools.partial(nw.vaee, radius="self-normalised", ridge=0.3),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_rule_keeps_its_promise(variant, check):
    check(VARIANTS[variant])
