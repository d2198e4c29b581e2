"""The processes that run commands for a server: kept while they serve, ended when one takes too long."""

import asyncio
import json
import sys
from collections.abc import Sequence

from noisewise.assistant.tools import Request
from noisewise.assistant.worker import ToolAnswer, frame

#: Commands that may run at once, and processes that are kept for the next ones.
AT_ONCE, KEPT = 4, 2
#: What the server itself is started with, to be a worker; -P: no modules of the folder it happens to be in.
WORKER = (sys.executable, "-P", "-m", "noisewise", "mcp", "--worker")


class Workers:
    """Processes, started when they are needed."""

    def __init__(self, seconds: float, started_by: Sequence[str] = WORKER) -> None:
        self.seconds = seconds
        self._started_by = started_by
        self._idle: list[asyncio.subprocess.Process] = []
        self._all: set[asyncio.subprocess.Process] = set()
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self, request: Request) -> ToolAnswer:
        """What a command says; its process is ended if it takes too long, or if nobody waits any more."""
        async with self._free:
            process = await self._take()
            try:
                async with asyncio.timeout(self.seconds):
                    answer = await _ask(process, request)
            except TimeoutError:
                self._end(process)
                return ToolAnswer(
                    refusal=f"it took longer than {self.seconds:g} s, and was stopped; see `status`."
                )
            except (OSError, asyncio.IncompleteReadError, ValueError):
                self._end(process)
                return ToolAnswer(
                    refusal="the process that ran it ended by itself; see `status`, and try again."
                )
            except BaseException:  # cancelled
                self._end(process)
                raise
            if len(self._idle) < KEPT:
                self._idle.append(process)
            else:
                self._end(process)
            return answer

    async def _take(self) -> asyncio.subprocess.Process:
        self._all = {process for process in self._all if process.returncode is None}
        while self._idle:
            process = self._idle.pop()
            if process in self._all:
                return process
        process = await asyncio.create_subprocess_exec(
            *self._started_by, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        self._all.add(process)
        return process

    def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            process.kill()

    async def close(self) -> None:
        """End all processes."""
        for process in self._all:
            self._end(process)
        for process in self._all:
            await process.wait()


async def _ask(process: asyncio.subprocess.Process, request: Request) -> ToolAnswer:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(frame(request._asdict()))
    await process.stdin.drain()
    length = int(await process.stdout.readuntil(b"\n"))
    return ToolAnswer(**json.loads(await process.stdout.readexactly(length)))
