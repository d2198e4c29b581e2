"""Things that take long, each computed by a process of its own, which can be cancelled."""

import asyncio
import json
import os
import secrets
import sys
import time
from collections import OrderedDict
from typing import Any

from starlette.concurrency import run_in_threadpool

from noisewise.study.stores.address import MEMORY
from noisewise.study.study import Study
from noisewise.web.open_studies import OpenStudies
from noisewise.web.problems import ProblemError
from noisewise.web.worker import compute

#: How many are computed at a time, wait, and are kept; and the seconds that one may take.
AT_ONCE, MOST_WAITING, MOST_KEPT, SECONDS = 2, 32, 64, 900.0
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
        self.refusal: str | None = None
        self.began = time.monotonic()
        self.ended: float | None = None
        self.over = asyncio.Event()
        self.waiting = 0  # requests that wait for it
        self.runner: asyncio.Task[None] | None = None

    def end(self, state: str) -> None:
        """It is over."""
        if self.state not in ENDED:
            self.state, self.ended = state, time.monotonic()
            self.over.set()

    def to_plain(self) -> dict[str, Any]:
        """For programs."""
        now = time.monotonic() if self.ended is None else self.ended
        return {
            "id": self.id,
            "kind": self.kind,
            "study": self.study,
            "state": self.state,
            "seconds": round(now - self.began, 3),
            "event": self.event,
            "refusal": self.refusal,
            "result": self.result,
        }


class LongTasks:
    """All of them. Used from the event loop only."""

    def __init__(self, studies: OpenStudies) -> None:
        self._studies = studies
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._tasks: OrderedDict[str, LongTask] = OrderedDict()
        self._kept: OrderedDict[str, LongTask] = OrderedDict()  # results by what was asked for

    def find(self, id: str) -> LongTask:
        """A task that was begun here."""
        if id not in self._tasks:
            raise ProblemError(404, "there is no such task; those that ended long ago are forgotten.")
        return self._tasks[id]

    def begin(
        self, kind: str, study: str, number: int, arguments: dict[str, Any], token: str | None
    ) -> LongTask:
        """Begin to compute, or find what was computed of the same version of the study.

        Args:
            kind: "plan", "worth" or "report".
            study: The study's name.
            number: Its version.
            arguments: Of the study's method.
            token: Who asks.
        """
        asked = json.dumps([kind, study, number, arguments], sort_keys=True)
        kept = self._kept.get(asked)
        if kept is not None and (kept.state == DONE and kept.event == number):
            self._kept.move_to_end(asked)
            return kept
        under_way = [task for task in self._tasks.values() if task.state not in ENDED]
        if len(under_way) >= AT_ONCE + MOST_WAITING:
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
            async with self._turns:
                task.state = RUNNING
                found = await asyncio.wait_for(self._answer(task), SECONDS)
            if "refusal" in found:
                task.refusal = found["refusal"]
                task.end(REFUSED)
            else:
                task.result, task.event = found["result"], found["event"]
                task.end(DONE)
        except TimeoutError:
            task.refusal = f"it took longer than {SECONDS:g} s, and was stopped."
            task.end(REFUSED)
        finally:
            task.end(CANCELLED)

    async def _answer(self, task: LongTask) -> dict[str, Any]:
        if not isinstance(self._studies.place, str | os.PathLike) or str(self._studies.place) == MEMORY:
            return await run_in_threadpool(self._in_thread, task)
        asked = {
            "store": os.fspath(self._studies.place),
            "study": task.study,
            "kind": task.kind,
            "arguments": task.arguments,
        }
        # The address may hold a password, and everybody on the machine can see arguments.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "noisewise.web.worker",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=MOST_BYTES,
            env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
            if not line:
                return {"refusal": "the worker ended without an answer; the server's log may say why."}
            found: dict[str, Any] = json.loads(line)
            return found
        finally:
            if process.returncode is None:
                process.kill()
            process.stdin.close()
            await process.wait()

    def _in_thread(self, task: LongTask) -> dict[str, Any]:
        """For a store that no other process can open: it cannot be stopped, only left alone."""
        study = Study(self._studies.storage, task.study)
        try:
            return {"result": compute(study, task.kind, dict(task.arguments)), "event": study.n_events}
        except (ValueError, KeyError, TypeError, OSError) as problem:
            return {"refusal": str((problem.args or (problem,))[0])}
