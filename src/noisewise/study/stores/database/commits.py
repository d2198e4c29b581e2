"""Committing a change, and finding out what became of it when the answer is lost."""

import time

from noisewise.study.stores.database.connection import DriverError, Transaction
from noisewise.study.stores.database.dialect import Database
from noisewise.study.stores.database.refusals import outcome_unknown
from noisewise.study.stores.database.statements import LOCK, ONE
from noisewise.study.stores.protocol import Event, OutcomeUnknownError

#: Seconds for which a store whose answer was lost is asked what became of a change, and between two tries.
ASKING, PAUSE = 10.0, 0.2


def commit(database: Database, transaction: Transaction, study: int, first: Event) -> None:
    """Commit an append; if the answer is lost, look for its id in the log.

    Args:
        database: Where.
        transaction: What is to be committed.
        study: The study's number.
        first: The first event, with the id of the append.
    """
    database.check()
    try:
        send(transaction)
    except (DriverError, ConnectionError) as error:
        if isinstance(error, DriverError) and database.surely_undone(error):
            raise
        if not _is_there(database, study, first, error):
            raise _not_there(database, error) from error


def send(transaction: Transaction) -> None:
    """The one moment after which only the store knows what became of the events."""
    transaction.commit()


def _is_there(database: Database, study: int, first: Event, error: Exception) -> bool:
    """Ask the store, for a while; behind the lock that the lost transaction may still hold."""
    give_up = time.monotonic() + ASKING
    while True:
        try:
            with database.writer().begin() as connection:
                if database.locks_rows:
                    connection.rows(LOCK, {"study": study})
                found = connection.rows(ONE, {"study": study, "number": first.number})
                return bool(found) and bool(first.append) and found[0][0] == first.append
        except (DriverError, OSError):
            if time.monotonic() > give_up:
                raise _unknown(database, error) from error
            time.sleep(PAUSE)


def _not_there(database: Database, error: Exception) -> Exception:
    if not isinstance(error, DriverError):
        return error
    # SQLite: what a failed write left in the write-ahead log may count again after a crash.
    return database.explain(error) if database.locks_rows else _unknown(database, error)


def _unknown(database: Database, error: Exception) -> OutcomeUnknownError:
    return outcome_unknown(str(database.explain(error)) if isinstance(error, DriverError) else str(error))
