"""Several workers in one seeded simulation: clock, scheduling and faults at every call of the store.

Each worker's calls are recorded with how they ended; at the end a checker compares this history with the log:
what was acknowledged is there once, what was refused is not there, and nothing is there twice.
"""

import random
import sqlite3
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psycopg
import pytest
from tests.support.effort import effort
from tests.support.studies_in_time import study_at

import noisewise as nw
from noisewise.study.log import log
from noisewise.study.log.events import encode, events_of
from noisewise.study.stores import postgres as postgres_store
from noisewise.study.stores import sqlite as sqlite_store
from noisewise.study.stores.protocol import AnswerLostError, follow

WORKERS, STEPS = 4, 120


class Killed(BaseException):
    """The end of a process, in the middle of whatever it did."""


class RefusedError(ConnectionError):
    """An error before anything was sent."""


@dataclass
class World:
    """What is left to chance, and what happened."""

    seed: int
    rate: float = 0.25
    now: float = 1.8e9
    depth: int = 0
    acknowledged: list = field(default_factory=list)  # (worker, value), in the order of the answers
    refused: set = field(default_factory=set)
    unknown: set = field(default_factory=set)
    jobs: list = field(default_factory=list)
    faults: dict = field(default_factory=dict)

    def __post_init__(self):
        self.chance, self.workers, self.told = random.Random(self.seed), [], 0

    def clock(self):
        """Time passes, now and then backwards, as clocks of machines do."""
        self.now += self.chance.choice([0.0, 0.5, 3.0, 3600.0, -0.2])
        return self.now

    def fault(self, *kinds):
        kind = self.chance.choice(kinds) if self.chance.random() < self.rate else None
        if kind:
            self.faults[kind] = self.faults.get(kind, 0) + 1
        return kind

    def others(self):
        """Somebody else may be faster, between any two calls of the store."""
        if self.depth < 2 and self.chance.random() < 0.3:
            self.step()

    def step(self):
        free = [place for place, worker in enumerate(self.workers) if not worker.busy]
        if not free:
            return
        place, self.depth = self.chance.choice(free), self.depth + 1
        worker = self.workers[place]
        worker.busy = True
        try:
            worker.work()
            worker.busy = False
        except Killed:
            self.workers[place] = worker.successor()
        self.depth -= 1


class Faulty:
    """A store whose calls may fail before, after, or with the process."""

    def __init__(self, inner, world):
        self._inner, self._world = inner, world

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def read(self, name, first=0, last=None):
        self._world.others()
        kind = self._world.fault("read fails", "killed at read") if self._world.depth else None
        if kind:
            raise Killed if "killed" in kind else RefusedError("lost before reading")
        return self._inner.read(name, first, last)

    @contextmanager
    def transaction(self, name):
        self._world.others()
        kind = self._world.fault("fails before", "answer lost", "killed before", "killed after")
        with self._inner.transaction(name) as transaction:
            yield transaction
            if kind in ("fails before", "killed before"):
                raise Killed if "killed" in kind else RefusedError("lost before writing. Nothing was written")
        if kind:
            raise Killed if "killed" in kind else AnswerLostError("lost after writing")


class Worker:
    """A process with a study of its own: it asks, tells, and repeats what may not have arrived."""

    def __init__(self, number, world, open_storage, name):
        self._number, self._world, self._open, self._name = number, world, open_storage, name
        self._study, self._again, self.busy = None, None, False

    def successor(self):
        """A new process: it does not know what the old one was about to say."""
        if self._study is not None:
            self._study._log.storage.close()  # as the system does for the dead
        if self._again is not None:
            self._world.unknown.add(self._again)
            self._world.refused.discard(self._again)
        return Worker(self._number, self._world, self._open, self._name)

    def work(self):
        world = self._world
        value, self._again = self._again, None
        if value is None and world.chance.random() < 0.3:
            return self._ask()
        if value is None:
            world.told += 1
            value = float(world.told)
        self._again = value  # if the process ends here, nobody knows
        try:
            self._opened().tell(option="A", value=value, se=0.1)
            world.acknowledged.append((self._number, value))
            world.refused.discard(value)
            self._again = None
        except nw.OutcomeUnknownError:
            # The same call again, the next time this worker works; the order of its calls stays.
            world.refused.discard(value)
            world.unknown.add(value)
        except OSError:
            again = world.chance.random() < 0.5
            self._again = value if again else None
            if value not in world.unknown:  # what was unknown stays so
                world.refused.add(value)
        return None

    def _ask(self):
        with suppress(OSError):
            self._world.jobs += [job.id for job in self._opened().ask()]

    def _opened(self):
        if self._study is None:
            storage = Faulty(self._open(), self._world)
            self._study = nw.Study(storage, self._name, self._world.clock)
        return self._study


