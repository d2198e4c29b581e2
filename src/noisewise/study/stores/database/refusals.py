"""What is said when a store is not what it was, or does not answer."""

from noisewise.study.stores.protocol import DamagedError, OutcomeUnknownError, StoreChangedError


def another_store(label: str) -> StoreChangedError:
    """The id is another one."""
    return StoreChangedError(
        f"{label} is another store than the one that was opened: it was replaced. Nothing was written; open "
        "the store again."
    )


def rolled_back(label: str, name: str, length: int, seen: int) -> StoreChangedError:
    """The log became shorter."""
    return StoreChangedError(
        f"the log of {name!r} in {label} was rolled back: it has {length} events, and had {seen}. Nothing "
        "was written; find out which copy is right, and open the study again."
    )


def another_history(label: str, name: str) -> StoreChangedError:
    """The same length or more, but other events."""
    return StoreChangedError(
        f"the log of {name!r} in {label} is not the one that was read before: its history was replaced. "
        "Nothing was written; find out which copy is right, and open the study again."
    )


def damaged(label: str, how: str, event: int | None = None) -> DamagedError:
    """What is there does not fit together."""
    return DamagedError(
        f"{label} is damaged: {how}. Nothing was changed; restore a backup, or rebuild it from an exported "
        "log.",
        event,
    )


def outcome_unknown(reason: str) -> OutcomeUnknownError:
    """A commit without an answer, in a store that cannot be asked what became of it."""
    reason = reason.split(" Nothing was written")[0].rstrip(".")
    return OutcomeUnknownError(
        f"it is not known whether this was written: the answer to the commit was lost ({reason}). Make the "
        "same call again in this program (it is not written twice), or look at the log before telling it "
        "anew."
    )
