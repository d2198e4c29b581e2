"""The version of the tables, and the steps from older ones."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, bindparam, inspect, select, text, update

from noisewise.study.stores.chain import links, start_of
from noisewise.study.stores.database.refusals import damaged
from noisewise.study.stores.database.schema import (
    EVENTS,
    HEADS,
    STORE,
    STUDIES,
    TABLES,
    new_id,
    seal_of,
    write_roll,
)

Kind = TypeVar("Kind")
#: The version that this noisewise reads and writes.
CURRENT = 2
#: Events that are chained at once.
TOGETHER = 5000


def chain_logs(connection: Connection) -> None:
    """From 1 to 2: the store gets an id, and every log a chain, which says that it was made now."""
    for table, names in ((STORE, ("id", "roll")), (STUDIES, ("start", "chained", "seal"))):
        _add_columns(connection, table, names)
    _add_columns(connection, EVENTS, ("append", "hash"))
    HEADS.create(connection)
    connection.execute(update(STORE).values(id=new_id()))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for study in connection.execute(select(STUDIES.c.id, STUDIES.c.name, STUDIES.c.specification)).all():
        start = start_of(study.specification)
        number, head = _chain_events(connection, study.id, start)
        chained = f"chained at migration on {now}, after event {number}"
        seal = seal_of(study.id, study.name, start, chained)
        entry = {"start": start, "chained": chained, "seal": seal}
        connection.execute(update(STUDIES).where(STUDIES.c.id == study.id).values(entry))
        connection.execute(HEADS.insert(), {"study": study.id, "number": number, "hash": head})
    write_roll(connection)


def _add_columns(connection: Connection, table: Table, names: tuple[str, ...]) -> None:
    for name in names:
        kind = table.c[name].type.compile(connection.dialect)
        more = "" if table.c[name].nullable else " NOT NULL DEFAULT ''"
        connection.execute(text(f'ALTER TABLE {table.name} ADD COLUMN "{name}" {kind}{more}'))


def _chain_events(connection: Connection, study: int, head: bytes) -> tuple[int, bytes]:
    """Give every event of a log its hash; returns the last number and hash."""
    columns = (EVENTS.c.number, EVENTS.c.at, EVENTS.c.kind, EVENTS.c.append, EVENTS.c.body)
    some = select(*columns).where(EVENTS.c.study == study, EVENTS.c.number > bindparam("after"))
    some = some.order_by(EVENTS.c.number).limit(TOGETHER)
    put = update(EVENTS).where(EVENTS.c.study == study, EVENTS.c.number == bindparam("which"))
    number = 0
    while rows := connection.execute(some, {"after": number}).all():
        hashes = links(head, rows)
        made = [{"which": row[0], "hash": hash} for row, hash in zip(rows, hashes, strict=True)]
        connection.execute(put.values(hash=bindparam("hash")), made)
        number, head = rows[-1][0], hashes[-1]
    return number, head


#: From each older version, the step to the next; it runs in one transaction with all others.
STEPS: dict[int, Callable[[Connection], None]] = {1: chain_logs}


def make_tables(connection: Connection) -> None:
    """Make empty tables of the current version, unless they are there."""
    if inspect(connection).has_table(STORE.name):
        return
    TABLES.create_all(connection)
    connection.execute(STORE.insert().values(version=CURRENT, id=new_id()))
    write_roll(connection)


def version_of(connection: Connection, label: str) -> int | None:
    """The version of the tables; None without any."""
    if not inspect(connection).has_table(STORE.name):
        return None
    return _only(connection.execute(select(STORE.c.version)).scalars().all(), int, label)


def id_of(connection: Connection, label: str) -> str:
    """The random id of a store of the current version."""
    return _only(connection.execute(select(STORE.c.id)).scalars().all(), str, label)


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
    connection.execute(update(STORE).values(version=CURRENT))
    return found, CURRENT
