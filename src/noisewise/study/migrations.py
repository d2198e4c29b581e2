"""The version of the tables, and the steps from older ones."""

from collections.abc import Callable

from sqlalchemy import Connection, inspect, select, update

from noisewise.study.sql import TABLES, VERSION

#: The version that this noisewise reads and writes.
CURRENT = 1
#: From each older version, the step to the next; it runs in one transaction with all others.
STEPS: dict[int, Callable[[Connection], None]] = {}


def make_tables(connection: Connection) -> None:
    """Make empty tables of the current version, unless they are there."""
    if inspect(connection).has_table(VERSION.name):
        return
    TABLES.create_all(connection)
    connection.execute(VERSION.insert().values(version=CURRENT))


def version_of(connection: Connection) -> int | None:
    """The version of the tables; None without any."""
    if not inspect(connection).has_table(VERSION.name):
        return None
    return int(connection.execute(select(VERSION.c.version)).scalar_one())


def check_version(found: int | None, label: str) -> None:
    """Refuse tables of another version, saying what to do."""
    if found is None:
        raise ValueError(f"{label} holds no studies of noisewise. Nothing was changed.")
    if found > CURRENT:
        raise ValueError(
            f"{label} was written by a newer noisewise (schema {found}; this one reads {CURRENT}): "
            "upgrade noisewise. Nothing was changed."
        )
    if found < CURRENT:
        raise ValueError(
            f"{label} was written by an older noisewise (schema {found}; this one reads {CURRENT}): run "
            "`noisewise migrate`, when nobody else is using it. Nothing was changed."
        )


def older_version(found: int | None, label: str) -> int:
    """A version that can be migrated from; refuse newer ones."""
    if found is None or found > CURRENT:
        check_version(found, label)
    return CURRENT if found is None else found


def migrate(connection: Connection, label: str) -> tuple[int, int]:
    """Bring the tables to the current version inside the caller's transaction; returns both versions."""
    found = older_version(version_of(connection), label)
    for version in range(found, CURRENT):
        STEPS[version](connection)
    connection.execute(update(VERSION).values(version=CURRENT))
    return found, CURRENT
