"""Opening a study wherever it is kept: in a file, in a database, or on a server."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from noisewise.client.server_address import is_address, read_address
from noisewise.client.token_sources import Given, find_token, hidden
from noisewise.core.checks import check_positive

if TYPE_CHECKING:
    from noisewise.client.connection import ServerConnection
    from noisewise.study.stores.protocol import Storage
    from noisewise.study.study import Study

#: Seconds to wait for other writers, or for a server.
PATIENCE = 30.0
#: Seconds in which a server that was just started may begin to listen.
STARTING = 2.0


def load_study(
    store: "str | Path | Storage",
    name: str | None = None,
    *,
    token: str | Path | None = None,
    read_only: bool = False,
    timeout: float = PATIENCE,
    clock: Callable[[], float] = time.time,
) -> "Study":
    """Open a study that is in a store, or on a server.

    Args:
        store: A file, ``"postgresql://..."``, a storage of your own, or the address of a server (``noisewise
            serve``), ``"https://host/prefix"``: then all methods are the same, and asking, telling and
            running need neither the log nor NumPy.
        name: The study; default: the only one there is.
        token: For a server: the token, or a path to a file with it. Default: the variable NOISEWISE_TOKEN,
            the file that NOISEWISE_TOKEN_FILE names, or the line for this address in
            ``~/.config/noisewise/client-tokens``.
        read_only: Only look; asking and telling are refused.
        timeout: Seconds to wait for other writers, or for the server.
        clock: Where the time comes from; a server has its own.
    """
    key, token = hidden(token), None  # no listing of variables shows it
    if is_address(store):
        opened: Any = load_remote(str(store), name, token=key, read_only=read_only, timeout=timeout)
        return cast("Study", opened)
    if key is not None:
        raise ValueError("`token` goes with the address of a server, such as https://host/prefix.")
    from noisewise.study.creation import load_study as load_here

    return load_here(store, name, read_only=read_only, timeout=timeout, clock=clock)


def load_remote(
    address: str, name: str | None, *, token: Given = None, read_only: bool = False, timeout: float = PATIENCE
) -> Any:
    """The handle of a study on a server."""
    from noisewise.client.connection import path_of
    from noisewise.client.log import RemoteLog
    from noisewise.client.study import RemoteStudy

    connection = connect(address, token, timeout)
    if name is None:
        names = RemoteLog(connection).names()
        if len(names) != 1:
            listed = ", ".join(map(repr, names)) or "none"
            raise ValueError(f"`name` must say which study unless there is one; the store has {listed}.")
        (name,) = names
    # Who is not known, or asks for what is not there, is told so now.
    connection.call(
        "GET", path_of("studies", name, "events"), query={"limit": 1}, patience=min(STARTING, timeout)
    )
    return RemoteStudy(connection, name, read_only)


def connect(address: str, token: Given = None, timeout: float = PATIENCE) -> "ServerConnection":
    """A connection to a server, with the token that belongs to it."""
    from noisewise.client.connection import ServerConnection

    place = read_address(address)
    return ServerConnection(place, find_token(place, token), check_positive("timeout", timeout))
