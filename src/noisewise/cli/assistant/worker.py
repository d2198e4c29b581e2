"""A process that runs commands for the server, one after the other, and hands back what they print.

Commands run here as they do for a person: the same functions, with values in the place of words that were
typed. Nothing is parsed, so that no value can be taken for a flag. The server talks to its worker in frames:
the length on a line, then JSON.
"""

import gc
import io
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import typer

from noisewise.cli.terminal.refusals import sentence_of


class CommandAnswer(NamedTuple):
    """What came of a command."""

    printed: str = ""
    #: Warnings, one on a line.
    warned: str = ""
    #: Why it was not done, in one sentence.
    refusal: str | None = None


def work(commands: Mapping[str, Any]) -> None:
    """Run commands until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends
    requests, answers = _own_streams()
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    while True:
        request = waiting.get()
        answer = run_command(commands[request["command"]], request["values"], request["stdin"])
        # A store that is left open would stand in the way of others, such as `restore`.
        gc.collect()
        answers.write(frame(answer._asdict()))
        answers.flush()


def _receive(stream: BinaryIO, waiting: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Hand on requests; a server that is gone, however it ended, takes with it what is under way."""
    try:
        while (request := read_frame(stream)) is not None:
            waiting.put(request)
    finally:
        os._exit(0)


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The streams to the server; what is printed or read past `captured` goes to standard error, and ends."""
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


def run_command(command: Any, values: Mapping[str, Any], stdin: str) -> CommandAnswer:
    """What a command prints, or why it refuses."""
    refusal = None
    with captured(stdin) as (printed, warned):
        try:
            _invoke(command, values)
        except typer.Exit:
            pass  # the code of a verdict, such as "not yet": the verdict is printed
        except typer.BadParameter as problem:
            refusal = problem.format_message()
        except (ValueError, KeyError, TypeError, OSError, ModuleNotFoundError) as problem:
            refusal = sentence_of(problem)
        except Exception as fault:
            traceback.print_exc(file=sys.__stderr__)
            refusal = f"noisewise has a fault here ({type(fault).__name__}: {fault}); please report it."
    return CommandAnswer(_text(printed), _text(warned), refusal)


def _invoke(command: Any, values: Mapping[str, Any]) -> None:
    """Call a command with values, each checked as if it had been typed."""
    with typer.Context(command, info_name=command.name) as context:
        for parameter in command.params:
            if parameter.expose_value:
                parameter.handle_parse_result(context, dict(values), [])
        command.invoke(context)


@contextmanager
def captured(stdin: str) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Standard output and standard error as texts, and standard input from one."""
    own = sys.stdin, sys.stdout, sys.stderr
    printed, warned = _stream(""), _stream("")
    sys.stdin, sys.stdout, sys.stderr = _stream(stdin), printed, warned
    try:
        yield printed, warned
    finally:
        sys.stdin, sys.stdout, sys.stderr = own


def _stream(text: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "replace")), encoding="utf-8", errors="replace")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")
