"""Live studies: options, measurements with their error bars, what to measure next, when to stop."""

from noisewise.study.certificate.certificate import Certificate
from noisewise.study.certificate.check import Check
from noisewise.study.creation import create_study, load_study, verify_certificate
from noisewise.study.intake.entry import Measurement
from noisewise.study.log.export import backup_store, rebuild_study
from noisewise.study.log.state import Job
from noisewise.study.planning.plan import Plan
from noisewise.study.planning.slot import Slot
from noisewise.study.planning.worth import Worth
from noisewise.study.safekeeping.backup import restore_store
from noisewise.study.safekeeping.verification import Verdict, verify_log
from noisewise.study.stores.address import find_study, migrate_store, open_store
from noisewise.study.stores.protocol import (
    DamagedError,
    Event,
    LogMovedOnError,
    MemoryStorage,
    OutcomeUnknownError,
    Storage,
    StoreChangedError,
)
from noisewise.study.study import Study

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
