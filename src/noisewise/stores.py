"""Where studies are kept: opening, copying, checking and mending stores, and the errors that they raise."""

from noisewise.client.places import backup_store, find_study, open_store, rebuild_study, verify_log
from noisewise.study.creation import verify_certificate
from noisewise.study.log.events import Event
from noisewise.study.safekeeping import Verdict, restore_store
from noisewise.study.stores.protocol import (
    DamagedError,
    LogMovedOnError,
    MemoryStorage,
    OutcomeUnknownError,
    Storage,
    StoreChangedError,
)

__all__ = [
    "DamagedError",
    "Event",
    "LogMovedOnError",
    "MemoryStorage",
    "OutcomeUnknownError",
    "Storage",
    "StoreChangedError",
    "Verdict",
    "backup_store",
    "find_study",
    "open_store",
    "rebuild_study",
    "restore_store",
    "verify_certificate",
    "verify_log",
]
