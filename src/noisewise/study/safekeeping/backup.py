"""Putting a backup in the place of a store."""

from os import PathLike
from pathlib import Path

from noisewise.study.stores.address import POSTGRES, path_of


def restore_store(
    backup: str | PathLike[str], store: str | PathLike[str], *, timeout: float = 2.0
) -> Path | None:
    """Replace a store, a SQLite file, by a backup of it.

    The backup is checked first, every hash of it; it stays as it is. The file that is replaced is kept beside
    the store, with what SQLite left beside it. Refused while others have the store open.

    Args:
        backup: A file that `noisewise.backup_store` made, or a copy of a store that was not in use.
        store: The file to replace; it need not be there.
        timeout: Seconds to wait for others to close the store.

    Returns:
        Where the replaced file is now; None if there was none.
    """
    for name, place in (("backup", backup), ("store", store)):
        if str(place).startswith(POSTGRES):
            raise ValueError(
                f"`{name}` must be a file: a PostgreSQL database is restored with its own tools, or study by "
                "study from exported logs."
            )
    from noisewise.study.safekeeping.restoration import replace_store

    return replace_store(path_of(str(backup)), path_of(str(store)), timeout)