def check_history(world, log):
    """What is wrong with a log after this history, in sentences."""
    values = [event.body["value"] for event in log if event.kind == "tell"]
    acknowledged = [value for _, value in world.acknowledged]
    problems = [f"{value} was acknowledged and is missing" for value in set(acknowledged) - set(values)]
    problems += [
        f"{value} is there {values.count(value)} times" for value in set(values) if values.count(value) > 1
    ]
    problems += [f"{value} was refused and is there" for value in world.refused & set(values)]
    known = set(acknowledged) | world.refused | world.unknown
    problems += [f"{value} came from nowhere" for value in set(values) - known]
    for worker in range(WORKERS):
        mine = [value for who, value in world.acknowledged if who == worker]
        there = [value for value in values if value in set(mine)]
        if sorted(mine) == sorted(there) and mine != there:
            problems.append(f"what worker {worker} told is in another order")
    if len(set(world.jobs)) != len(world.jobs):
        problems.append("a suggestion was given twice")
    return problems


def simulate(seed, open_storage, name):
    """All workers for a while, then what they left."""
    world = World(seed)
    study_at(world.clock, open_storage(), name=name, options=["A", "B", "C"], eps=0.5)
    world.workers = [Worker(number, world, open_storage, name) for number in range(WORKERS)]
    for _ in range(STEPS):
        world.step()
    for worker in world.workers:  # who was about to repeat something never does
        worker.successor()
    return world


@pytest.fixture
def commits_fail(monkeypatch):
    """Faults below: at the commit itself."""

    def arm(world):
        for module in (sqlite_store, postgres_store):
            monkeypatch.setattr(module, "send_commit", failing(world, module.send_commit))

    return arm


def failing(world, real):
    def send(connection):
        sqlite = isinstance(connection, sqlite3.Connection)
        kind = world.fault("commit lost", "disk error", "disk full")
        real(connection) if kind in (None, "commit lost") else connection.execute("ROLLBACK")
        if kind and sqlite:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL if kind == "disk full" else sqlite3.SQLITE_IOERR
            raise error
        if kind:
            raise psycopg.errors.DiskFull("full") if kind == "disk full" else psycopg.OperationalError("lost")

    return send


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Nobody waits between two tries."""
    monkeypatch.setattr(log, "PAUSE", 0.0)
    monkeypatch.setattr(log, "ASKING", 0.02)


@pytest.mark.parametrize("seed", range(effort(1, 6)))
def test_nothing_acknowledged_is_missing_or_doubled(open_storage, seed):
    name = f"history {seed} {uuid.uuid4().hex}"
    world = simulate(seed, open_storage, name)
    problems = check_history(world, events_of(open_storage(), name))
    assert problems == []
    assert len(world.acknowledged) > 15
    assert len(world.faults) == 6, world.faults
    study = nw.load_study(open_storage(), name)
    assert study.certificate().to_json() == nw.load_study(open_storage(), name).certificate().to_json()


@pytest.mark.parametrize("seed", range(effort(1, 3)))
def test_the_same_with_commits_that_fail(open_database, seed, monkeypatch, commits_fail):
    name = f"commits {seed} {uuid.uuid4().hex}"
    real = World.__post_init__

    def begin(world):
        real(world)
        world.rate = 0.12
        commits_fail(world)

    with monkeypatch.context() as patched:
        patched.setattr(World, "__post_init__", begin)
        world = simulate(seed, open_database, name)
    assert check_history(world, events_of(open_database(), name)) == []
    assert {"commit lost", "disk error"} <= set(world.faults)


class Doubling(nw.MemoryStorage):
    """Writes some changes twice."""

    @contextmanager
    def transaction(self, name):
        with super().transaction(name) as transaction:
            yield transaction
            (row,) = transaction.added
            if row.number % 5 == 4:
                transaction.append([follow(row, row.id, row.record)])


class Forgetting(nw.MemoryStorage):
    """Loses an event now and then."""

    @contextmanager
    def transaction(self, name):
        with super().transaction(name) as transaction:
            yield transaction
            (row,) = transaction.added
            if row.number % 7 == 6:
                lost = {"kind": "exclude", "at": 0.0, "body": {"option": "B"}}
                transaction.added[:] = [follow(transaction.read(0)[-1], row.id, encode(lost))]


@pytest.mark.parametrize("store", [Doubling(), Forgetting()], ids=lambda store: type(store).__name__)
def test_the_checker_notices(store):
    world = World(0)
    name = "noticed"
    nw.create_study(store, name=name, options=["A", "B"], eps=0.5)
    study = nw.load_study(store, name)
    for value in range(20):
        try:
            study.tell(option="A", value=float(value), se=0.1)
        except (nw.DamagedError, nw.StoreChangedError):
            study = nw.load_study(store, name)
        world.acknowledged.append((0, float(value)))
    assert check_history(world, events_of(store, name))
