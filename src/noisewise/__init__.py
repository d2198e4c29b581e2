"""Find the best option from noisy measurements, when every measurement has its own error bar."""

from noisewise.actions import ActionSet
from noisewise.policies import (
    POLICIES,
    Estimate,
    Policy,
    Rule,
    greedy,
    load_policy,
    make_policy,
    register,
    round_robin,
    uniform,
    vaee,
    vaee_as_printed,
    widest,
)
from noisewise.simulation import Simulation, SimulationInterrupted, simulate
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
    "greedy",
    "instances",
    "load_policy",
    "make_policy",
    "register",
    "round_robin",
    "schedules",
    "simulate",
    "uniform",
    "vaee",
    "vaee_as_printed",
    "widest",
]
