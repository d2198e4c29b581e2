"""Rules (one per file), the ask/tell shell around them, and the list of all rules."""

from noisewise.policies.registry import POLICIES, load_policy, make_policy, register
from noisewise.policies.rules.baselines.greedy import greedy
from noisewise.policies.rules.baselines.linear_thompson import linear_thompson
from noisewise.policies.rules.baselines.oful import oful
from noisewise.policies.rules.baselines.round_robin import round_robin
from noisewise.policies.rules.baselines.uniform import uniform
from noisewise.policies.rules.baselines.widest import widest
from noisewise.policies.rules.identification.bayes_gap import bayes_gap
from noisewise.policies.rules.identification.frank_wolfe_sampling.frank_wolfe_sampling import (
    frank_wolfe_sampling,
)
from noisewise.policies.rules.identification.h_rage import h_rage
from noisewise.policies.rules.identification.information_directed import information_directed
from noisewise.policies.rules.identification.lingame import lingame
from noisewise.policies.rules.identification.lingape import lingape, weighted_lingape
from noisewise.policies.rules.identification.od_linbai import od_linbai
from noisewise.policies.rules.identification.peace import peace
from noisewise.policies.rules.identification.phased_elimination import phased_elimination
from noisewise.policies.rules.identification.rage import rage
from noisewise.policies.rules.identification.top_two_thompson import top_two_thompson
from noisewise.policies.rules.ours.precision_tracking.precision_tracking import precision_tracking
from noisewise.policies.rules.ours.vage.vage import vage
from noisewise.policies.rules.paper.robust_vaee import robust_vaee
from noisewise.policies.rules.paper.vaee import vaee, vaee_as_printed
from noisewise.policies.rules.paper.vagd import static_design, vagd
from noisewise.policies.rules.table_one.adaoful import adaoful
from noisewise.policies.rules.table_one.linnats import linnats, linnats_unknown
from noisewise.policies.rules.table_one.save import save
from noisewise.policies.rules.table_one.varcb import varcb
from noisewise.policies.rules.table_one.voful.voful import voful
from noisewise.policies.rules.table_one.voful.voful2 import voful2
from noisewise.policies.rules.table_one.weighted_oful import weighted_oful
from noisewise.policies.rules.table_one.weighted_oful_plus import weighted_oful_plus
from noisewise.policies.shell.policy import Estimate, Policy
from noisewise.policies.shell.rule import Rule
from noisewise.policies.shell.set_estimate import SetEstimate
from noisewise.policies.shell.set_policy import SetPolicy

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
