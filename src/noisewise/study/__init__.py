"""Live studies: options, measurements with their error bars, what to measure next, when to stop."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from noisewise.core.lazy import lazy_names
from noisewise.study.log.model_choice import models_are_loaded_by

if TYPE_CHECKING:
    from noisewise.study.certificates.certificate import Certificate as Certificate
    from noisewise.study.certificates.check import Check as Check
    from noisewise.study.creation import create_study as create_study
    from noisewise.study.creation import load_study as load_study
    from noisewise.study.log.jobs import Job as Job
    from noisewise.study.log.told import Measurement as Measurement
    from noisewise.study.log.told import MeasurementWarning as MeasurementWarning
    from noisewise.study.measure import Errors as Errors
    from noisewise.study.measure import Items as Items
    from noisewise.study.measure import Ratings as Ratings
    from noisewise.study.measure import Rounds as Rounds
    from noisewise.study.one_call import pick as pick
    from noisewise.study.planning.plan import Plan as Plan
    from noisewise.study.planning.worth import Worth as Worth
    from noisewise.study.study import Study as Study
    from noisewise.study.tables.table import read_table as read_table

__all__ = [
    "Certificate",
    "Check",
    "Errors",
    "Items",
    "Job",
    "Measurement",
    "MeasurementWarning",
    "Plan",
    "Ratings",
    "Rounds",
    "Study",
    "Worth",
    "create_study",
    "load_study",
    "pick",
    "read_table",
]

#: Where each of them lives: a command that tells one measurement loads no plans.
_HOMES = {
    "Certificate": "certificates.certificate",
    "Check": "certificates.check",
    "Errors": "measure",
    "Items": "measure",
    "Job": "log.jobs",
    "Measurement": "log.told",
    "MeasurementWarning": "log.told",
    "Plan": "planning.plan",
    "Ratings": "measure",
    "Rounds": "measure",
    "Study": "study",
    "Worth": "planning.worth",
    "create_study": "creation",
    "load_study": "creation",
    "pick": "one_call",
    "read_table": "tables.table",
}
#: The rooms whose public names can also be had here; `noisewise.stores` lists them.
_ALSO = ("stores.protocol", "stores.address", "log.export", "creation", "safekeeping")  # fmt: skip

models_are_loaded_by(lambda: import_module(f"{__name__}.models.analysis"))
_find = lazy_names(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})


def __getattr__(name: str) -> Any:
    for room in _ALSO if not name.startswith("_") and name not in _HOMES else ():
        found = vars(import_module(f"{__name__}.{room}"))
        if name in found:
            return found[name]
    return _find(name)
