"""Who runs a study: a mark on suggestions, by which those of a run that died are found again."""

import itertools
import os
import re
import socket
import time
from pathlib import Path

_MARK = re.compile(r"run (?P<host>\S+) (?P<process>\d+) (?P<began>\d+)(?: \d+)?")
_runs = itertools.count(1)


def mark() -> str:
    """Of a run: its machine and process, when that began (numbers are used again), and which of its runs."""
    return f"run {_host()} {os.getpid()} {_began(os.getpid())} {next(_runs)}"


def is_mark(by: str) -> bool:
    """Whether a name is that of a run."""
    return _MARK.fullmatch(by) is not None


def is_of(by: str | None, mark: str) -> bool:
    """Whether a suggestion is reserved for this very run."""
    return _without_token(by) == mark


def is_left_behind(by: str | None) -> bool:
    """Whether a suggestion is reserved for a run on this machine that has ended."""
    found = _MARK.fullmatch(_without_token(by))
    if found is None or found["host"] != _host():
        return False
    process = int(found["process"])
    if not _lives(process):
        return True
    began = _began(process)
    return began != 0 and int(found["began"]) != 0 and abs(began - int(found["began"])) > 2


def _without_token(by: str | None) -> str:
    """A mark; on a server, the name of a token comes first."""
    return (by or "").rpartition(": ")[2]


def _host() -> str:
    return re.sub(r"\s+", "-", socket.gethostname() or "localhost")


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OSError):
        return True
    return not _is_zombie(process)


def _is_zombie(process: int) -> bool:
    try:
        return (
            Path(f"/proc/{process}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0] == "Z"
        )
    except OSError:
        return False


def _began(process: int) -> int:
    """When a process began, in seconds since 1970; 0 where the system does not say."""
    try:
        ticks = int(
            Path(f"/proc/{process}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[19]
        )
        since_boot = float(Path("/proc/uptime").read_text("ascii").split()[0])
        return round(time.time() - since_boot + ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return 0
