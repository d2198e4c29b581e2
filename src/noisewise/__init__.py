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
    from noisewise.design import Design as Design
    from noisewise.design import optimal_design as optimal_design
    from noisewise.study import Certificate as Certificate
    from noisewise.study import Check as Check
    from noisewise.study import Job as Job
    from noisewise.study import Measurement as Measurement
    from noisewise.study import MemoryStorage as MemoryStorage
    from noisewise.study import Study as Study
    from noisewise.study import backup_store as backup_store
    from noisewise.study import create_study as create_study
    from noisewise.study import load_study as load_study
    from noisewise.study import migrate_store as migrate_store
    from noisewise.study import open_store as open_store
    from noisewise.study import rebuild_study as rebuild_study
    from noisewise.study import verify_certificate as verify_certificate

__all__ = [
    "POLICIES",
    "ActionSet",
    "Certificate",
    "Check",
    "Design",
    "Environment",
    "Estimate",
    "Instance",
    "Job",
    "Measurement",
    "MemoryStorage",
    "Policy",
    "Rule",
    "Simulation",
    "SimulationInterrupted",
    "Study",
    "backup_store",
    "compare",
    "create_study",
    "greedy",
    "instances",
    "linear_thompson",
    "load_policy",
    "load_simulations",
    "load_study",
    "make_policy",
    "migrate_store",
    "oful",
    "open_store",
    "optimal_design",
    "rebuild_study",
    "register",
    "round_robin",
    "save_simulations",
    "schedules",
    "simulate",
    "static_design",
    "uniform",
    "vaee",
    "vaee_as_printed",
    "vagd",
    "verify_certificate",
    "weighted_oful",
    "widest",
]

_STUDY = (
    "Certificate",
    "Check",
    "Job",
    "Measurement",
    "MemoryStorage",
    "Study",
    "backup_store",
    "create_study",
    "load_study",
    "migrate_store",
    "open_store",
    "rebuild_study",
    "verify_certificate",
)
__getattr__ = lazy_names(
    __name__,
    {
        "Design": "noisewise.design",
        "optimal_design": "noisewise.design",
        **dict.fromkeys(_STUDY, "noisewise.study"),
    },
)
