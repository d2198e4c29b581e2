"""`check_storage`: everything that a study relies on when it keeps its log in a store.

A store of your own is fit for studies if it passes. Each check raises AssertionError with a sentence.
"""

import itertools
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from noisewise.study import create_study, load_study
from noisewise.study.stores.protocol import Event, LogMovedOnError, Storage, page_of

#: Opens one more handle to the store under test; all handles see the same studies.
OpenStorage = Callable[[], Storage]
#: Floats, texts and shapes that stores like to spoil.
HARD = {
    "floats": [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 1.0],
    "whole": 2**53 + 1,
    "texts": ["", "σ ± 日本 🧪", "a\x00b", "line\nbreak", "'); DROP TABLE studies; --", "%s ? :name"],
    "nested": {"empty": {}, "nothing": None, "flags": [True, False]},
}
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


def check_a_study_is_kept_exactly(open_storage: OpenStorage) -> None:
    """Specifications and events come back as they were, through another handle."""
    storage, name = open_storage(), _name()
    storage.create(name, HARD)
    events = [Event(1, 1763251200.123456, "tell", HARD), Event(2, 0.1, "ask", {})]
    storage.append(name, 0, events)
    again = open_storage()
    assert _same(again.specification(name), HARD), "a specification came back changed."
    assert _plain(again.read(name)) == events, "events came back changed."
    assert _same(again.read(name)[0].body, HARD), "the body of an event came back changed."
    assert _plain(again.read(name, after=1)) == events[1:], "reading on must begin after the given number."
    assert again.read(name, after=2) == [], "there is nothing after the last event."


def check_pages_are_parts_of_the_log(open_storage: OpenStorage) -> None:
    """A page is what reading on begins with, whatever the handle has seen before; others may write on."""
    storage, name = open_storage(), _name()
    storage.create(name, {})
    assert page_of(storage, name, 0, 3) == [], "an empty log has no pages."
    storage.append(name, 0, _events(0, 10))
    again = open_storage()
    for after in (0, 3, 7, 9, 10, 2):
        for most in (1, 3, 100):
            wanted = open_storage().read(name, after)[:most]
            found = page_of(again, name, after, most)
            assert found == wanted, f"{most} events after {after} came back as {len(found)} others."
    storage.append(name, 10, _events(10, 2))
    assert [event.number for event in page_of(again, name, 8, 3)] == [9, 10, 11], "a page must go on."


def check_what_is_handed_in_may_change_afterwards(open_storage: OpenStorage) -> None:
    """The store keeps what was appended, not the caller's objects."""
    storage, name = open_storage(), _name()
    specification: dict[str, Any] = {"list": [1]}
    body: dict[str, Any] = {"list": [1]}
    storage.create(name, specification)
    storage.append(name, 0, [Event(1, 0.0, "tell", body)])
    specification["list"].append(2)
    body["list"].append(2)
    assert storage.specification(name) == {"list": [1]}, "a specification changed with the caller's."
    assert storage.read(name)[0].body == {"list": [1]}, "an event changed with the caller's."


def check_names_are_unique_and_ordered(open_storage: OpenStorage) -> None:
    """A name that is taken is refused; names come in the order of creation."""
    storage, names = open_storage(), [_name() for _ in range(3)]
    for name in names:
        storage.create(name, {"of": name})
    with _refused(ValueError, "creating a study twice"):
        open_storage().create(names[0], {"of": "another"})
    assert storage.specification(names[0]) == {"of": names[0]}, "a refused creation changed a study."
    assert [name for name in storage.names() if name in names] == names, "names must come oldest first."


def check_unknown_names_are_refused(open_storage: OpenStorage) -> None:
    """Nothing is read from, written to or renamed under a name that was not created."""
    storage, name = open_storage(), _name()
    attempts: list[Callable[[], object]] = [
        lambda: storage.specification(name),
        lambda: storage.read(name),
        lambda: storage.append(name, 0, _events(0, 1)),
        lambda: storage.rename(name, _name()),
    ]
    for attempt in attempts:
        with _refused(KeyError, "an unknown name"):
            attempt()
    assert name not in storage.names()


def check_appending_at_a_taken_place_is_refused(open_storage: OpenStorage) -> None:
    """Only who knows the end of the log may append, and a refused append leaves nothing."""
    storage, other, name = open_storage(), open_storage(), _name()
    storage.create(name, {})
    storage.append(name, 0, _events(0, 3))
    for after in (0, 2, 4):
        with _refused(LogMovedOnError, f"appending after {after} of 3"):
            other.append(name, after, _events(after, 2))
    assert len(storage.read(name)) == 3, "a refused append left something."
    other.append(name, 3, _events(3, 2))
    assert [event.number for event in storage.read(name)] == [1, 2, 3, 4, 5]


def check_appending_is_all_or_nothing(open_storage: OpenStorage) -> None:
    """One bad event, and none of them is kept."""
    storage, name = open_storage(), _name()
    storage.create(name, {})
    good, bad = Event(1, 0.0, "tell", {"value": 1.0}), Event(2, 0.0, "tell", {"value": float("nan")})
    gap = Event(3, 0.0, "tell", {})
    for events in ([good, bad], [good, gap], [gap]):
        with _refused(ValueError, "an event that is not plain JSON or out of order"):
            storage.append(name, 0, events)
        assert storage.read(name) == [], "a part of a refused append was kept."
    storage.append(name, 0, [])
    assert storage.read(name) == []


