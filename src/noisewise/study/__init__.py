"""Live studies: options, measurements with their error bars, what to measure next, when to stop."""

from noisewise.study.certificate import Certificate
from noisewise.study.check import Check
from noisewise.study.creating import create_study, load_study, verify_certificate
from noisewise.study.logs import backup_store, rebuild_study
from noisewise.study.opening import migrate_store, open_store
from noisewise.study.plan import Plan
from noisewise.study.slot import Slot
from noisewise.study.state import Job
from noisewise.study.storage import Event, LogMovedOnError, MemoryStorage, Storage
from noisewise.study.study import Study
from noisewise.study.telling import Measurement
from noisewise.study.worth import Worth

__all__ = [
    "Certificate",
    "Check",
    "Event",
    "Job",
    "LogMovedOnError",
    "Measurement",
    "MemoryStorage",
    "Plan",
    "Slot",
    "Storage",
    "Study",
    "Worth",
    "backup_store",
    "create_study",
    "load_study",
    "migrate_store",
    "open_store",
    "rebuild_study",
    "verify_certificate",
]
