"""Live studies: options, measurements with their error bars, what to measure next, when to stop."""

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
