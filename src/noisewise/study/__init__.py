"""Live studies: options, measurements with their error bars, what to measure next, when to stop."""

from noisewise.study.certificate import Certificate
from noisewise.study.check import Check
from noisewise.study.creating import create_study, load_study, verify_certificate
from noisewise.study.logs import backup_store, rebuild_study
from noisewise.study.opening import find_study, migrate_store, open_store, restore_store
from noisewise.study.plan import Plan
from noisewise.study.slot import Slot
from noisewise.study.state import Job
from noisewise.study.storage import (
    DamagedError,
    Event,
    LogMovedOnError,
    MemoryStorage,
    OutcomeUnknownError,
    Storage,
    StoreChangedError,
)
from noisewise.study.study import Study
from noisewise.study.telling import Measurement
from noisewise.study.verifying import Verdict, verify_log
from noisewise.study.worth import Worth

__all__ = [
    "Certificate",
    "Check",
    "DamagedError",
    "Event",
    "Job",
    "LogMovedOnError",
    "Measurement",
    "MemoryStorage",
    "OutcomeUnknownError",
    "Plan",
    "Slot",
    "Storage",
    "StoreChangedError",
    "Study",
    "Verdict",
    "Worth",
    "backup_store",
    "create_study",
    "find_study",
    "load_study",
    "migrate_store",
    "open_store",
    "rebuild_study",
    "restore_store",
    "verify_certificate",
    "verify_log",
]
