"""Rules (one per file), the ask/tell shell around them, and the list of all rules."""

from noisewise.policies.adaoful import adaoful
from noisewise.policies.greedy import greedy
from noisewise.policies.linear_thompson import linear_thompson
from noisewise.policies.oful import oful
from noisewise.policies.policy import Estimate, Policy
from noisewise.policies.registry import POLICIES, load_policy, make_policy, register
from noisewise.policies.robust_vaee import robust_vaee
from noisewise.policies.round_robin import round_robin
from noisewise.policies.rule import Rule
from noisewise.policies.uniform import uniform
from noisewise.policies.vaee import vaee, vaee_as_printed
from noisewise.policies.vagd import static_design, vagd
from noisewise.policies.weighted_oful import weighted_oful
from noisewise.policies.widest import widest

__all__ = [
    "POLICIES",
    "Estimate",
    "Policy",
    "Rule",
    "adaoful",
    "greedy",
    "linear_thompson",
    "load_policy",
    "make_policy",
    "oful",
    "register",
    "robust_vaee",
    "round_robin",
    "static_design",
    "uniform",
    "vaee",
    "vaee_as_printed",
    "vagd",
    "weighted_oful",
    "widest",
]
