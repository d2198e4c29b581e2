"""Plans, reports and the like: each is computed by a process, and cancelled when no one waits for it."""

import asyncio
import json
import logging
import os
import secrets
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response

from noisewise.core.remarks import heard_progress
from noisewise.core.text import printable
from noisewise.server.answers import (
    REFUSALS,
    UNCHANGED,
    AnyObject,
    StudyName,
    Viewer,
    answer,
    etag_of,
    name_in,
    unchanged,
)
from noisewise.server.auth.roles import Role, Visitor
from noisewise.server.bodies import JsonBodyRoute
from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError
from noisewise.server.worker import REFUSED as REASONS
from noisewise.server.worker import VERIFY, compute, refusal_of, verdict_on
from noisewise.study.stores.address import MEMORY
from noisewise.study.study import Study

LOG = logging.getLogger("noisewise.server")
TASKS = APIRouter(tags=["long work"], route_class=JsonBodyRoute, responses=REFUSALS)
#: Seconds between two looks whether who asked is still there.
LOOK = 0.5
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
        self.waiting = 0  # requests that wait for it
        self.by_request = False  # whether it was begun by such a request, and ends with the last of them
        self.runner: asyncio.Task[None] | None = None

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return (time.monotonic() if self.ended is None else self.ended) - self.began

    def end(self, state: str) -> None:
        """It is over."""
        if self.state not in ENDED:
            self.state, self.ended, self.progress = state, time.monotonic(), None
            self.over.set()

    async def ends_within(self, seconds: float) -> bool:
        """Wait for its end, at most so long; whether it has come."""
        with suppress(TimeoutError):
            return await asyncio.wait_for(self.over.wait(), seconds)
        return False


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
            shared: Whether the same that is under way will do; anyone waiting for it may cancel it for all.
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

    async def cancel_for(self, visitor: Visitor, id: str) -> None:
        """Stop what this visitor began; owners may stop what others began."""
        task = self._tasks.get(id)
        if task is None or (task.token != visitor.token and visitor.role != Role.OWNER):
            raise ProblemError(404, "there is no such task; those that ended long ago are forgotten.")
        await self.cancel(task)

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
                task.state = RUNNING
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
                task.progress = found
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
        study = Study(self._studies.storage, task.study)

        def watch(doing: str, done: int, of: int) -> None:
            task.progress = {"doing": doing, "done": done, "of": of}

        try:
            with heard_progress(watch):
                found = compute(study, task.kind, dict(task.arguments))
            return {"result": found, "event": study.n_events}
        except REASONS as problem:
            return refusal_of(problem)


async def computed(
    request: Request, study: str, visitor: Visitor, kind: str, said: dict[str, Any]
) -> Response:
    """The answer to who waits for it."""
    studies: OpenStudies = request.app.state.studies
    name = name_in(study)
    number = await run_in_threadpool(studies.number, name)
    if (same := unchanged(request, number)) is not None:
        return same
    task = await awaited(request, name, visitor, kind, said)
    return answer({"study": task.study, "event": task.event, **task.result}, event=task.event)


async def awaited(
    request: Request, name: str, visitor: Visitor, kind: str, said: dict[str, Any], *, afresh: bool = False
) -> LongTask:
    """Compute while the client is connected; a client that leaves cancels what no one else waits for."""
    tasks: LongTasks = request.app.state.tasks
    number = await run_in_threadpool(request.app.state.studies.number, name)
    known = tasks.all()
    # Many may open one link to a report: they wait for the same one.
    task = tasks.begin(kind, name, number, said, visitor.token, shared=kind == REPORT, afresh=afresh)
    task.by_request = task.by_request or task not in known
    task.waiting += 1
    try:
        while not await task.ends_within(LOOK):
            if await request.is_disconnected():
                break
    finally:
        task.waiting -= 1
        if task.state not in ENDED and not task.waiting and task.by_request:
            await tasks.cancel(task)
    if task.state == CANCELLED:
        raise ProblemError(409, f"the {kind} was cancelled.")
    if task.state != DONE:
        raise ProblemError(422, task.refusal or f"there is no {kind}.", **task.problem)
    return task


@TASKS.get("/studies/{study}/verify", response_model=AnyObject)
async def verify_hashes(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """Compute every hash of the log afresh, and name the first event that does not fit."""
    task = await awaited(request, name_in(study), visitor, VERIFY, {}, afresh=True)
    return answer({"study": task.study, **task.result})


@TASKS.get(
    "/studies/{study}/report.html",
    response_class=HTMLResponse,
    responses={**UNCHANGED, 200: {"content": {"text/html": {}}, "description": "The report."}},
)
async def report(
    request: Request,
    study: StudyName,
    visitor: Viewer,
    plan: Annotated[bool, Query(description="Also forecast how many more it takes.")] = False,
    download: Annotated[bool, Query(description="Save it instead of showing it.")] = False,
) -> Response:
    """Everything about a study as one page that needs neither a network nor scripts."""
    return await report_page(request, name_in(study), visitor, plan=plan, download=download)


async def report_page(
    request: Request, name: str, visitor: Visitor, *, plan: bool = False, download: bool = False
) -> Response:
    """The report of a study as a page."""
    from noisewise.study.report.elements import content_policy

    studies: OpenStudies = request.app.state.studies
    number = await run_in_threadpool(studies.number, name)
    if (same := unchanged(request, number)) is not None:
        return same
    task = await awaited(request, name, visitor, REPORT, {"plan": True} if plan else {})
    headers = {
        "Content-Security-Policy": f"{content_policy()}; frame-ancestors 'none'",
        "ETag": etag_of(task.event or 0),
        "Cache-Control": "private, no-cache",
    }
    if download:
        headers["Content-Disposition"] = 'attachment; filename="report.html"'
    return HTMLResponse(task.result, headers=headers)
