"""A process that runs operations for the server, one after the other, and hands back what came of them.

The server talks to its worker in frames: the length on a line, then JSON.
"""

import gc
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

from noisewise.assistant.tools import Permissions, Tool, done
from noisewise.core.remarks import heard_warnings
from noisewise.core.strict_json import strict_json
from noisewise.operations.table import load_table


class ToolAnswer(NamedTuple):
    """What came of a call."""

    printed: str = ""
    #: Warnings, one on a line.
    warned: str = ""
    #: Why it was not done, in one sentence.
    refusal: str | None = None


def work() -> None:
    """Run operations until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends
    requests, answers = _own_streams()
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    while True:
        request = waiting.get()
        answer = answered(request)
        # A store that is left open would stand in the way of others, such as `restore`.
        gc.collect()
        answers.write(frame(answer._asdict()))
        answers.flush()


def answered(request: Mapping[str, Any]) -> ToolAnswer:
    """What came of a request."""
    permissions = Permissions(*request["permissions"])
    tool = Tool(load_table()[request["tool"]], permissions)
    return run_tool(tool, request["given"], json=request["json"])


def run_tool(tool: Tool, given: Mapping[str, Any], *, json: bool) -> ToolAnswer:
    """What an operation says, or why it refuses."""
    with heard_warnings() as heard:
        try:
            outcome, about = done(tool, given)
            text = outcome.text
            content = outcome.to_dict()
            if json and not outcome.is_text:
                schema = getattr(outcome, "schema", tool.name)
                printed = strict_json({"schema": f"noisewise.{schema}/1", **about, **content})
            else:
                printed = "\n".join(outcome.lines()) if text is None else "".join(text)
        except (ValueError, KeyError, TypeError, OSError, ModuleNotFoundError) as problem:
            said = problem.args[0] if isinstance(problem, KeyError) and problem.args else problem
            return ToolAnswer(refusal=str(said))
        except Exception as fault:
            traceback.print_exc(file=sys.__stderr__)
            return ToolAnswer(
                refusal=f"noisewise has a fault here ({type(fault).__name__}: {fault}); please report it."
            )
    return ToolAnswer(printed, "\n".join(one.message for one in heard))


def _receive(stream: BinaryIO, waiting: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Hand on requests; a server that is gone, however it ended, takes with it what is under way."""
    try:
        while (request := read_frame(stream)) is not None:
            waiting.put(request)
    finally:
        os._exit(0)


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The streams to the server; what is printed goes to standard error."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return requests, answers


def frame(content: dict[str, Any]) -> bytes:
    """A message, with its length before it."""
    body = json.dumps(content).encode()
    return b"%d\n%b" % (len(body), body)


def read_frame(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message; None if there are no more."""
    length = stream.readline()
    if not length:
        return None
    content: dict[str, Any] = json.loads(stream.read(int(length)))
    return content
