"""Find the best option from noisy measurements, when every measurement has its own error bar.

`create_study` and `load_study` are for people with something to measure; policies, designs and simulations
for people who study such algorithms. All rules are in `rules`, sets of actions in `sets`, stores in `stores`,
and what a new rule is made of in `extending`. Every name loads its module at first use.
"""

from typing import TYPE_CHECKING

from noisewise.core.lazy import lazy_names
from noisewise.core.version import __version__ as __version__

if TYPE_CHECKING:
    from noisewise import actions as actions
    from noisewise import charts as charts
    from noisewise import core as core
    from noisewise import data as data
    from noisewise import designs as designs
    from noisewise import extending as extending
    from noisewise import paper as paper
    from noisewise import readers as readers
    from noisewise import rules as rules
    from noisewise import sets as sets
    from noisewise import simulation as simulation
    from noisewise import stopping as stopping
    from noisewise import stores as stores
    from noisewise import study as study
    from noisewise import testing as testing
    from noisewise import theory as theory
    from noisewise import timing as timing
    from noisewise.client.opening import load_study as load_study
    from noisewise.client.places import create_study as create_study
    from noisewise.designs import optimal_design as optimal_design
    from noisewise.designs import transductive_design as transductive_design
    from noisewise.rules import Policy as Policy
    from noisewise.rules import load_policy as load_policy
    from noisewise.rules import make_policy as make_policy
    from noisewise.rules import robust_vaee as robust_vaee
    from noisewise.rules import vaee as vaee
    from noisewise.rules import vagd as vagd
    from noisewise.rules import vage as vage
    from noisewise.sets import ActionSet as ActionSet
    from noisewise.simulation import Environment as Environment
    from noisewise.simulation import compare as compare
    from noisewise.simulation import instances as instances
    from noisewise.simulation import noise as noise
    from noisewise.simulation import schedules as schedules
    from noisewise.simulation import simulate as simulate
    from noisewise.stores import DamagedError as DamagedError
    from noisewise.stores import MemoryStorage as MemoryStorage
    from noisewise.stores import OutcomeUnknownError as OutcomeUnknownError
    from noisewise.stores import StoreChangedError as StoreChangedError
    from noisewise.stores import Verdict as Verdict
    from noisewise.stores import backup_store as backup_store
    from noisewise.stores import open_store as open_store
    from noisewise.stores import rebuild_study as rebuild_study
    from noisewise.stores import restore_store as restore_store
    from noisewise.stores import verify_certificate as verify_certificate
    from noisewise.stores import verify_log as verify_log
    from noisewise.study.certificates.certificate import Certificate as Certificate
    from noisewise.study.certificates.check import Check as Check
    from noisewise.study.log.jobs import Job as Job
    from noisewise.study.log.told import Measurement as Measurement
    from noisewise.study.measure import Errors as Errors
    from noisewise.study.measure import Items as Items
    from noisewise.study.measure import Ratings as Ratings
    from noisewise.study.measure import Rounds as Rounds
    from noisewise.study.one_call import pick as pick
    from noisewise.study.planning.plan import Plan as Plan
    from noisewise.study.planning.worth import Worth as Worth
    from noisewise.study.study import Study as Study
    from noisewise.study.tables.table import read_table as read_table
    from noisewise.timing import best_of as best_of

#: The front door; everything else is in its room.
__all__ = [
    "ActionSet",
    "Certificate",
    "Check",
    "Environment",
    "Errors",
    "Items",
    "Job",
    "Measurement",
    "Plan",
    "Policy",
    "Ratings",
    "Study",
    "Worth",
    "best_of",
    "compare",
    "create_study",
    "extending",
    "instances",
    "load_policy",
    "load_study",
    "make_policy",
    "noise",
    "optimal_design",
    "pick",
    "read_table",
    "readers",
    "robust_vaee",
    "rules",
    "schedules",
    "sets",
    "simulate",
    "stores",
    "theory",
    "transductive_design",
    "vaee",
    "vagd",
]

#: The names by the module that has them; a test holds that these are the imports above.
_NAMES = {
    "noisewise.designs": "optimal_design transductive_design",
    "noisewise.rules": "Policy load_policy make_policy robust_vaee vaee vagd vage",
    "noisewise.sets": "ActionSet",
    "noisewise.simulation": "Environment compare instances noise schedules simulate",
    "noisewise.stores": (
        "DamagedError MemoryStorage OutcomeUnknownError StoreChangedError Verdict backup_store "
        "open_store rebuild_study restore_store verify_certificate verify_log"
    ),
    "noisewise.study.certificates.certificate": "Certificate",
    "noisewise.study.certificates.check": "Check",
    "noisewise.study.log.jobs": "Job",
    "noisewise.study.log.told": "Measurement",
    "noisewise.study.measure": "Errors Items Ratings Rounds",
    "noisewise.study.one_call": "pick",
    "noisewise.study.planning.plan": "Plan",
    "noisewise.study.planning.worth": "Worth",
    "noisewise.study.study": "Study",
    "noisewise.study.tables.table": "read_table",
    "noisewise.timing": "best_of",
    "noisewise.client.opening": "load_study",
    "noisewise.client.places": "create_study",
}
#: The rooms, which are attributes without an import of their own.
_ROOMS = (
    "actions charts core data designs extending paper readers rules sets simulation stores "
    "stopping study testing theory timing"
)


def _elsewhere(name: str) -> str:
    """Where to find a name that is not at the top."""
    from importlib import import_module

    rooms = ("rules", "sets", "simulation", "designs", "extending", "stores")
    found = [room for room in rooms if name in import_module(f"{__name__}.{room}").__all__]
    return f"it is `nw.{found[0]}.{name}`" if found else ""


if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = lazy_names(
        __name__,
        {name: home for home, names in _NAMES.items() for name in names.split()}
        | {room: f"{__name__}.{room}" for room in _ROOMS.split()},
        elsewhere=_elsewhere,
    )


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
