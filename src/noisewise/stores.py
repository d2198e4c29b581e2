"""Where studies are kept: opening, copying, checking and mending stores, and the errors that they raise."""

from noisewise.study import (
    DamagedError,
    Event,
    LogMovedOnError,
    MemoryStorage,
    OutcomeUnknownError,
    Storage,
    StoreChangedError,
    Verdict,
    backup_store,
    find_study,
    migrate_store,
    open_store,
    rebuild_study,
    restore_store,
    verify_certificate,
    verify_log,
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
    "migrate_store",
    "open_store",
    "rebuild_study",
    "restore_store",
    "verify_certificate",
    "verify_log",
]
