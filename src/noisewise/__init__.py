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
    from noisewise import stores as stores
    from noisewise import study as study
    from noisewise import testing as testing
    from noisewise import theory as theory
    from noisewise import timing as timing
    from noisewise.client.opening import load_study as load_study
    from noisewise.client.places import create_study as create_study
    from noisewise.designs import Design as Design
    from noisewise.designs import Pairs as Pairs
    from noisewise.designs import TransductiveDesign as TransductiveDesign
    from noisewise.designs import optimal_design as optimal_design
    from noisewise.designs import transductive_design as transductive_design
    from noisewise.rules import POLICIES as POLICIES
    from noisewise.rules import Estimate as Estimate
    from noisewise.rules import Policy as Policy
    from noisewise.rules import Rule as Rule
    from noisewise.rules import adaoful as adaoful
    from noisewise.rules import bayes_gap as bayes_gap
    from noisewise.rules import frank_wolfe_sampling as frank_wolfe_sampling
    from noisewise.rules import greedy as greedy
    from noisewise.rules import h_rage as h_rage
    from noisewise.rules import information_directed as information_directed
    from noisewise.rules import linear_thompson as linear_thompson
    from noisewise.rules import lingame as lingame
    from noisewise.rules import lingape as lingape
    from noisewise.rules import linnats as linnats
    from noisewise.rules import linnats_unknown as linnats_unknown
    from noisewise.rules import load_policy as load_policy
    from noisewise.rules import make_policy as make_policy
    from noisewise.rules import od_linbai as od_linbai
    from noisewise.rules import oful as oful
    from noisewise.rules import peace as peace
    from noisewise.rules import phased_elimination as phased_elimination
    from noisewise.rules import precision_tracking as precision_tracking
    from noisewise.rules import rage as rage
    from noisewise.rules import register as register
    from noisewise.rules import robust_vaee as robust_vaee
    from noisewise.rules import round_robin as round_robin
    from noisewise.rules import static_design as static_design
    from noisewise.rules import top_two_thompson as top_two_thompson
    from noisewise.rules import uniform as uniform
    from noisewise.rules import vaee as vaee
    from noisewise.rules import vaee_as_printed as vaee_as_printed
    from noisewise.rules import vagd as vagd
    from noisewise.rules import vage as vage
    from noisewise.rules import varcb as varcb
    from noisewise.rules import voful as voful
    from noisewise.rules import voful2 as voful2
    from noisewise.rules import weighted_lingape as weighted_lingape
    from noisewise.rules import weighted_oful as weighted_oful
    from noisewise.rules import weighted_oful_plus as weighted_oful_plus
    from noisewise.rules import widest as widest
    from noisewise.sets import ActionSet as ActionSet
    from noisewise.sets import Answer as Answer
    from noisewise.sets import Ball as Ball
    from noisewise.sets import Box as Box
    from noisewise.sets import Ellipsoid as Ellipsoid
    from noisewise.sets import Hypercube as Hypercube
    from noisewise.sets import Polytope as Polytope
    from noisewise.sets import Product as Product
    from noisewise.sets import Simplex as Simplex
    from noisewise.simulation import Environment as Environment
    from noisewise.simulation import Instance as Instance
    from noisewise.simulation import Simulation as Simulation
    from noisewise.simulation import SimulationInterrupted as SimulationInterrupted
    from noisewise.simulation import compare as compare
    from noisewise.simulation import instances as instances
    from noisewise.simulation import load_simulations as load_simulations
    from noisewise.simulation import noise as noise
    from noisewise.simulation import save_simulations as save_simulations
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
    from noisewise.study import Certificate as Certificate
    from noisewise.study import Check as Check
    from noisewise.study import Errors as Errors
    from noisewise.study import Items as Items
    from noisewise.study import Job as Job
    from noisewise.study import Measurement as Measurement
    from noisewise.study import Plan as Plan
    from noisewise.study import Ratings as Ratings
    from noisewise.study import Rounds as Rounds
    from noisewise.study import Study as Study
    from noisewise.study import Worth as Worth
    from noisewise.study import pick as pick
    from noisewise.study.tables.table import read_table as read_table
    from noisewise.timing import best_of as best_of

#: The front door. Whatever else was ever at the top still works there, and is listed by its own module.
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
    "noisewise.designs": "Design Pairs TransductiveDesign optimal_design transductive_design",
    "noisewise.rules": (
        "POLICIES Estimate Policy Rule load_policy make_policy register adaoful bayes_gap "
        "frank_wolfe_sampling greedy h_rage information_directed linear_thompson lingame "
        "lingape linnats linnats_unknown od_linbai oful peace phased_elimination precision_tracking rage "
        "robust_vaee round_robin static_design top_two_thompson uniform vaee vaee_as_printed vagd vage varcb "
        "voful voful2 weighted_lingape weighted_oful weighted_oful_plus widest"
    ),
    "noisewise.sets": "ActionSet Answer Ball Box Ellipsoid Hypercube Polytope Product Simplex",
    "noisewise.simulation": (
        "Environment Instance Simulation SimulationInterrupted compare instances load_simulations noise "
        "save_simulations schedules simulate"
    ),
    "noisewise.stores": (
        "DamagedError MemoryStorage OutcomeUnknownError StoreChangedError Verdict backup_store "
        "open_store rebuild_study restore_store verify_certificate verify_log"
    ),
    "noisewise.study": (
        "Certificate Check Errors Items Job Measurement Plan Ratings Rounds Study Worth pick"
    ),
    "noisewise.study.tables.table": "read_table",
    "noisewise.timing": "best_of",
    "noisewise.client.opening": "load_study",
    "noisewise.client.places": "create_study",
}
#: The rooms, which are attributes without an import of their own.
_ROOMS = (
    "actions charts core data designs extending paper readers rules sets simulation stores "
    "study testing theory timing"
)

if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = lazy_names(
        __name__,
        {name: home for home, names in _NAMES.items() for name in names.split()}
        | {room: f"{__name__}.{room}" for room in _ROOMS.split()},
        elsewhere={
            "save": "the rule is `nw.rules.save`; `policy.save(path)` writes a policy to a file, and "
            "`nw.save_simulations(simulations, path)` writes simulations"
        },
    )


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
