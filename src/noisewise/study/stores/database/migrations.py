"""The version of the tables, and the steps from older ones."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from noisewise.study.stores.chain import links, start_of
from noisewise.study.stores.database.connection import Connection
from noisewise.study.stores.database.refusals import damaged
from noisewise.study.stores.database.schema import HEADS, STORE, new_id, seal_of, tables, write_roll

Kind = TypeVar("Kind")
#: The version that this noisewise reads and writes.
CURRENT = 2
#: Events that are chained at once.
TOGETHER = 5000


#: Columns that version 2 added, as a database with these types spells them.
_ADDED = {
    "noisewise_schema": ("id TEXT NOT NULL DEFAULT ''", "roll {bytes}"),
    "noisewise_studies": ("start {bytes}", "chained TEXT", "seal {bytes}"),
    "noisewise_events": ("append TEXT NOT NULL DEFAULT ''", "hash {bytes}"),
}
_SOME = (
    "SELECT number, at, kind, append, body FROM noisewise_events "
    f"WHERE study = :study AND number > :after ORDER BY number LIMIT {TOGETHER}"
)


def chain_logs(connection: Connection) -> None:
    """From 1 to 2: the store gets an id, and every log a chain, which says that it was made now."""
    types = connection.types
    for table, columns in _ADDED.items():
        for column in columns:
            connection.rows(f"ALTER TABLE {table} ADD COLUMN {column.format(**types._asdict())}")
    (heads,) = (table for table in tables(types) if HEADS in table)
    connection.rows(heads)
    connection.rows("UPDATE noisewise_schema SET id = :id", {"id": new_id()})
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for study, name, specification in connection.rows(
        "SELECT id, name, specification FROM noisewise_studies"
    ):
        start = start_of(specification)
        number, head = _chain_events(connection, study, start)
        chained = f"chained at migration on {now}, after event {number}"
        seal = seal_of(study, name, start, chained)
        connection.rows(
            "UPDATE noisewise_studies SET start = :start, chained = :chained, seal = :seal WHERE id = :study",
            {"start": start, "chained": chained, "seal": seal, "study": study},
        )
        connection.insert(HEADS, ("study", "number", "hash"), [(study, number, head)])
    write_roll(connection)


def _chain_events(connection: Connection, study: int, head: bytes) -> tuple[int, bytes]:
    """Give every event of a log its hash; returns the last number and hash."""
    number = 0
    while rows := connection.rows(_SOME, {"study": study, "after": number}):
        hashes = links(head, rows)
        connection.many(
            "UPDATE noisewise_events SET hash = :hash WHERE study = :study AND number = :number",
            [
                {"hash": hash, "study": study, "number": row[0]}
                for row, hash in zip(rows, hashes, strict=True)
            ],
        )
        number, head = rows[-1][0], hashes[-1]
    return number, head


#: From each older version, the step to the next; it runs in one transaction with all others.
STEPS: dict[int, Callable[[Connection], None]] = {1: chain_logs}


def make_tables(connection: Connection) -> None:
    """Make empty tables of the current version, unless they are there."""
    if connection.has_table(STORE):
        return
    for table in tables(connection.types):
        connection.rows(table)
    connection.insert(STORE, ("version", "id"), [(CURRENT, new_id())])
    write_roll(connection)


def version_of(connection: Connection, label: str) -> int | None:
    """The version of the tables; None without any."""
    if not connection.has_table(STORE):
        return None
    return _only(
        [version for (version,) in connection.rows("SELECT version FROM noisewise_schema")], int, label
    )


def id_of(connection: Connection, label: str) -> str:
    """The random id of a store of the current version."""
    return _only([id for (id,) in connection.rows("SELECT id FROM noisewise_schema")], str, label)


def _only(found: Sequence[Any], kind: type[Kind], label: str) -> Kind:
    if len(found) != 1 or not isinstance(found[0], kind):
        raise damaged(label, "the entry of the store itself is missing or spoilt")
    return found[0]


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
            "`noisewise migrate`, when no other process is using it. Nothing was changed."
        )


def older_version(found: int | None, label: str) -> int:
    """A version that can be migrated from; refuse newer ones."""
    if found is None or found > CURRENT:
        check_version(found, label)
    if found is not None and any(version not in STEPS for version in range(found, CURRENT)):
        raise ValueError(f"{label} is damaged: there never was a schema {found}. Nothing was changed.")
    return CURRENT if found is None else found


def migrate(connection: Connection, label: str) -> tuple[int, int]:
    """Bring the tables to the current version inside the caller's transaction; returns both versions."""
    found = older_version(version_of(connection, label), label)
    for version in range(found, CURRENT):
        STEPS[version](connection)
    connection.rows("UPDATE noisewise_schema SET version = :version", {"version": CURRENT})
    return found, CURRENT
