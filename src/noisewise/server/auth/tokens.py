"""Tokens of people and programs: a file of hashes beside the store.

The file is lines of JSON to which lines are appended: a token, or that one was revoked. It holds SHA-256 of
the secrets, which are 256 random bits, so that reading it lets no one in. It is not part of the store:
a copy of the data that is handed on brings no keys with it.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from noisewise.core.checks import check_choice, nearest
from noisewise.core.text import check_text
from noisewise.server.auth.roles import ROLES

#: How a token begins, so that programs that look for leaked secrets can know it.
PREFIX = "nw_"
SHAPE = re.compile(r"nw_[A-Za-z0-9_-]{43}")
#: One of them in a text, also if something was cut off.
FOUND = re.compile(r"(nw_)[A-Za-z0-9_-]{8,}")
ENDING = ".tokens"


class Token(NamedTuple):
    """What is kept of a token."""

    id: str
    name: str  # who has it; what they tell is by them
    role: str
    sha256: str
    at: float  # when it was made, in seconds since 1970
    revoked: float | None = None


class TokenFile:
    """The tokens of a store; what other processes add or revoke counts from then on."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._reading = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._by_hash: dict[str, Token] = {}

    def add(self, name: str, role: str) -> tuple[Token, str]:
        """Make a token; its secret is returned here and nowhere else."""
        name = check_text("name", name)
        check_choice("role", role, tuple(ROLES))
        if any(token.name == name for token in self.tokens()):
            raise ValueError(
                f"`name` must be new among the tokens; there is one of {name!r}: revoke it first."
            )
        secret = PREFIX + secrets.token_urlsafe(32)
        token = Token(f"t-{secrets.token_hex(4)}", name, role, hash_of(secret), time.time())
        self._append({key: value for key, value in token._asdict().items() if value is not None})
        return token, secret

    def revoke(self, which: str) -> Token:
        """Let a token, by its id or the name of who has it, be valid no longer."""
        valid = self.tokens()
        found = [token for token in valid if which in (token.id, token.name)]
        if not found:
            known = [name for token in valid for name in (token.id, token.name)]
            raise ValueError(f"there is no valid token {which!r}.{nearest(which, known)}")
        self._append({"revoke": found[0].id, "at": time.time()})
        return found[0]

    def tokens(self, *, revoked: bool = False) -> list[Token]:
        """Those that are valid, the oldest first; on request all."""
        self._read()
        return [token for token in self._by_hash.values() if revoked or token.revoked is None]

    def find(self, secret: str) -> Token | None:
        """The valid token with this secret."""
        if SHAPE.fullmatch(secret) is None:
            return None
        self._read()
        found = self._by_hash.get(hash_of(secret))
        # The hash of 256 random bits tells nothing about them, however long the comparison takes.
        if found is None or found.revoked is not None:
            return None
        return found if hmac.compare_digest(found.sha256, hash_of(secret)) else None

    def is_valid(self, id: str) -> bool:
        """Whether a token has not been revoked meanwhile."""
        return any(token.id == id for token in self.tokens())

    def _append(self, line: dict[str, Any]) -> None:
        # One write to a file that is open for appending is whole, also beside those of other processes.
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        content = (json.dumps(line) + "\n").encode()
        try:
            # This ends a line that was cut off where the disk was full. Nobody can remove that: another
            # process may have added a line behind it.
            if os.write(handle, b"\n" + content) <= len(content):
                raise OSError(f"{str(self.path)!r} cannot grow: the disk is full. Nothing was added.")
            os.fsync(handle)
        finally:
            os.close(handle)

    def _read(self) -> None:
        with self._reading:
            try:
                now = os.stat(self.path)
            except FileNotFoundError:
                self._seen, self._by_hash = None, {}
                return
            seen = (now.st_ino, now.st_size, now.st_mtime_ns)
            if seen != self._seen:
                self._by_hash, self._seen = self._parsed(), seen

    def _parsed(self) -> dict[str, Token]:
        found: dict[str, Token] = {}
        ids: dict[str, str] = {}
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
            if not line or _is_cut_off(line):
                continue
            try:
                plain = json.loads(line)
                if "revoke" in plain:
                    hash = ids[plain["revoke"]]
                    found[hash] = found[hash]._replace(revoked=float(plain["at"]))
                    continue
                token = Token(**plain)
                check_choice("role", token.role, tuple(ROLES))
            except (ValueError, KeyError, TypeError) as problem:
                raise ValueError(
                    f"line {number} of {str(self.path)!r} is not a token "
                    f"({problem}); mend or remove that line."
                ) from None
            found[token.sha256] = token
            ids[token.id] = token.sha256
        return found


def _is_cut_off(line: str) -> bool:
    """Whether a line is the beginning of one that could not be written; who wrote it was told so."""
    if line.endswith("}"):
        return False
    try:
        json.loads(line)
    except ValueError:
        return line.startswith("{")
    return False


def without_tokens(text: str) -> str:
    """A text without the secrets of tokens, for logs."""
    return FOUND.sub(lambda found: f"{found[1]}...", text)


def hash_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def tokens_of(store: Any, path: str | os.PathLike[str] | None = None) -> TokenFile | None:
    """The tokens of a store; None where the store is only in memory and no file is named.

    Args:
        store: A path or an address.
        path: The file; default: the store's own name with ``.tokens`` behind it. Of a PostgreSQL store: a
            file in the folder ``noisewise`` of the user's configuration, named by the database's address.
    """
    from noisewise.study.stores.address import MEMORY, POSTGRES, path_of

    if path is not None:
        return TokenFile(path)
    if not isinstance(store, str | os.PathLike) or str(store) == MEMORY:
        return None
    text = os.fspath(store)
    if text.startswith(POSTGRES):
        return TokenFile(_of_database(text))
    file = path_of(text)
    return TokenFile(file.with_name(file.name + ENDING))


def _of_database(address: str) -> Path:
    """A file for the tokens of a database, the same for everyone who signs in to it."""
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(address)
    where = [parts.hostname or "", str(parts.port or ""), *parse_qs(parts.query).get("host", ()), parts.path]
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "noisewise"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(where)).strip("-") or "postgres"
    return folder / f"{name}-{hash_of('|'.join(where))[:8]}{ENDING}"
