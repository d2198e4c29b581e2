"""Find the best option from noisy measurements, when every measurement has its own error bar."""

from typing import TYPE_CHECKING

from noisewise.actions import (
    ActionSet,
    Answer,
    Ball,
    Box,
    Ellipsoid,
    Hypercube,
    Polytope,
    Product,
    Simplex,
)
from noisewise.core.support.lazy import lazy_names
from noisewise.core.support.version import __version__ as __version__
from noisewise.policies import (
    POLICIES,
    Estimate,
    Policy,
    Rule,
    SetEstimate,
    SetPolicy,
    adaoful,
    bayes_gap,
    frank_wolfe_sampling,
    greedy,
    h_rage,
    information_directed,
    linear_thompson,
    lingame,
    lingape,
    linnats,
    linnats_unknown,
    load_policy,
    make_policy,
    od_linbai,
    oful,
    peace,
    phased_elimination,
    precision_tracking,
    rage,
    register,
    robust_vaee,
    round_robin,
    save,
    static_design,
    top_two_thompson,
    uniform,
    vaee,
    vaee_as_printed,
    vagd,
    vage,
    varcb,
    voful,
    voful2,
    weighted_lingape,
    weighted_oful,
    weighted_oful_plus,
    widest,
)
from noisewise.simulation import (
    Simulation,
    SimulationInterrupted,
    compare,
    load_simulations,
    save_simulations,
    simulate,
)
from noisewise.world import Environment, Instance, instances, noise, schedules

if TYPE_CHECKING:
    from noisewise import theory as theory
    from noisewise.design import Design as Design
    from noisewise.design import Pairs as Pairs
    from noisewise.design import TransductiveDesign as TransductiveDesign
    from noisewise.design import optimal_design as optimal_design
    from noisewise.design import transductive_design as transductive_design
    from noisewise.study import Certificate as Certificate
    from noisewise.study import Check as Check
    from noisewise.study import DamagedError as DamagedError
    from noisewise.study import Job as Job
    from noisewise.study import Measurement as Measurement
    from noisewise.study import MemoryStorage as MemoryStorage
    from noisewise.study import OutcomeUnknownError as OutcomeUnknownError
    from noisewise.study import Plan as Plan
    from noisewise.study import Slot as Slot
    from noisewise.study import StoreChangedError as StoreChangedError
    from noisewise.study import Study as Study
    from noisewise.study import Verdict as Verdict
    from noisewise.study import Worth as Worth
    from noisewise.study import backup_store as backup_store
    from noisewise.study import create_study as create_study
    from noisewise.study import load_study as load_study
    from noisewise.study import migrate_store as migrate_store
    from noisewise.study import open_store as open_store
    from noisewise.study import rebuild_study as rebuild_study
    from noisewise.study import restore_store as restore_store
    from noisewise.study import verify_certificate as verify_certificate
    from noisewise.study import verify_log as verify_log

__all__ = [
    "POLICIES",
    "ActionSet",
    "Answer",
    "Ball",
    "Box",
    "Certificate",
    "Check",
    "DamagedError",
    "Design",
    "Ellipsoid",
    "Environment",
    "Estimate",
    "Hypercube",
    "Instance",
    "Job",
    "Measurement",
    "MemoryStorage",
    "OutcomeUnknownError",
    "Pairs",
    "Plan",
    "Policy",
    "Polytope",
    "Product",
    "Rule",
    "SetEstimate",
    "SetPolicy",
    "Simplex",
    "Simulation",
    "SimulationInterrupted",
    "Slot",
    "StoreChangedError",
    "Study",
    "TransductiveDesign",
    "Verdict",
    "Worth",
    "adaoful",
    "backup_store",
    "bayes_gap",
    "compare",
    "create_study",
    "frank_wolfe_sampling",
    "greedy",
    "h_rage",
    "information_directed",
    "instances",
    "linear_thompson",
    "lingame",
    "lingape",
    "linnats",
    "linnats_unknown",
    "load_policy",
    "load_simulations",
    "load_study",
    "make_policy",
    "migrate_store",
    "noise",
    "od_linbai",
    "oful",
    "open_store",
    "optimal_design",
    "peace",
    "phased_elimination",
    "precision_tracking",
    "rage",
    "rebuild_study",
    "register",
    "restore_store",
    "robust_vaee",
    "round_robin",
    "save",
    "save_simulations",
    "schedules",
    "simulate",
    "static_design",
    "theory",
    "top_two_thompson",
    "transductive_design",
    "uniform",
    "vaee",
    "vaee_as_printed",
    "vagd",
    "vage",
    "varcb",
    "verify_certificate",
    "verify_log",
    "voful",
    "voful2",
    "weighted_lingape",
    "weighted_oful",
    "weighted_oful_plus",
    "widest",
]

_STUDY = (
    "Certificate",
    "Check",
    "DamagedError",
    "Job",
    "Measurement",
    "MemoryStorage",
    "OutcomeUnknownError",
    "Plan",
    "Slot",
    "StoreChangedError",
    "Worth",
    "Study",
    "Verdict",
    "backup_store",
    "create_study",
    "load_study",
    "migrate_store",
    "open_store",
    "rebuild_study",
    "restore_store",
    "verify_certificate",
    "verify_log",
)
__getattr__ = lazy_names(
    __name__,
    dict.fromkeys(
        ("Design", "Pairs", "TransductiveDesign", "optimal_design", "transductive_design"), "noisewise.design"
    )
    | dict.fromkeys(_STUDY, "noisewise.study")
    | {"theory": "noisewise.theory"},
)
