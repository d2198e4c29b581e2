"""The server: tools and certificates over the Model Context Protocol, on standard input and output."""

import asyncio
import json
from typing import Any
from urllib.parse import quote, unquote

from noisewise.assistant.tools import Tool, Toolbox
from noisewise.assistant.worker import ToolAnswer
from noisewise.assistant.workers import Workers
from noisewise.core.version import __version__

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
