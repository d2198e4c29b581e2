"""The tables of a store in a database, and the seals that say whether their rows are whole.

Four tables: the store itself, one row with the version of the tables and a random id; the studies; the
events, whose primary key (study, number) lets no place be taken twice; and the head of every log, so that
events missing at its end are noticed. Events are sealed by their chain; the row of a study by its seal; the
list of studies by a hash of all seals.
"""

import uuid
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from noisewise.study.stores.database.connection import Connection, Types
from noisewise.study.stores.protocol import DamagedError, to_json

#: One row: the version of these tables, the store's random id, the hash of all studies' seals.
STORE = "noisewise_schema"
STUDIES, EVENTS, HEADS = "noisewise_studies", "noisewise_events", "noisewise_heads"
_TABLES = (
    """
CREATE TABLE noisewise_schema (
	version INTEGER NOT NULL,
	id TEXT DEFAULT '' NOT NULL,
	roll {bytes}
)""",
    # Where the chain begins (start) is the hash of the specification; of an older log, `chained` says when it
    # was given its chain, and at which event.
    """
CREATE TABLE noisewise_studies (
	id {counter} NOT NULL,
	name TEXT NOT NULL,
	specification TEXT NOT NULL,
	start {bytes},
	chained TEXT,
	seal {bytes},
	PRIMARY KEY (id),
	UNIQUE (name)
)""",
    """
CREATE TABLE noisewise_events (
	study INTEGER NOT NULL,
	number INTEGER NOT NULL,
	at {double} NOT NULL,
	kind TEXT NOT NULL,
	body TEXT NOT NULL,
	append TEXT DEFAULT '' NOT NULL,
	hash {bytes},
	PRIMARY KEY (study, number),
	FOREIGN KEY(study) REFERENCES noisewise_studies (id)
){by_key}""",
    """
CREATE TABLE noisewise_heads (
	study INTEGER NOT NULL,
	number INTEGER NOT NULL,
	hash {bytes} NOT NULL,
	PRIMARY KEY (study),
	FOREIGN KEY(study) REFERENCES noisewise_studies (id)
)""",
)

# One statement, so that both sides are of the same moment in any database.
_ROLL = (
    "SELECT noisewise_schema.id, noisewise_schema.roll, noisewise_studies.id, noisewise_studies.name, "
    "noisewise_studies.start, noisewise_studies.chained, noisewise_studies.seal "
    "FROM noisewise_schema LEFT OUTER JOIN noisewise_studies ON 1 = 1 ORDER BY noisewise_studies.id"
)


class Sealed(NamedTuple):
    """The entry of a study, without what it was created with."""

    id: int
    name: str
    start: bytes | None
    chained: str | None
    seal: bytes | None


def tables(types: Types) -> tuple[str, ...]:
    """The statements that make the tables, in order."""
    return tuple(table.format(**types._asdict()) for table in _TABLES)


def new_id() -> str:
    """A random id, of a store or of what is appended together."""
    return uuid.uuid4().hex


def seal_of(study: int, name: str, start: bytes, chained: str | None) -> bytes:
    """The hash of what makes up a study's row."""
    return sha256(to_json([study, name, bytes(start).hex(), chained]).encode()).digest()


def roll_of(store: str, seals: Iterable[bytes]) -> bytes:
    """The hash of a store's id and of all its studies."""
    return sha256(b"".join([store.encode(), *map(bytes, seals)])).digest()


def check_seal(row: Sealed) -> None:
    """Refuse a study's row that was changed past noisewise."""
    if bytes(row.seal or b"") != seal_of(row.id, row.name, row.start or b"", row.chained):
        raise DamagedError(f"the entry of study {row.name!r} was changed")


def studies_in(connection: Connection) -> list[Sealed]:
    """The entries of all studies, the oldest first, checked."""
    store, roll, studies = _enrolled(connection)
    for row in studies:
        check_seal(row)
    if bytes(roll or b"") != roll_of(store, [row.seal or b"" for row in studies]):
        raise DamagedError("its list of studies was changed")
    return studies


def write_roll(connection: Connection) -> None:
    """Seal the list of studies as it is now."""
    store, _, studies = _enrolled(connection)
    roll = roll_of(store, [row.seal or b"" for row in studies])
    connection.rows("UPDATE noisewise_schema SET roll = :roll", {"roll": roll})


def _enrolled(connection: Connection) -> tuple[str, bytes | None, list[Sealed]]:
    """The store's id, the hash of its list of studies, and that list."""
    rows = connection.rows(_ROLL)
    if not rows:
        raise DamagedError("the entry of the store itself is missing")
    store, roll = rows[0][:2]
    return store, roll, [Sealed(*row[2:]) for row in rows if row[2] is not None]
