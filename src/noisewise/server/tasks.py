"""Things that take long, each computed by a process of its own, which can be cancelled."""

import asyncio
import json
import logging
import os
import secrets
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool

from noisewise.core.remarks import heard_progress
from noisewise.core.text import printable
from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError
from noisewise.server.worker import REFUSED as REASONS
from noisewise.server.worker import VERIFY, compute, refusal_of, verdict_on
from noisewise.study.stores.address import MEMORY
from noisewise.study.study import Study

LOG = logging.getLogger("noisewise.server")
#: How many are computed at a time, wait, and are kept; and the seconds that one may take.
AT_ONCE, MOST_WAITING, MOST_KEPT, SECONDS = 2, 32, 64, 900.0
#: Tasks under way of one token.
MOST_OF_ONE = 4
#: Tasks with a queue of their own: reports do not wait for plans.
REPORT = "report"
WAITING, RUNNING, DONE, REFUSED, CANCELLED = "waiting", "running", "done", "refused", "cancelled"
ENDED = (DONE, REFUSED, CANCELLED)
#: Of one answer, in bytes.
MOST_BYTES = 256 * 2**20


class LongTask:
    """One of them: what it is, how far it is, and what came of it."""

    def __init__(self, kind: str, study: str, arguments: dict[str, Any], token: str | None) -> None:
        self.id = secrets.token_urlsafe(12)
        self.kind, self.study, self.arguments, self.token = kind, study, arguments, token
        self.state = WAITING
        self.result: Any = None
        self.event: int | None = None
        self.progress: dict[str, Any] | None = None
        self.refusal: str | None = None
        self.problem: dict[str, Any] = {}  # the same as data
        self.began = time.monotonic()
        self.ended: float | None = None
        self.over = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self.waiting = 0  # requests that wait for it
        self.by_request = False  # whether it was begun by such a request, and ends with the last of them
        self.runner: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Its turn has come."""
        self.state = RUNNING
        self._tell()

    def note(self, progress: dict[str, Any]) -> None:
        """It is so far."""
        self.progress = progress
        self._tell()

    def end(self, state: str) -> None:
        """It is over."""
        if self.state not in ENDED:
            self.state, self.ended = state, time.monotonic()
            self.over.set()
            self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def ends_within(self, seconds: float) -> bool:
        """Wait for its end, at most so long; whether it has come."""
        with suppress(TimeoutError):
            return await asyncio.wait_for(self.over.wait(), seconds)
        return False

    async def news(self, seconds: float) -> bool:
        """Wait until there is something new, at most so long; whether there is."""
        with suppress(TimeoutError):
            return await asyncio.wait_for(self._news.wait(), seconds)
        return False

    def to_plain(self) -> dict[str, Any]:
        """For programs."""
        now = time.monotonic() if self.ended is None else self.ended
        return {
            "id": self.id,
            "kind": self.kind,
            "study": self.study,
            "state": self.state,
            "seconds": round(now - self.began, 3),
            "progress": None if self.state in ENDED else self.progress,
            "event": self.event,
            "refusal": self.refusal,
            "result": self.result,
        }


class LongTasks:
    """All of them. Used from the event loop only."""

    def __init__(self, studies: OpenStudies) -> None:
        self._studies = studies
        self._turns = {lane: asyncio.Semaphore(AT_ONCE) for lane in (True, False)}  # reports, others
        self._tasks: OrderedDict[str, LongTask] = OrderedDict()
        self._kept: OrderedDict[str, LongTask] = OrderedDict()  # results by what was asked for

    @property
    def starts_processes(self) -> bool:
        """Whether a task begins with the start of a process: then none ends within a moment."""
        place = self._studies.place
        return isinstance(place, str | os.PathLike) and str(place) != MEMORY

    def all(self) -> list[LongTask]:
        """Those that are under way, and those that are remembered."""
        return list(self._tasks.values())

    def find(self, id: str) -> LongTask:
        """A task that was begun here."""
        if id not in self._tasks:
            raise ProblemError(404, "there is no such task; those that ended long ago are forgotten.")
        return self._tasks[id]

    def begin(
        self,
        kind: str,
        study: str,
        number: int,
        arguments: dict[str, Any],
        token: str | None,
        *,
        shared: bool = False,
        afresh: bool = False,
    ) -> LongTask:
        """Begin to compute, or find what was computed of the same version of the study.

        Args:
            kind: "plan", "worth", "report" or "verify".
            study: The study's name.
            number: Its version.
            arguments: Of the study's method.
            token: Who asks.
            shared: Whether the same that is under way will do; whoever waits for it may cancel it for all.
            afresh: Whether what was computed before will not do.
        """
        asked = json.dumps([kind, study, number, arguments], sort_keys=True)
        kept = None if afresh else self._kept.get(asked)
        if kept is not None and (kept.state == DONE and kept.event == number):
            self._kept.move_to_end(asked)
            return kept
        if kept is not None and shared and kept.state not in ENDED and kept.token == token:
            return kept
        lane = [
            task
            for task in self._tasks.values()
            if task.state not in ENDED and (task.kind == REPORT) == (kind == REPORT)
        ]
        own = sum(task.token == token for task in lane)
        if token is not None and own >= MOST_OF_ONE:
            raise ProblemError(
                429,
                f"{own} {'reports' if kind == REPORT else 'plans'} of yours are being computed; wait for "
                "one, or cancel it.",
                headers={"Retry-After": "10"},
            )
        if len(lane) >= AT_ONCE + MOST_WAITING:
            raise ProblemError(
                429,
                "too many plans and reports are being computed; try again.",
                headers={"Retry-After": "10"},
            )
        task = LongTask(kind, study, arguments, token)
        self._tasks[task.id] = self._kept[asked] = task
        for kept_ones in (self._tasks, self._kept):
            while len(kept_ones) > MOST_KEPT and next(iter(kept_ones.values())).state in ENDED:
                kept_ones.popitem(last=False)
        task.runner = asyncio.create_task(self._run(task))
        return task

    async def cancel(self, task: LongTask) -> None:
        """Stop it; what it computed is lost."""
        if task.runner is not None and task.state not in ENDED:
            task.runner.cancel()
            await asyncio.wait([task.runner])
        task.end(CANCELLED)

    async def close(self) -> None:
        """Stop all."""
        for task in list(self._tasks.values()):
            await self.cancel(task)

    async def _run(self, task: LongTask) -> None:
        try:
            async with self._turns[task.kind == REPORT]:
                task.begin()
                found = await asyncio.wait_for(self._answer(task), SECONDS)
            if "refusal" in found:
                task.refusal = found.pop("refusal")
                task.problem = found.pop("problem", {})
                task.end(REFUSED)
            else:
                task.result, task.event = found["result"], found["event"]
                task.end(DONE)
        except TimeoutError:
            task.refusal = f"it took longer than {SECONDS:g} s, and was stopped."
            task.end(REFUSED)
        except (ValueError, OSError) as problem:  # the worker could not be started, or said nonsense
            LOG.error("a %s could not be computed: %s", task.kind, printable(problem))
            task.refusal = "a fault of the server; its log has the details."
            task.end(REFUSED)
        finally:
            task.end(CANCELLED)

    async def _answer(self, task: LongTask) -> dict[str, Any]:
        if not self.starts_processes:
            return await run_in_threadpool(self._in_thread, task)
        asked = {
            "store": os.fspath(self._studies.place),
            "study": task.study,
            "kind": task.kind,
            "arguments": task.arguments,
        }
        # The address may hold a password, and everybody on the machine can see arguments.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "noisewise.server.worker",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=MOST_BYTES,
            env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            await process.stdin.drain()
            while line := await process.stdout.readline():
                found: dict[str, Any] = json.loads(line)
                if "doing" not in found:
                    return found
                task.note(found)
            return {"refusal": "the worker ended without an answer; the server's log may say why."}
        finally:
            if process.returncode is None:
                process.kill()
            process.stdin.close()
            await process.wait()

    def _in_thread(self, task: LongTask) -> dict[str, Any]:
        """For a store that no other process can open: it cannot be stopped, only left alone."""
        if task.kind == VERIFY:
            return {"result": verdict_on(self._studies.storage, task.study), "event": None}
        study, loop = Study(self._studies.storage, task.study), task.loop

        def watch(doing: str, done: int, of: int) -> None:
            loop.call_soon_threadsafe(task.note, {"doing": doing, "done": done, "of": of})

        try:
            with heard_progress(watch):
                found = compute(study, task.kind, dict(task.arguments))
            return {"result": found, "event": study.n_events}
        except REASONS as problem:
            return refusal_of(problem)
