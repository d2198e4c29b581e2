"""The tables of a store in a database, and the seals that say whether their rows are whole.

Four tables: the store itself, one row with the version of the tables and a random id; the studies; the
events, whose primary key (study, number) lets no place be taken twice; and the head of every log, so that
events missing at its end are noticed. Events are sealed by their chain; the row of a study by its seal; the
list of studies by a hash of all seals.
"""

import uuid
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    select,
    true,
    update,
)

from noisewise.study.stores.protocol import DamagedError, to_json

TABLES = MetaData()
#: One row: the version of these tables, the store's random id, the hash of all studies' seals.
STORE = Table(
    "noisewise_schema",
    TABLES,
    Column("version", Integer, nullable=False),
    Column("id", Text, nullable=False, server_default=""),
    Column("roll", LargeBinary),
)
STUDIES = Table(
    "noisewise_studies",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("specification", Text, nullable=False),
    Column("start", LargeBinary),  # where the chain begins: the hash of the specification
    Column("chained", Text),  # of an older log: when it was given its chain, and at which event
    Column("seal", LargeBinary),
)
EVENTS = Table(
    "noisewise_events",
    TABLES,
    Column("study", Integer, ForeignKey(STUDIES.c.id), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("append", Text, nullable=False, server_default=""),
    Column("hash", LargeBinary),
    sqlite_with_rowid=False,
)
HEADS = Table(
    "noisewise_heads",
    TABLES,
    Column("study", Integer, ForeignKey(STUDIES.c.id), primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)

_SEALED = (STUDIES.c.id, STUDIES.c.name, STUDIES.c.start, STUDIES.c.chained, STUDIES.c.seal)
# One statement, so that both sides are of the same moment in any database.
_ROLL = (
    select(STORE.c.id.label("store"), STORE.c.roll, *_SEALED)
    .select_from(STORE.outerjoin(STUDIES, true()))
    .order_by(STUDIES.c.id)
)


def new_id() -> str:
    """A random id, of a store or of what is appended together."""
    return uuid.uuid4().hex


def seal_of(study: int, name: str, start: bytes, chained: str | None) -> bytes:
    """The hash of what makes up a study's row."""
    return sha256(to_json([study, name, bytes(start).hex(), chained]).encode()).digest()


def roll_of(store: str, seals: Iterable[bytes]) -> bytes:
    """The hash of a store's id and of all its studies."""
    return sha256(b"".join([store.encode(), *map(bytes, seals)])).digest()


def check_seal(row: Any) -> None:
    """Refuse a study's row that was changed past noisewise."""
    if bytes(row.seal or b"") != seal_of(row.id, row.name, row.start or b"", row.chained):
        raise DamagedError(f"the entry of study {row.name!r} was changed")


def studies_in(connection: Connection) -> list[Any]:
    """The entries of all studies, the oldest first, checked."""
    rows = connection.execute(_ROLL).all()
    if not rows:
        raise DamagedError("the entry of the store itself is missing")
    store, roll = rows[0].store, rows[0].roll
    studies = [row for row in rows if row.id is not None]
    for row in studies:
        check_seal(row)
    if bytes(roll or b"") != roll_of(store, [row.seal for row in studies]):
        raise DamagedError("its list of studies was changed")
    return studies


def write_roll(connection: Connection) -> None:
    """Seal the list of studies as it is now."""
    rows = connection.execute(_ROLL).all()
    roll = roll_of(rows[0].store, [row.seal for row in rows if row.id is not None])
    connection.execute(update(STORE).values(roll=roll))
