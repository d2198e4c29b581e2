"""Live studies: options, measurements with their error bars, what to measure next, when to stop."""

from importlib import import_module
from typing import Any

from noisewise.study.certificate.certificate import Certificate
from noisewise.study.certificate.check import Check
from noisewise.study.creation import create_study, load_study
from noisewise.study.intake.entry import Measurement
from noisewise.study.log.state import Job
from noisewise.study.planning.plan import Plan
from noisewise.study.planning.slot import Slot
from noisewise.study.planning.worth import Worth
from noisewise.study.study import Study

__all__ = [
    "Certificate",
    "Check",
    "Job",
    "Measurement",
    "Plan",
    "Slot",
    "Study",
    "Worth",
    "create_study",
    "load_study",
]

#: The rooms whose public names can also be had here; `noisewise.stores` lists them.
_ALSO = ("stores.protocol", "stores.address", "log.export", "creation", "safekeeping.backup",
         "safekeeping.verification")  # fmt: skip


def __getattr__(name: str) -> Any:
    for room in _ALSO if not name.startswith("_") else ():
        found = vars(import_module(f"{__name__}.{room}"))
        if name in found:
            return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
