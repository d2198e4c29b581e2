"""Connections, without patience for who does not speak, does not listen, or speaks no HTTP."""

import asyncio
import importlib.util
import json
from http import HTTPStatus
from typing import Any

from noisewise.web.problems import PROBLEM_TYPE, problem_body

#: Seconds for the line and the headers of a request, and for taking in what was sent.
HEAD_SECONDS, READ_SECONDS = 10.0, 60.0
#: Connections at a time; whoever opens more is told to come back.
MOST_AT_ONCE, RETRY_SECONDS = 1000, 5
#: Bytes of the line and the headers of a request, while they are not complete.
MOST_HEAD = 128 * 2**10
#: Bytes that wait for more of the same step before they are sent.
MOST_GATHERED = 16 * 2**10


class GatheredWrites:
    """A transport that sends together what is written in one step of the event loop.

    The head and the body of an answer are two writes. As two packets, each would cost a call of the system,
    during which another thread takes over, and each would wake who reads them.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._gathered: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send this with what else is written in this step; much of it at once, so that it can be slowed."""
        if not data:
            return
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self._send)
        self._gathered.append(bytes(data))
        self._size += len(data)
        if self._size > MOST_GATHERED:
            self._send()

    def close(self) -> None:
        """End the connection once everything is sent."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._gathered:
            together = b"".join(self._gathered)
            self._gathered, self._size = [], 0
            self._transport.write(together)


class PatientProtocol:
    """What a class that reads HTTP gets in front: two clocks, and answers of our own."""

    transport: Any = None
    cycle: Any = None
    connections: Any = ()
    _crowded = False
    _head = 0  # bytes since the last request that was complete
    _speaking: asyncio.TimerHandle | None = None
    _listening: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Give the first request its time."""
        super().connection_made(GatheredWrites(transport))  # type: ignore[misc]
        self._crowded = len(self.connections) > MOST_AT_ONCE
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Give what begins a request, the first or any other of a connection, its time to be one."""
        if self._crowded:  # said only now: who is still sending would not hear it
            self._refuse(503, "too many connections are open; try again in some seconds.")
            return
        super().data_received(data)  # type: ignore[misc]
        self._head = self._head + len(data) if self._waiting() else 0
        if self._head > MOST_HEAD:
            self.send_400_response("")
            return
        self._watch()

    def pause_writing(self) -> None:
        """Give who has not yet read what was sent some time for it."""
        super().pause_writing()  # type: ignore[misc]
        if self._listening is None:
            loop = asyncio.get_running_loop()
            self._listening = loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """It was read."""
        super().resume_writing()  # type: ignore[misc]
        _stop(self._listening)
        self._listening = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time."""
        _stop(self._speaking)
        _stop(self._listening)
        super().connection_lost(exc)  # type: ignore[misc]

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(400, "this is no request of HTTP/1.1, or its headers are too long.")

    def _refuse(self, status: int, said: str) -> None:
        """Say why, unless in the middle of another answer, and end the connection."""
        if self._waiting() and not self.transport.is_closing():
            body = json.dumps(problem_body(status, said)).encode()
            retry = f"retry-after: {RETRY_SECONDS}\r\n" if status == HTTPStatus.SERVICE_UNAVAILABLE else ""
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{retry}"
                f"content-type: {PROBLEM_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

    def _waiting(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        if not self._waiting():
            _stop(self._speaking)
            self._speaking = None
        elif self._speaking is None:
            self._speaking = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._speaking = None
        if self._waiting() and not self.transport.is_closing():
            self.transport.close()


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def protocol() -> Any:
    """The class that reads HTTP: with the parser in C where it is installed, which takes half the time."""
    if importlib.util.find_spec("httptools") is not None:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Reader
    else:
        from uvicorn.protocols.http.h11_impl import H11Protocol as Reader  # type: ignore[assignment]
    return type("NoisewiseProtocol", (PatientProtocol, Reader), {})
