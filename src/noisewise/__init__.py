"""Find the best option from noisy measurements, when every measurement has its own error bar."""

from noisewise.actions import ActionSet
from noisewise.policies import (
    POLICIES,
    Estimate,
    Policy,
    Rule,
    greedy,
    linear_thompson,
    load_policy,
    make_policy,
    oful,
    register,
    round_robin,
    uniform,
    vaee,
    vaee_as_printed,
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

__version__ = "0.1.0"

__all__ = [
    "POLICIES",
    "ActionSet",
    "Environment",
    "Estimate",
    "Instance",
    "Policy",
    "Rule",
    "Simulation",
    "SimulationInterrupted",
    "compare",
    "greedy",
    "instances",
    "linear_thompson",
    "load_policy",
    "load_simulations",
    "make_policy",
    "oful",
    "register",
    "round_robin",
    "save_simulations",
    "schedules",
    "simulate",
    "uniform",
    "vaee",
    "vaee_as_printed",
    "weighted_oful",
    "widest",
]
