"""Find the best option from noisy measurements, when every measurement has its own error bar."""

from typing import TYPE_CHECKING

from noisewise.actions import ActionSet
from noisewise.core.lazy import lazy_names
from noisewise.core.version import __version__ as __version__
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
    static_design,
    uniform,
    vaee,
    vaee_as_printed,
    vagd,
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
    from noisewise import theory as theory
    from noisewise.design import Design as Design
    from noisewise.design import optimal_design as optimal_design

__all__ = [
    "POLICIES",
    "ActionSet",
    "Design",
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
    "optimal_design",
    "register",
    "round_robin",
    "save_simulations",
    "schedules",
    "simulate",
    "static_design",
    "theory",
    "uniform",
    "vaee",
    "vaee_as_printed",
    "vagd",
    "weighted_oful",
    "widest",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Design": "noisewise.design",
        "optimal_design": "noisewise.design",
        "theory": "noisewise.theory",
    },
)
