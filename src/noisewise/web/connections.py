"""Connections with time limits: for the head of a request, and for reading what was sent."""

import asyncio
import importlib.util
from typing import Any

#: Seconds for the line and the headers of a request, and for reading what was sent.
HEAD_SECONDS, READ_SECONDS = 10.0, 60.0
#: Bytes of the line and the headers of a request; the parser in C has no limit of its own.
MOST_HEAD = 128 * 2**10


class TimeLimits:
    """Close connections of clients that send half a request, or never read the answer."""

    transport: Any = None
    cycle: Any = None
    send_400_response: Any
    _head = 0  # bytes since the last complete request
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Limit the time for the first request."""
        super().connection_made(transport)  # type: ignore[misc]
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Limit the time and the size of a head that is not complete."""
        super().data_received(data)  # type: ignore[misc]
        if self.cycle is not None and not self.cycle.response_complete:
            self._head = 0
            _stop(self._head_timer)
            self._head_timer = None
            return
        self._head += len(data)
        if self._head > MOST_HEAD and not self.transport.is_closing():
            self.send_400_response("The headers of the request are too long.")
        self._watch_head()

    def pause_writing(self) -> None:
        """Limit the time for reading what was sent."""
        super().pause_writing()  # type: ignore[misc]
        if self._read_timer is None:
            loop = asyncio.get_running_loop()
            self._read_timer = loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop that clock: the client has read."""
        super().resume_writing()  # type: ignore[misc]
        _stop(self._read_timer)
        self._read_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop both clocks."""
        _stop(self._head_timer)
        _stop(self._read_timer)
        super().connection_lost(exc)  # type: ignore[misc]

    def _watch_head(self) -> None:
        if self._head_timer is None:
            loop = asyncio.get_running_loop()
            self._head_timer = loop.call_later(HEAD_SECONDS, self.transport.close)


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def protocol() -> Any:
    """The protocol class for uvicorn, with the parser in C where it is installed."""
    if importlib.util.find_spec("httptools") is not None:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Reader
    else:
        from uvicorn.protocols.http.h11_impl import H11Protocol as Reader  # type: ignore[assignment]
    return type("NoisewiseProtocol", (TimeLimits, Reader), {})
