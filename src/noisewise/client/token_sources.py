"""Where a token comes from: an argument, the environment, or a file that nobody else can read."""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from noisewise.client.server_address import ServerAddress, is_address, read_address
from noisewise.core.text import printable

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
