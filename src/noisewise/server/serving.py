"""Run the server: where it listens, who may reach it, time limits of connections, how it ends."""

import asyncio
import contextlib
import importlib.util
import ipaddress
import logging
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import uvicorn

from noisewise.core.text import printable
from noisewise.server.app import make_app
from noisewise.server.auth.tokens import TokenFile, tokens_of, without_tokens
from noisewise.server.guards import LOOPBACK
from noisewise.study.stores.secrets import without_secrets

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


#: Seconds for what is under way when the server ends, and between two requests of a connection.
GRACE_SECONDS, IDLE_SECONDS = 10, 30
#: Connections at a time; uvicorn answers 503 beyond them.
MOST_AT_ONCE = 1000


class SecretiveFormatter(logging.Formatter):
    """Lines of the log, in which no secret can be, whatever writes them."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with dots in the place of tokens and passwords."""
        return without_secrets(without_tokens(super().format(record)))


class GracefulServer(uvicorn.Server):
    """A server that says when it listens, and tidies up when a signal ends it."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal: finish; the second one: at once."""
        super().handle_exit(sig, frame)
        # uvicorn would raise it again at the end, and nothing would be tidied away.
        self._captured_signals = [one for one in self._captured_signals if one != signal.SIGTERM]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_reach(host: str, tokens: TokenFile | None) -> None:
    """Refuse to be reached by other machines without tokens."""
    if is_loopback(host):
        return
    if tokens is None or not tokens.tokens():
        raise ValueError(
            f"`host` {host!r} can be reached by other machines, and there are no tokens: whoever connects "
            "could change everything. Make one first: noisewise token add STORE NAME --role owner."
        )


def serve(
    store: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    root_path: str = "",
    read_only: bool = False,
    tokens: str | None = None,
    hosts: Sequence[str] = (),
    say: Callable[[str], None],
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a store until the process is told to end.

    Args:
        store: A path or an address.
        host: Where to listen.
        port: Where to listen; 0: any that is free.
        root_path: The prefix under which a proxy shows it.
        read_only: Refuse every change.
        tokens: The file with the tokens; default: the store's own.
        hosts: Names by which it may be called; default: those of this machine, or any if there are tokens.
        say: Tells people where it is.
        ready: Is called with the address once it listens.
    """
    keys = tokens_of(store, tokens)
    check_reach(host, keys)
    root = check_root(root_path)
    listening = _listen(host, port)
    guarded = keys is not None and bool(keys.tokens())
    allowed = (*hosts, *LOOPBACK) if hosts or not guarded else None
    _log_quietly()
    _allow_connections()
    app = make_app(store, root_path=root, read_only=read_only, tokens=keys, hosts=allowed)
    config = uvicorn.Config(
        app, http=protocol(), ws="none", lifespan="on", log_config=None, access_log=False,
        server_header=False, timeout_keep_alive=IDLE_SECONDS, timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=MOST_AT_ONCE, h11_max_incomplete_event_size=64 * 2**10,
    )  # fmt: skip
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}{root}/"

    def started() -> None:
        who = "with tokens" if guarded else "for everybody on this machine, without tokens"
        say(f"Serving {printable(without_secrets(str(store)))} at {address} ({who}). Ctrl-C ends it.")
        ready(address)

    server = GracefulServer(config, started)
    with listening:
        asyncio.run(server.serve([listening]))


def _allow_connections() -> None:
    """Let the process open as many files as it may: each connection is one, and stores need some."""
    with contextlib.suppress(
        ImportError, OSError, ValueError
    ):  # elsewhere than on Unix there is no such limit
        import resource

        least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 4 * MOST_AT_ONCE if most == resource.RLIM_INFINITY else min(4 * MOST_AT_ONCE, most)
        if least != resource.RLIM_INFINITY and least < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def check_root(path: str) -> str:
    """The prefix without a slash at its end."""
    text = path.rstrip("/")
    if text and (not text.startswith("/") or not text.isascii() or any(c in text for c in "?#\\ \"'<>")):
        raise ValueError(f'`root_path` must be a path such as "/lab"; got {path!r}.')
    return text


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise ValueError(f"`port` must lie between 0 and 65535; got {port}.")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror:
        raise ValueError(f"`host` must be a name or an address of this machine; got {host!r}.") from None
    # With the protocol named: else asyncio leaves the delay of small packets on, 40 ms each.
    listening = socket.socket(found[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(found[4])
        listening.listen(2048)
    except OSError as problem:
        listening.close()
        raise ValueError(
            f"`port` {port} of {host} cannot be used ({problem.strerror}); choose another with --port."
        ) from None
    return listening


def _log_quietly() -> None:
    """Log faults to standard error, and no requests."""
    handler = logging.StreamHandler()
    handler.setFormatter(SecretiveFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # or nonsense requests fill the log
    logging.captureWarnings(True)
    warnings.simplefilter("ignore")  # what a study warns of is in its answers
