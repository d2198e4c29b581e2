"""`check_storage`: everything that a study relies on when it keeps its log in a store.

A store of your own is fit for studies if it passes. Each check raises AssertionError with a sentence.
"""

import itertools
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from noisewise.study.creation import begin_study, create_study, load_study
from noisewise.study.stores.protocol import AnswerLostError, NameTakenError, Row, Storage, follow

#: Opens one more handle to the store under test; all handles see the same studies.
OpenStorage = Callable[[], Storage]
#: Records that stores like to spoil: they are bytes, and come back as they were.
HARD = (
    b'{"floats":[0.30000000000000004,5e-324,1.7976931348623157e308,-0.0,1.0],"whole":9007199254740993}',
    '{"texts":["","σ ± 日本 🧪","line\\nbreak","\'); DROP TABLE studies; --","%s ? :name"]}'.encode(),
    b'{"nested":{"empty":{},"nothing":null,"flags":[true,false]},"zero":"a\\u0000b"}',
    b"{}",
)
WRITERS, EACH = 4, 15


def check_storage(open_storage: OpenStorage) -> None:
    """Run every check on the store that ``open_storage()`` opens.

    Example:
        >>> from noisewise import MemoryStorage
        >>> store = MemoryStorage()
        >>> check_storage(lambda: store)
    """
    for check in STORAGE_CHECKS:
        check(open_storage)


def check_rows_are_kept_exactly(open_storage: OpenStorage) -> None:
    """Rows come back as they were, through another handle, whole or in part."""
    storage, name = open_storage(), _name()
    rows = _log(HARD[0], *HARD)
    storage.create(name, rows[:1])
    _append(storage, name, rows[1:3])
    _append(storage, name, rows[3:])
    again = open_storage()
    assert again.read(name) == rows, "rows came back changed."
    kinds = {tuple(map(type, row)) for row in again.read(name)}
    assert kinds == {(int, str, bytes, bytes)}, "the parts of rows are of other types."
    for first in range(len(rows) + 2):
        assert again.read(name, first) == rows[first:], "reading on must begin with the given number."
        for last in range(first, len(rows) + 2):
            assert again.read(name, first, last) == rows[first : last + 1], f"{first} to {last} differ."


def check_a_whole_log_is_taken_at_once(open_storage: OpenStorage) -> None:
    """A log can begin with all rows of another one."""
    storage, name = open_storage(), _name()
    rows = _log(*HARD, *[b'{"n":%d}' % n for n in range(200)])
    storage.create(name, rows)
    assert open_storage().read(name) == rows


def check_names_are_unique_and_ordered(open_storage: OpenStorage) -> None:
    """A taken name is refused and nothing is changed; the oldest study comes first."""
    storage, names = open_storage(), [_name() for _ in range(3)]
    for name in names:
        storage.create(name, _log(name.encode()))
    with _refused(NameTakenError, "a name that is taken"):
        open_storage().create(names[0], _log(b"another"))
    assert storage.read(names[0]) == _log(names[0].encode()), "a refused creation changed a study."
    assert [name for name in open_storage().names() if name in names] == names


def check_unknown_names_are_refused(open_storage: OpenStorage) -> None:
    """What is done to a study that does not exist raises KeyError."""
    storage, name = open_storage(), _name()
    for what in (
        lambda: storage.read(name),
        lambda: _append(storage, name, _log(b"{}")),
        lambda: storage.rename(name, _name()),
    ):
        with _refused(KeyError, "an unknown name"):
            what()
    assert name not in storage.names()


def check_an_error_writes_nothing(open_storage: OpenStorage) -> None:
    """A transaction that ends with an error leaves the log as it was, and the store usable."""
    storage, name = open_storage(), _name()
    rows = _log(b"0", b"1", b"2")
    storage.create(name, rows[:1])
    with _refused(ZeroDivisionError, "an error of the caller"), storage.transaction(name) as transaction:
        transaction.append(rows[1:])
        raise ZeroDivisionError
    assert open_storage().read(name) == rows[:1], "a transaction that failed has written something."
    with storage.transaction(name) as transaction:
        assert transaction.read(0) == rows[:1]
    _append(storage, name, rows[1:])
    assert open_storage().read(name) == rows


def check_studies_do_not_touch_each_other(open_storage: OpenStorage) -> None:
    """Logs are separate."""
    storage, one, other = open_storage(), _name(), _name()
    rows, others = _log(b"0", b"1", b"2"), _log(b"a", b"b")
    storage.create(one, rows[:1])
    storage.create(other, others)
    _append(storage, one, rows[1:])
    assert (storage.read(one), storage.read(other)) == (rows, others)


def check_renaming_keeps_everything(open_storage: OpenStorage) -> None:
    """A renamed study has the same log under the new name alone; a taken name is refused."""
    storage, old, new, taken = open_storage(), _name(), _name(), _name()
    rows = _log(b"0", b"1")
    storage.create(old, rows)
    storage.create(taken, _log(b"taken"))
    with _refused(NameTakenError, "renaming to a name that is taken"):
        storage.rename(old, taken)
    storage.rename(old, new)
    assert open_storage().read(new) == rows
    assert old not in open_storage().names()
    with _refused(KeyError, "the old name"):
        open_storage().read(old)


