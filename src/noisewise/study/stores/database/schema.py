"""The tables of a store in a database, and the seals that say whether their rows are whole.

Four tables: the store itself, one row with the version of the tables and a random id; the studies; the
events, whose primary key (study, number) lets no place be taken twice; and the head of every log, so that
events missing at its end are noticed. Events are sealed by their chain; the row of a study by its seal; the
list of studies by a hash of all seals.
"""

import uuid
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from noisewise.study.stores.database.connection import Connection, Types
from noisewise.study.stores.database.refusals import damaged
from noisewise.study.stores.protocol import DamagedError, to_json

Kind = TypeVar("Kind")
#: The version of the tables that this noisewise reads and writes.
CURRENT = 3
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
    # The chain begins (start) with the hash of the specification.
    """
CREATE TABLE noisewise_studies (
	id {counter} NOT NULL,
	name TEXT NOT NULL,
	specification TEXT NOT NULL,
	start {bytes},
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
    "noisewise_studies.start, noisewise_studies.seal "
    "FROM noisewise_schema LEFT OUTER JOIN noisewise_studies ON 1 = 1 ORDER BY noisewise_studies.id"
)


class Sealed(NamedTuple):
    """The entry of a study, without what it was created with."""

    id: int
    name: str
    start: bytes | None
    seal: bytes | None


def tables(types: Types) -> tuple[str, ...]:
    """The statements that make the tables, in order."""
    return tuple(table.format(**types._asdict()) for table in _TABLES)


def new_id() -> str:
    """A random id, of a store or of what is appended together."""
    return uuid.uuid4().hex


def seal_of(study: int, name: str, start: bytes) -> bytes:
    """The hash of what makes up a study's row."""
    return sha256(to_json([study, name, bytes(start).hex()]).encode()).digest()


def roll_of(store: str, seals: Iterable[bytes]) -> bytes:
    """The hash of a store's id and of all its studies."""
    return sha256(b"".join([store.encode(), *map(bytes, seals)])).digest()


def check_seal(row: Sealed) -> None:
    """Refuse a study's row that was changed past noisewise."""
    if bytes(row.seal or b"") != seal_of(row.id, row.name, row.start or b""):
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
    if found != CURRENT:
        raise ValueError(
            f"{label} was written by another version of noisewise (schema {found}; this one reads "
            f"{CURRENT}): use the version that wrote it, or rebuild its studies from exported logs. "
            "Nothing was changed."
        )
