"""VOFUL2 (Kim, Yang and Jun 2022): VOFUL's set, but what failed a test once stays excluded.

Each round: measure the action of the largest ``<θ, a>`` over all ``θ`` in the ball that passed every test
on the measurements of every round so far; among equals, the widest.

The paper improves the analysis above all; as an algorithm it differs from VOFUL in the intersection over
all past rounds, and in test directions from a whole ball, of which both have the same net here. The
original could not be read; the constants are those of `voful`. See there for the nets, their cost and the
limit of 4 features.
"""

from dataclasses import replace
from typing import Unpack

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet
from noisewise.policies.rules.table_one.voful.voful import RULE as VOFUL
from noisewise.policies.shell.options import SharedOptions, constructor_without, with_defaults
from noisewise.policies.shell.policy import Policy

RULE = replace(
    VOFUL,
    name="voful2",
    reference="Kim, Yang and Jun, NeurIPS 2022; constants from Chen, Jain and Luo, ICML 2022, Lemma 36",
    year=2022,
    guarantee="anytime certificate; the original: cumulative regret d^1.5·√(Σσ²) + d², up to logarithms",
)


@constructor_without("radius", "sigma_min")
def voful2(
    actions: ActionSet | ArrayLike,
    *,
    horizon: int | None = None,
    noise_bound: float = 1.0,
    scale: float = 1.0,
    refresh: float = 0.05,
    directions: int | None = None,
    cubes: int = 2048,
    **shared: Unpack[SharedOptions],
) -> Policy:
    """VOFUL2: VOFUL with the intersection of all its sets, for at most 4 features. It never looks at sigma.

    Args:
        horizon: The number of measurements planned.
        noise_bound: R; the certificate holds for noise within ``±noise_bound``.
        scale: Multiplies the tests' tolerance; 1 is what the inequality asks for.
        refresh: The set is made anew when the measurements have grown by this share; 0 means
            after every one, as printed.
        directions: Size of the net of directions; default: 1, 64, 200, 400 for 1, 2, 3, 4 features.
        cubes: Size of the net of parameters; more make a finer set. The bounds hold for any number.
    """
    own = {
        "noise_bound": noise_bound,
        "scale": scale,
        "refresh": refresh,
        "directions": directions,
        "cubes": cubes,
        "set": "voful2",
    }
    return Policy(RULE, actions, with_defaults("voful2", shared) | own, horizon=horizon)