def check_studies_do_not_touch_each_other(open_storage: OpenStorage) -> None:
    """Each study has a log of its own."""
    storage, one, other = open_storage(), _name(), _name()
    storage.create(one, {})
    storage.create(other, {})
    storage.append(one, 0, _events(0, 3))
    storage.append(other, 0, _events(0, 1))
    assert (len(storage.read(one)), len(storage.read(other))) == (3, 1)


def check_renaming_keeps_everything(open_storage: OpenStorage) -> None:
    """A renamed study has its log under the new name alone; taken names are refused."""
    storage, old, new, taken = open_storage(), _name(), _name(), _name()
    storage.create(old, {"kept": True})
    storage.append(old, 0, _events(0, 2))
    storage.create(taken, {})
    with _refused(ValueError, "renaming to a taken name"):
        storage.rename(old, taken)
    storage.rename(old, new)
    assert storage.specification(new) == {"kept": True}
    assert _plain(storage.read(new)) == _events(0, 2)
    assert old not in open_storage().names()
    with _refused(KeyError, "the old name"):
        open_storage().specification(old)
    storage.append(new, 2, _events(2, 1))
    storage.create(old, {})
    assert storage.read(old) == [], "a new study under an old name has the old one's events."


def check_writers_at_once_lose_nothing(open_storage: OpenStorage) -> None:
    """Many writers, each reading on and trying again when others were faster: every event is there once."""
    name = _name()
    open_storage().create(name, {})
    problems: list[BaseException] = []

    def write(who: int) -> None:
        try:
            storage = open_storage()
            for what in range(EACH):
                while True:
                    end = len(storage.read(name))
                    try:
                        storage.append(name, end, [Event(end + 1, 0.0, "tell", {"who": who, "what": what})])
                        break
                    except LogMovedOnError:
                        continue
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, f"a writer failed: {problems[0]!r}"
    events = open_storage().read(name)
    assert [event.number for event in events] == list(range(1, WRITERS * EACH + 1))
    for who in range(WRITERS):
        told = [event.body["what"] for event in events if event.body["who"] == who]
        assert told == list(range(EACH)), f"writer {who} wrote {EACH} events in order; the log has {told}."


def check_the_chain_is_the_same_from_any_handle(open_storage: OpenStorage) -> None:
    """Ids of appends and hashes: every reader of the log comes to the same head, also after a rename."""
    name, new = _name(), _name()
    study = create_study(open_storage(), name=name, options=["A", "B"], eps=0.5)
    for value in (1.0, 2.0):
        study.tell(option="A", value=value, se=0.2)
    head, hashes = study.head, [event.hash for event in study.events()]
    assert hashes[-1] == head == load_study(open_storage(), name).head, "the head depends on who reads."
    storage = open_storage()
    kept = [event.hash for event in storage.read(name) if event.hash]
    assert kept in ([], hashes), "a store that keeps hashes must keep them as they were."
    storage.rename(name, new)
    assert load_study(open_storage(), new).head == head, "the head changed with the name."


def check_a_lost_answer_is_not_written_twice(open_storage: OpenStorage) -> None:
    """The same call again, after one that failed when it was written already, finds it in the log."""
    storage, name = open_storage(), _name()
    study = create_study(storage, name=name, options=["A", "B"], eps=0.5)
    study._storage = _Losing(storage)
    with _refused(ConnectionError, "a lost answer"):
        study.tell(option="A", value=1.0, se=0.2)
    told = study.tell(option="A", value=1.0, se=0.2)
    assert told.number == 1
    assert len(storage.read(name)) == 1, "what was written before its answer was lost is there twice."


class _Losing:
    """A store whose first answer is lost."""

    def __init__(self, storage: Storage) -> None:
        self._kept, self._lost = storage, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)

    def append(self, name: str, after: int, events: list[Event]) -> Any:
        kept = self._kept.append(name, after, events)
        if not self._lost:
            self._lost = True
            raise ConnectionError("the answer was lost.")
        return kept


def check_a_study_replays_to_the_same_answers(open_storage: OpenStorage) -> None:
    """A study read back asks and certifies as the one that wrote it."""
    name = _name()
    clock = itertools.count(1_763_251_200).__next__
    study = create_study(open_storage(), name=name, options=["A", "B", "C"], eps=0.5, clock=clock)
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
    check_a_study_is_kept_exactly,
    check_pages_are_parts_of_the_log,
    check_what_is_handed_in_may_change_afterwards,
    check_names_are_unique_and_ordered,
    check_unknown_names_are_refused,
    check_appending_at_a_taken_place_is_refused,
    check_appending_is_all_or_nothing,
    check_studies_do_not_touch_each_other,
    check_renaming_keeps_everything,
    check_writers_at_once_lose_nothing,
    check_the_chain_is_the_same_from_any_handle,
    check_a_lost_answer_is_not_written_twice,
    check_a_study_replays_to_the_same_answers,
)


def _name() -> str:
    return f"check {uuid.uuid4().hex[:12]}"


def _events(after: int, count: int) -> list[Event]:
    return [Event(after + i, float(i), "tell", {"n": after + i}) for i in range(1, count + 1)]


def _plain(events: list[Event]) -> list[Event]:
    # Ids and hashes are what a store may keep besides.
    return [Event(event.number, event.at, event.kind, event.body) for event in events]


def _same(one: Any, other: Any) -> bool:
    # repr tells 1 from 1.0 and from True, and 0.0 from -0.0.
    return repr(one) == repr(other)


@contextmanager
def _refused(error: type[Exception], what: str) -> Iterator[None]:
    try:
        yield
    except error:
        return
    except Exception as wrong:
        raise AssertionError(f"{what} must raise {error.__name__}, not {wrong!r}.") from wrong
    raise AssertionError(f"{what} must raise {error.__name__}.")
