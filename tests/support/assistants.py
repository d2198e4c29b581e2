"""Assistants that talk to ``noisewise mcp`` in a process of its own, through the official SDK."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = ("-m", "noisewise", "mcp")


def with_assistant(conversation, *arguments, log):
    """Start a server, let ``conversation(client)`` talk to it, and return what that returns."""
    command = [sys.executable, *SERVER, *map(str, arguments)]
    return asyncio.run(_held(conversation, command, dict(os.environ), log))


def with_configured_assistant(conversation, configured, *, log):
    """The same with the server of a configuration, as assistants read it."""
    environment = dict(os.environ) | configured.get("env", {})
    return asyncio.run(_held(conversation, [configured["command"], *configured["args"]], environment, log))


async def _held(conversation, command, environment, log):
    async with _connected(command, environment, log) as client:
        return await conversation(client)


@asynccontextmanager
async def _connected(command, environment, log):
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    with log.open("w") as errors:
        async with Client(stdio_client(server, errlog=errors)) as client:
            yield client


async def said(client, tool, **arguments):
    """What a tool answers, as JSON values; it must not refuse."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def refused(client, tool, **arguments):
    """The sentence of a refusal, which is all that there is."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    (block,) = result.content
    assert result.structured_content is None
    return block.text