def check_writers_at_once_lose_nothing(open_storage: OpenStorage) -> None:
    """Writers in several threads, each with its own handle, decide one after the other."""
    name = _name()
    open_storage().create(name, _log(b"{}"))
    problems: list[BaseException] = []

    def write(who: int) -> None:
        try:
            storage = open_storage()
            for what in range(EACH):
                with storage.transaction(name) as transaction:
                    last = transaction.read(0)[-1]
                    transaction.append([follow(last, f"{who}", b"%d" % what)])
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, f"a writer failed: {problems[0]!r}."
    rows = open_storage().read(name)
    assert rows == _log(*(row.record for row in rows), ids=[row.id for row in rows]), "two wrote one number."
    for who in range(WRITERS):
        told = [int(row.record) for row in rows[1:] if row.id == f"{who}"]
        assert told == list(range(EACH)), f"writer {who} wrote {EACH} events in order; the log has {told}."


def check_the_head_is_the_same_from_any_handle(open_storage: OpenStorage) -> None:
    """Every reader of the log comes to the same head, also after a rename."""
    name, new = _name(), _name()
    study = create_study(open_storage(), name=name, options=["A", "B"], eps=0.5)
    for value in (1.0, 2.0):
        study.tell(option="A", value=value, se=0.2)
    head, hashes = study.head, [event.hash for event in study.events()]
    assert hashes[-1] == head == load_study(open_storage(), name).head, "the head depends on who reads."
    open_storage().rename(name, new)
    assert load_study(open_storage(), new).head == head, "the head changed with the name."


def check_a_lost_answer_is_not_written_twice(open_storage: OpenStorage) -> None:
    """A change whose answer is lost after it was written counts once."""
    storage, name = open_storage(), _name()
    study = create_study(_Losing(storage), name=name, options=["A", "B"], eps=0.5)
    assert study.tell(option="A", value=1.0, se=0.2).number == 1
    assert len(storage.read(name)) == 2, "what was written before its answer was lost is there twice."


class _Losing:
    """A store whose first answer is lost."""

    def __init__(self, storage: Storage) -> None:
        self._kept, self._lost = storage, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)

    @contextmanager
    def transaction(self, name: str) -> Iterator[Any]:
        with self._kept.transaction(name) as transaction:
            yield transaction
        if not self._lost:
            self._lost = True
            raise AnswerLostError("the answer was lost.")


def check_a_study_replays_to_the_same_answers(open_storage: OpenStorage) -> None:
    """A study read back asks and certifies as the one that wrote it."""
    name = _name()
    clock = itertools.count(1_763_251_200).__next__
    study = begin_study(open_storage(), name, clock, options=["A", "B", "C"], eps=0.5)
    for option, value in zip("ABCAB", (1.0, 3.1, 2.0, 1.2, 2.9), strict=True):
        study.tell(option=option, value=value, se=0.2, key=f"{option}{value}")
    (job,) = study.ask(by="worker σ")
    study.tell(job, 3.0, se=0.1, block="Tue")
    study.ask(2)  # for a new block
    study.ask(probe="difference", block="Wed σ")
    again = load_study(open_storage(), name, clock=clock)
    assert again.certificate().to_json() == study.certificate().to_json()
    assert again.pending == study.pending
    assert [job.option for job in again.ask(2, dry_run=True)] == [j.option for j in study.ask(2)]


#: All checks of a store, each a function of ``open_storage``.
STORAGE_CHECKS: tuple[Callable[[OpenStorage], None], ...] = (
    check_rows_are_kept_exactly,
    check_a_whole_log_is_taken_at_once,
    check_names_are_unique_and_ordered,
    check_unknown_names_are_refused,
    check_an_error_writes_nothing,
    check_studies_do_not_touch_each_other,
    check_renaming_keeps_everything,
    check_writers_at_once_lose_nothing,
    check_the_head_is_the_same_from_any_handle,
    check_a_lost_answer_is_not_written_twice,
    check_a_study_replays_to_the_same_answers,
)


def _name() -> str:
    return f"check {uuid.uuid4().hex[:12]}"


def _log(*records: bytes, ids: list[str] | None = None) -> list[Row]:
    """A log with these records."""
    rows: list[Row] = []
    for at, record in enumerate(records):
        rows.append(follow(rows[-1] if rows else None, ids[at] if ids else f"id {at}", record))
    return rows


def _append(storage: Storage, name: str, rows: list[Row]) -> None:
    with storage.transaction(name) as transaction:
        transaction.append(rows)


@contextmanager
def _refused(error: type[BaseException], what: str) -> Iterator[None]:
    try:
        yield
    except error:
        return
    except Exception as wrong:
        raise AssertionError(f"{what} must raise {error.__name__}, not {wrong!r}.") from wrong
    raise AssertionError(f"{what} must raise {error.__name__}.")
