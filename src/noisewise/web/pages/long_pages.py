"""Pages of what takes long: begun when they are first asked for, shown when a worker has computed them."""

import asyncio
from typing import Any, NamedTuple

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from noisewise.web.api.answers import name_in
from noisewise.web.auth.roles import Role, Visitor
from noisewise.web.pages.shown import studies_of
from noisewise.web.problems import ProblemError
from noisewise.web.tasks import DONE, ENDED, WAITING, LongTasks

#: Seconds for which the first answer waits where no process has to start: what is quick is shown at once.
AT_ONCE = 0.15


class TaskShown(NamedTuple):
    """How far it is."""

    id: str = ""
    running: bool = False
    seconds: int = 0
    doing: str = ""  # what it is at
    share: float | None = None  # of that, in per cent
    result: Any = None
    refusal: str = ""


NOT_ASKED = TaskShown()


async def begun(
    request: Request, segment: str, visitor: Visitor, kind: str, arguments: dict[str, Any]
) -> TaskShown:
    """Begin to compute, or find what was begun before; wait a moment for what may be over by then."""
    tasks: LongTasks = request.app.state.tasks
    name = name_in(segment)
    number = await run_in_threadpool(studies_of(request).number, name)
    task = tasks.begin(kind, name, number, arguments, visitor.token, shared=True)
    await asyncio.sleep(0)  # its turn may come at once
    if task.state not in ENDED and not tasks.starts_processes:
        await asyncio.wait([asyncio.ensure_future(task.over.wait())], timeout=AT_ONCE)
    told = task.to_plain()
    doing, share = _progress(told.get("progress"), waiting=task.state == WAITING)
    return TaskShown(
        task.id, task.state not in ENDED, int(told["seconds"]), doing, share,
        task.result if task.state == DONE else None, task.refusal or "",
    )  # fmt: skip


def _progress(told: dict[str, Any] | None, *, waiting: bool) -> tuple[str, float | None]:
    """What it is at, and how much of that is done."""
    if told is None:
        return ("waiting for its turn" if waiting else ""), None
    done, of = float(told.get("done", 0)), float(told.get("of", 0))
    return str(told.get("doing", "")), round(100.0 * min(1.0, done / of), 1) if of > 1 else None


async def stopped(request: Request, visitor: Visitor, id: str) -> None:
    """Stop what this visitor began; owners may stop what others began."""
    tasks: LongTasks = request.app.state.tasks
    task = tasks.find(id)
    if task.token != visitor.token and visitor.role != Role.OWNER:
        raise ProblemError(404, "there is no such task.")
    await tasks.cancel(task)
