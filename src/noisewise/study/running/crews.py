"""Threads, processes, an executor or tasks of an event loop that measure, and what they return."""

import contextlib
import functools
import inspect
import pickle
import queue
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from noisewise.core.checks import nearest
from noisewise.study.log.jobs import Job
from noisewise.study.log.told import Told

if TYPE_CHECKING:  # a worker with threads does without
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

THREADS, PROCESSES = "threads", "processes"
#: Seconds that workers have to end by themselves.
FAREWELL = 1.0
#: Seconds that a process has to start, which is not part of measuring.
TO_START = 120.0
Measure = Callable[[Job], Any]


#: What a function may say of its measurement: the job is known already, and its key is the run's own. With a
#: key that was told before nothing would be told, and the suggestion would stay open for ever.
FIELDS = tuple(
    name for name in ("value", *Told.__annotations__) if name not in ("option", "plus", "minus", "key")
)


class NoResultError(RuntimeError):
    """A measurement gave nothing, for a reason that is said in full: raised by a measuring function."""


def fields_of(job: Job, returned: Any) -> dict[str, Any]:
    """The arguments of `tell`; raises one sentence if what was returned cannot be a measurement.

    Args:
        job: What was measured.
        returned: A number, ``(value, se)``, the fields of `tell`, or values of the job's items by name.
    """
    if isinstance(returned, Mapping):
        if job.items and not set(returned) & set(FIELDS):
            return {"items": dict(returned)}
        for name in returned:
            if name not in FIELDS:
                hint = nearest(str(name), list(FIELDS))
                raise ValueError(
                    f"it said {name!r}, which is not a field of tell ({', '.join(FIELDS)}).{hint}"
                )
        if not returned:
            raise ValueError("it said nothing: say `value=`, and an error bar if there is one.")
        return dict(returned)
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise ValueError(f"it returned {len(returned)} numbers; a pair is (value, se).")
        return {"value": returned[0], "se": returned[1]}
    if returned is None:
        raise ValueError("it returned nothing: return a number, (value, se), or the fields of tell.")
    return {"value": returned}


class Finished(NamedTuple):
    """What became of one attempt at a measurement."""

    attempt: int
    returned: Any = None
    problem: str | None = None  # why it failed
    error: BaseException | None = None  # the exception itself, where there is one


class Crew(ABC):
    """Those who measure; each attempt has a number, and ends in the queue unless it is given up."""

    def __init__(self) -> None:
        self.finished: queue.SimpleQueue[Finished] = queue.SimpleQueue()
        self._began: dict[int, float] = {}

    @abstractmethod
    def start(self, attempt: int, job: Job) -> None:
        """Start an attempt to measure."""

    @abstractmethod
    def give_up(self, attempt: int) -> None:
        """Nobody waits for this attempt any longer; whoever makes it is free, or replaced."""

    @abstractmethod
    def close(self) -> None:
        """Send everybody home; what is still being measured is given up."""

    def began(self, attempt: int) -> float | None:
        """When an attempt began, by the monotonic clock; None if it waits for a worker."""
        return self._began.get(attempt)


class Threads(Crew):
    """Threads of this process; one that hangs is left alone, and another takes its place."""

    def __init__(self, measure: Measure, workers: int) -> None:
        super().__init__()
        self._measure = measure
        self._waiting: queue.SimpleQueue[tuple[int, Job] | None] = queue.SimpleQueue()
        self._given_up: set[int] = set()
        self._hired = 0
        for _ in range(workers):
            self._hire()

    def start(self, attempt: int, job: Job) -> None:
        """The next thread that is free takes it."""
        self._waiting.put((attempt, job))

    def give_up(self, attempt: int) -> None:
        """The thread goes on by itself, and ends when it is done."""
        self._given_up.add(attempt)
        if attempt in self._began:
            self._hire()

    def close(self) -> None:
        """Threads that are free end; the others, when they are done."""
        for _ in range(self._hired):
            self._waiting.put(None)

    def _hire(self) -> None:
        self._hired += 1
        threading.Thread(target=self._work, daemon=True, name=f"noisewise-run-{self._hired}").start()

    def _work(self) -> None:
        while (task := self._waiting.get()) is not None:
            attempt, job = task
            if attempt in self._given_up:
                continue
            done = self._attempt(attempt, job)
            if attempt in self._given_up:
                return  # another worker took this place
            self.finished.put(done)

    def _attempt(self, attempt: int, job: Job) -> Finished:
        self._began[attempt] = time.monotonic()
        try:
            return Finished(attempt, self._measure(job))
        except BaseException as error:  # whatever a person's function does, the run must hear of it
            return Finished(attempt, problem=in_words(error), error=error)


