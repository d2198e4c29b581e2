"""Find the best option from noisy measurements, when every measurement has its own error bar."""

from typing import TYPE_CHECKING

from noisewise.actions import ActionSet
from noisewise.core.lazy import lazy_names
from noisewise.policies import (
    POLICIES,
    Estimate,
    Policy,
    Rule,
    bayes_gap,
    greedy,
    linear_thompson,
    load_policy,
    make_policy,
    oful,
    register,
    round_robin,
    static_design,
    top_two_thompson,
    uniform,
    vaee,
    vaee_as_printed,
    vagd,
    vage,
    weighted_oful,
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
from noisewise.world import Environment, Instance, instances, schedules

if TYPE_CHECKING:
    from noisewise.design import Design as Design
    from noisewise.design import Pairs as Pairs
    from noisewise.design import TransductiveDesign as TransductiveDesign
    from noisewise.design import optimal_design as optimal_design
    from noisewise.design import transductive_design as transductive_design

__version__ = "0.1.0"

__all__ = [
    "POLICIES",
    "ActionSet",
    "Design",
    "Environment",
    "Estimate",
    "Instance",
    "Pairs",
    "Policy",
    "Rule",
    "Simulation",
    "SimulationInterrupted",
    "TransductiveDesign",
    "bayes_gap",
    "compare",
    "greedy",
    "instances",
    "linear_thompson",
    "load_policy",
    "load_simulations",
    "make_policy",
    "oful",
    "optimal_design",
    "register",
    "round_robin",
    "save_simulations",
    "schedules",
    "simulate",
    "static_design",
    "top_two_thompson",
    "transductive_design",
    "uniform",
    "vaee",
    "vaee_as_printed",
    "vagd",
    "vage",
    "weighted_oful",
    "widest",
]

__getattr__ = lazy_names(
    __name__,
    dict.fromkeys(
        ("Design", "Pairs", "TransductiveDesign", "optimal_design", "transductive_design"), "noisewise.design"
    ),
)
