"""Opening a study wherever it is kept: in a file, in a database, or on a server, with the token for it."""

import ipaddress
import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast
from urllib.parse import quote, urlsplit

from noisewise.core.checks import check_positive
from noisewise.core.text import printable

if TYPE_CHECKING:
    from noisewise.client.connection import ServerConnection
    from noisewise.study.stores.protocol import Storage
    from noisewise.study.study import Study


SCHEMES = ("https://", "http://")
#: Names of this very machine.
LOCAL = ("localhost", "localhost.localdomain")


class ServerAddress(NamedTuple):
    """Where a server is."""

    secure: bool  # https
    host: str
    port: int
    prefix: str  # such as "/lab"; empty: none

    @property
    def origin(self) -> str:
        """Scheme, host and port, as one writes them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.port == (443 if self.secure else 80)
        return f"{SCHEMES[0 if self.secure else 1]}{host}{'' if usual else f':{self.port}'}"

    def __str__(self) -> str:
        return f"{self.origin}{self.prefix}"

    @property
    def on_this_machine(self) -> bool:
        """Whether what is sent there stays on this machine."""
        if self.host.lower() in LOCAL:
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def is_address(store: Any) -> bool:
    """Whether a store is a server, rather than a file or a database."""
    return isinstance(store, str) and store.lower().startswith(SCHEMES)


def read_address(text: str) -> ServerAddress:
    """An address as people write it: ``https://host``, ``https://host:8443/lab/``."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise ValueError(
            f"`store` must be an address such as https://host/prefix; got {printable(text)!r}."
        ) from None
    if parts.username is not None or parts.password is not None:
        # Without the address, which holds a secret.
        raise ValueError(
            "`store` must be an address without a name or password in it: give a token with token=, or in "
            "the variable NOISEWISE_TOKEN."
        )
    if not parts.hostname or parts.query or parts.fragment:
        raise ValueError(
            "`store` must be an address such as https://host/prefix, without ? or #; got "
            f"{printable(text.partition('?')[0].partition('#')[0])!r}."
        )
    secure = parts.scheme.lower() == "https"
    prefix = quote(parts.path.rstrip("/"), safe="/%~:@!$&'()*+,;=")
    return ServerAddress(secure, parts.hostname, port or (443 if secure else 80), prefix)


VARIABLE, FILE_VARIABLE = "NOISEWISE_TOKEN", "NOISEWISE_TOKEN_FILE"
#: In the folder of the user's settings: lines with an address, a blank, and the token for it.
FILE = Path("noisewise") / "client-tokens"
#: What a header can carry, and no blank.
_SHAPE = re.compile(r"[!-~]{1,500}")


class HiddenToken:
    """A token that nothing shows: neither messages nor listings of variables beside a traceback."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def header(self) -> str:
        """What is sent."""
        return f"Bearer {self._text}"

    def __repr__(self) -> str:
        return "HiddenToken()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a token is not written to files: open the study anew where it is needed.")


Given = str | Path | HiddenToken | None


def hidden(token: Given) -> Path | HiddenToken | None:
    """What was given as `token`, so that nothing shows it from here on."""
    return HiddenToken(_checked(token, "`token`")) if isinstance(token, str) else token


def find_token(
    address: ServerAddress, given: Given = None, environment: Mapping[str, str] | None = None
) -> HiddenToken | None:
    """The token for a server; None: there is none, which a server on this machine may not need.

    Args:
        address: Of the server.
        given: The token, or a path with it.
        environment: Default: that of this process.
    """
    env = os.environ if environment is None else environment
    given = hidden(given)
    if isinstance(given, HiddenToken):
        return given
    if given is not None:
        return _from_file(Path(given), address)
    if env.get(VARIABLE):
        return HiddenToken(_checked(env[VARIABLE], f"the variable {VARIABLE}"))
    if env.get(FILE_VARIABLE):
        return _from_file(Path(env[FILE_VARIABLE]), address)
    usual = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config") / FILE
    return _from_file(usual, address) if usual.is_file() else None


def _checked(text: str, what: str) -> str:
    token = text.strip()
    if not _SHAPE.fullmatch(token):
        raise ValueError(f"{what} must be a token as `noisewise token add` shows it; it is none.")
    return token


def _from_file(path: Path, address: ServerAddress) -> HiddenToken | None:
    """The token of a file with nothing else in it, or of the line with the longest fitting address."""
    name = repr(printable(str(path)))
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {name} with a token.")
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise PermissionError(f"{name} holds a token and can be read by others: chmod 600 {path}.")
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [words for words in lines if words and not words[0].startswith("#")]
    if len(lines) == 1 and len(lines[0]) == 1:
        return HiddenToken(_checked(lines[0][0], f"the content of {name}"))
    found: tuple[int, str] | None = None
    for words in lines:
        if len(words) != 2 or not is_address(words[0]):
            raise ValueError(f"{name} must have lines with an address, a blank and a token; one is not so.")
        place = read_address(words[0])
        fits = place.origin == address.origin and f"{address.prefix}/".startswith(f"{place.prefix}/")
        if fits and (found is None or len(place.prefix) > found[0]):
            found = len(place.prefix), _checked(words[1], f"the token for {place} in {name}")
    return None if found is None else HiddenToken(found[1])


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
    from noisewise.client.study import RemoteLog, RemoteStudy

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
