"""Every registered rule keeps every promise of the contract."""

import functools

import pytest

import noisewise as nw
from noisewise.testing import CHECKS

#: What a rule cannot do without.
OPTIONS = {
    "vaee_as_printed": {"sigma_min": 1e-3},
    **{
        name: {"horizon": 60}
        for name in ("weighted_oful_plus", "varcb", "save", "linnats", "linnats_unknown")
    },
    # Sets that exclude something within the histories of the checks, and grow old, which makes order matter.
    **{
        name: {"horizon": 60, "scale": 0.03, "refresh": 1.0, "directions": 8, "cubes": 256}
        for name in ("voful", "voful2")
    },
}
VARIANTS = {
    **{name: functools.partial(nw.make_policy, name, **OPTIONS.get(name, {})) for name in nw.POLICIES},
    "vaee on candidates": functools.partial(nw.vaee, explore="candidates", radius=1.0),
    "vaee, last": functools.partial(nw.vaee, explore="candidates", radius=1.0, recommendation="last"),
    "varcb, scaled": functools.partial(nw.varcb, horizon=60, scale=0.01, noise_bound=0.1),
    "save, scaled": functools.partial(nw.save, horizon=60, scale=1e-4, trust_after=0.1),
    "vaee, self-normalised": functools.partial(nw.vaee, radius="self-normalised", ridge=0.3),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_rule_keeps_its_promise(variant, check):
    check(VARIANTS[variant])