class Processes(Threads):
    """Processes, each looked after by a thread; one that hangs is ended, and another one begun."""

    def __init__(self, measure: Measure, workers: int) -> None:
        try:
            pickle.dumps(measure)
        except Exception as problem:
            raise TypeError(
                '`measure` must be a function at the top of a module for `on="processes"`, so that '
                "others can "
                f"import it; got {measure!r} ({problem})."
            ) from None
        import multiprocessing

        self._context = multiprocessing.get_context("spawn")
        self._children: dict[int, tuple[Any, Connection]] = {}  # by thread
        self._by_attempt: dict[int, Any] = {}
        super().__init__(measure, workers)

    def give_up(self, attempt: int) -> None:
        """Its process is ended; the thread begins another one."""
        self._given_up.add(attempt)
        if (child := self._by_attempt.get(attempt)) is not None:
            child.kill()
            self._hire()

    def close(self) -> None:
        """All processes are ended."""
        super().close()
        children = [child for child, _ in list(self._children.values())]
        for child in children:
            child.kill()
        for child in children:
            child.join(FAREWELL)  # or it stays in the list of processes, as a zombie

    def _attempt(self, attempt: int, job: Job) -> Finished:
        child, pipe = self._child()
        self._by_attempt[attempt] = child
        try:
            pipe.send(job)
            if not pipe.poll(TO_START):
                child.kill()
            pipe.recv()  # it has started: only from here on its time counts
            self._began[attempt] = time.monotonic()
            fine, said = pipe.recv()
        except (EOFError, OSError):
            child.join(FAREWELL)
            self._children.pop(threading.get_ident(), None)
            return Finished(attempt, problem=f"its process ended (exit code {child.exitcode})")
        finally:
            self._by_attempt.pop(attempt, None)
        return Finished(attempt, said) if fine else Finished(attempt, problem=said)

    def _child(self) -> "tuple[Any, Connection]":
        me = threading.get_ident()
        if me not in self._children or not self._children[me][0].is_alive():
            here, there = self._context.Pipe()
            child = self._context.Process(target=_serve, args=(there, self._measure), daemon=True)
            child.start()
            there.close()
            self._children[me] = child, here
        return self._children[me]


def _serve(pipe: "Connection", measure: Measure) -> None:
    """In a process of its own: measure whatever comes, until nothing comes any more."""
    while True:
        try:
            job = pipe.recv()
            pipe.send(None)
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            answer: tuple[bool, Any] = True, measure(job)
            pickle.dumps(answer)
        except KeyboardInterrupt:
            return
        except BaseException as error:
            answer = False, in_words(error)
        pipe.send(answer)


class Futures(Crew):
    """Whatever makes futures: an executor, or an event loop."""

    def __init__(self, submit: Callable[[Job], "Future[Any]"], close: Callable[[], None]) -> None:
        super().__init__()
        self._submit, self._close = submit, close
        self._futures: dict[int, Future[Any]] = {}

    def start(self, attempt: int, job: Job) -> None:
        """Submit it."""
        future = self._futures[attempt] = self._submit(job)
        self._began[attempt] = time.monotonic()
        future.add_done_callback(lambda done: self._done(attempt, done))

    def give_up(self, attempt: int) -> None:
        """Cancel it, if that is possible."""
        if (future := self._futures.pop(attempt, None)) is not None:
            future.cancel()

    def close(self) -> None:
        """Cancel all; an executor that was passed in stays open."""
        for attempt in list(self._futures):
            self.give_up(attempt)
        self._close()

    def _done(self, attempt: int, future: "Future[Any]") -> None:
        if self._futures.pop(attempt, None) is None:
            return
        try:
            self.finished.put(Finished(attempt, future.result()))
        except BaseException as error:  # SystemExit too: the run must hear of it
            self.finished.put(Finished(attempt, problem=in_words(error), error=error))


def crew_of(measure: Any, workers: int, on: Any) -> Crew:
    """Who measures.

    Args:
        measure: The function, or a coroutine function.
        workers: How many at a time.
        on: None or ``"threads"``, ``"processes"``, an executor, or a Dask cluster.
    """
    if not callable(measure):
        raise TypeError(f"`measure` must be a function of a job; got {type(measure).__name__}.")
    if inspect.iscoroutinefunction(measure) or inspect.iscoroutinefunction(type(measure).__call__):
        if on is not None:
            raise ValueError("`on` must be left out for an async `measure`: it runs in an event loop.")
        return _tasks(measure)
    if on is None or on == THREADS:
        return Threads(measure, workers)
    if on == PROCESSES:
        return Processes(measure, workers)
    from noisewise.core.parallel import executor_on

    if isinstance(on, int) or (isinstance(on, str) and ":" not in on and not Path(on).is_file()):
        raise ValueError(
            f'`on` must be "{THREADS}", "{PROCESSES}", an executor, a Dask client, or the address or file of '
            f"its scheduler; got {on!r}."
        )
    opened = contextlib.ExitStack()
    executor = opened.enter_context(executor_on(on))
    return Futures(functools.partial(executor.submit, measure), opened.close)


def _tasks(measure: Any) -> Crew:
    """Tasks of an event loop in a thread of its own."""
    import asyncio

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True, name="noisewise-run-loop")
    thread.start()

    def close() -> None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(FAREWELL)
        if not thread.is_alive():
            loop.close()

    async def attempt(job: Job) -> Any:
        try:
            return await measure(job)
        except (
            KeyboardInterrupt,
            SystemExit,
        ) as error:  # these would end the loop, and the error would be lost
            raise NoResultError(in_words(error)) from error

    return Futures(lambda job: asyncio.run_coroutine_threadsafe(attempt(job), loop), close)


def in_words(error: BaseException) -> str:
    """An exception in one line, with the place it comes from."""
    try:
        said = " ".join(str(error).split()) or "no message"
    except Exception:  # an exception whose own words fail
        said = "no message"
    if isinstance(error, NoResultError):
        return said
    if type(error).__name__ == "KilledWorker":  # of Dask, which is not loaded for its name
        return "every worker that measured it died"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (line {frames[-1].lineno} of {frames[-1].name})" if len(frames) > 1 else ""
    return f"{type(error).__name__}: {said}{where}"
