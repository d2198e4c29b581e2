"""The server: tools and certificates over the Model Context Protocol, on standard input and output."""

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote

from noisewise.assistant.tools import Request, Tool, Toolbox
from noisewise.assistant.worker import ToolAnswer, frame
from noisewise.core.version import __version__

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
        """What a command says; its process is ended if it takes too long, or if no one waits any more."""
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


INSTRUCTIONS = """\
noisewise finds the best of several options from noisy measurements.
- An option is something that can be chosen: a model, a recipe, a version.
- A measurement is a value of one option with its error bar (`se`, one standard error): how far chance may \
have moved that value.
- A certificate says that the recommended option is at most `bound` worse than the best, with a confidence; \
measuring may stop when it is `reached`. Quote its sentence as it is. If it is withheld, `check` says why.
Never invent an error bar. Give single readings as `values`, counts as `successes` and `trials`, `se` only \
if it is known, and nothing otherwise: the study finds the scatter itself. Tell only what was measured.
"""
#: Characters of an answer, of which a million would fill an assistant's memory.
LONGEST = 60_000
CERTIFICATE = "noisewise://study/{study}/certificate"


async def serve(toolbox: Toolbox, workers: Workers) -> None:
    """Answer requests on standard input until it ends."""
    from mcp.server.stdio import stdio_server

    server = make_server(toolbox, workers)
    try:
        async with stdio_server() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())
    finally:
        await workers.close()


def make_server(toolbox: Toolbox, workers: Workers) -> Any:
    """The server of the official SDK, with our answers."""
    from mcp import types
    from mcp.server.lowlevel import Server

    async def list_tools(context: Any, parameters: Any) -> Any:
        return types.ListToolsResult(tools=[describe(tool) for tool in toolbox.tools.values()])

    async def call_tool(context: Any, parameters: Any) -> Any:
        try:
            tool = toolbox.find(parameters.name)
            answer = await run_tool(tool, workers, parameters.arguments or {})
        except ValueError as problem:
            answer = ToolAnswer(refusal=str(problem))
        return result_of(answer)

    async def list_resources(context: Any, parameters: Any) -> Any:
        answer = await run_tool(toolbox.find("list"), workers, {"quick": True})
        names = [] if answer.refusal else json.loads(answer.printed)["studies"]
        return types.ListResourcesResult(resources=[_certificate(name) for name in names])

    async def read_resource(context: Any, parameters: Any) -> Any:
        answer = await run_tool(toolbox.find("certify"), workers, {"study": _study_in(parameters.uri)})
        if answer.refusal:
            raise _not_found(answer.refusal)
        text = types.TextResourceContents(
            uri=parameters.uri, mime_type="application/json", text=answer.printed
        )
        return types.ReadResourceResult(contents=[text])

    return Server(
        "noisewise",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


async def run_tool(tool: Tool, workers: Workers, given: dict[str, Any]) -> ToolAnswer:
    """What a tool says; in words where its JSON would be too long, and cut where these are."""
    # In a thread: looking at files, and what is loaded for that, must not keep others waiting.
    request = await asyncio.to_thread(tool.request, given)
    answer = await workers.run(request)
    if len(answer.printed) > LONGEST and not tool.writes and request.json:
        answer = await workers.run(request.in_words())
    more = len(answer.printed) - LONGEST
    if more > 0:
        cut = f"{answer.printed[:LONGEST]}\n... and {more:,} characters more, which were left out."
        answer = answer._replace(printed=cut)
    return answer


def describe(tool: Tool) -> Any:
    """A tool as the protocol describes one."""
    from mcp import types

    hints = types.ToolAnnotations(
        read_only_hint=not tool.writes,
        destructive_hint=tool.writes and tool.op.corrects,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name, description=tool.description, input_schema=tool.schema(), annotations=hints
    )


def result_of(answer: ToolAnswer) -> Any:
    """An answer as the protocol has it: a refusal is an error with its sentence, and nothing else."""
    from mcp import types

    if answer.refusal is not None:
        return types.CallToolResult(content=[_text(answer.refusal)], is_error=True)
    structured = _json_of(answer.printed)
    # An assistant pays for blanks.
    printed = answer.printed if structured is None else json.dumps(structured, ensure_ascii=False)
    content = [_text(part) for part in (printed, answer.warned) if part.strip()]
    if structured is None:
        return types.CallToolResult(content=content)
    return types.CallToolResult(content=content, structured_content=structured)


def _json_of(printed: str) -> dict[str, Any] | None:
    try:
        found = json.loads(printed)
    except ValueError:  # words, or lines of JSON
        return None
    return found if isinstance(found, dict) else None


def _text(text: str) -> Any:
    from mcp import types

    # Half a pair of code units, which JSON can hold and UTF-8 cannot, would end the connection.
    return types.TextContent(type="text", text=text.strip().encode("utf-8", "replace").decode("utf-8"))


def _certificate(study: str) -> Any:
    from mcp import types

    return types.Resource(
        name=f"certificate of {study}",
        uri=CERTIFICATE.format(study=quote(study, safe="")),
        description=f"What may be claimed about the study {study!r} now.",
        mime_type="application/json",
    )


def _study_in(uri: str) -> str:
    before, _, after = CERTIFICATE.partition("{study}")
    if not (uri.startswith(before) and uri.endswith(after)):
        raise _not_found(f"there is no resource {uri!r}.")
    return unquote(uri[len(before) : -len(after)])


def _not_found(sentence: str) -> Exception:
    from mcp import MCPError, types

    return MCPError(types.INVALID_PARAMS, sentence)
