"""VOFUL2 (Kim, Yang and Jun 2022): VOFUL's set, but what failed a test once stays excluded.

Each round: measure the action of the largest ``<θ, a>`` over all ``θ`` in the ball that passed every test
on the measurements of every round so far; among equals, the widest.

The paper improves the analysis above all; as an algorithm it differs from VOFUL in the intersection over
all past rounds, and in test directions from a whole ball, of which both have the same net here. The
original could not be read; the constants are those of `voful`. See there for the nets, their cost and the
limit of 4 features.
"""

from dataclasses import replace

from noisewise.policies.rules.table_one.voful.voful import RULE as VOFUL
from noisewise.policies.rules.table_one.voful.voful import VofulOptions
from noisewise.policies.shell.options import constructor, fixed

RULE = replace(
    VOFUL,
    name="voful2",
    reference="Kim, Yang and Jun, NeurIPS 2022; constants from Chen, Jain and Luo, ICML 2022, Lemma 36",
    year=2022,
    guarantee="anytime certificate; the original: cumulative regret d^1.5·√(Σσ²) + d², up to logarithms",
)


class Voful2Options(VofulOptions):
    """VOFUL2: VOFUL with the intersection of all sets, for at most 4 features. It never looks at sigma."""

    set: str = fixed("voful2")


voful2 = constructor(RULE, Voful2Options)
