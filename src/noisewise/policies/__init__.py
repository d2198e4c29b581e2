"""Rules (one per file), the ask/tell shell around them, and the list of all rules."""

from noisewise.policies.adaoful import adaoful
from noisewise.policies.bayes_gap import bayes_gap
from noisewise.policies.frank_wolfe_sampling import frank_wolfe_sampling
from noisewise.policies.greedy import greedy
from noisewise.policies.h_rage import h_rage
from noisewise.policies.information_directed import information_directed
from noisewise.policies.linear_thompson import linear_thompson
from noisewise.policies.lingame import lingame
from noisewise.policies.lingape import lingape, weighted_lingape
from noisewise.policies.linnats import linnats, linnats_unknown
from noisewise.policies.od_linbai import od_linbai
from noisewise.policies.oful import oful
from noisewise.policies.peace import peace
from noisewise.policies.phased_elimination import phased_elimination
from noisewise.policies.policy import Estimate, Policy
from noisewise.policies.precision_tracking import precision_tracking
from noisewise.policies.rage import rage
from noisewise.policies.registry import POLICIES, load_policy, make_policy, register
from noisewise.policies.robust_vaee import robust_vaee
from noisewise.policies.round_robin import round_robin
from noisewise.policies.rule import Rule
from noisewise.policies.save import save
from noisewise.policies.set_estimate import SetEstimate
from noisewise.policies.set_policy import SetPolicy
from noisewise.policies.top_two_thompson import top_two_thompson
from noisewise.policies.uniform import uniform
from noisewise.policies.vaee import vaee, vaee_as_printed
from noisewise.policies.vagd import static_design, vagd
from noisewise.policies.vage import vage
from noisewise.policies.varcb import varcb
from noisewise.policies.voful import voful
from noisewise.policies.voful2 import voful2
from noisewise.policies.weighted_oful import weighted_oful
from noisewise.policies.weighted_oful_plus import weighted_oful_plus
from noisewise.policies.widest import widest

__all__ = [
    "POLICIES",
    "Estimate",
    "Policy",
    "Rule",
    "SetEstimate",
    "SetPolicy",
    "adaoful",
    "bayes_gap",
    "frank_wolfe_sampling",
    "greedy",
    "h_rage",
    "information_directed",
    "linear_thompson",
    "lingame",
    "lingape",
    "linnats",
    "linnats_unknown",
    "load_policy",
    "make_policy",
    "od_linbai",
    "oful",
    "peace",
    "phased_elimination",
    "precision_tracking",
    "rage",
    "register",
    "robust_vaee",
    "round_robin",
    "save",
    "static_design",
    "top_two_thompson",
    "uniform",
    "vaee",
    "vaee_as_printed",
    "vagd",
    "vage",
    "varcb",
    "voful",
    "voful2",
    "weighted_lingape",
    "weighted_oful",
    "weighted_oful_plus",
    "widest",
]
