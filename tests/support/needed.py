"""What a rule cannot be made without, for tests that go over every rule."""

import noisewise as nw
from noisewise.rules.registry import rule_named

#: Nets this coarse are quick in four dimensions.
COARSE = {"directions": 8, "cubes": 256}
NEEDED = {
    **{name: {"horizon": 60} for name in nw.rules.POLICIES if rule_named(name).needs_horizon},
    "vaee_as_printed": {"sigma_min": 1e-3},
}
for _name in ("voful", "voful2"):
    NEEDED[_name] |= COARSE
