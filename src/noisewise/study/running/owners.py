"""Who runs a study: a mark on suggestions, by which those of a run that died are found again."""

import os
import re
import socket
import time
from pathlib import Path

_MARK = re.compile(r"run (?P<host>\S+) (?P<process>\d+) (?P<began>\d+)")


def mark() -> str:
    """Of this process: its machine, its number, and when it began, because numbers are used again."""
    return f"run {_host()} {os.getpid()} {_began(os.getpid())}"


def is_mark(by: str) -> bool:
    """Whether somebody is a run."""
    return _MARK.fullmatch(by) is not None


def is_left_behind(by: str | None) -> bool:
    """Whether a suggestion is reserved for a run on this machine that is no more."""
    # On a server, the name of a token stands before the mark.
    found = _MARK.fullmatch((by or "").rpartition(": ")[2])
    if found is None or found["host"] != _host():
        return False
    process = int(found["process"])
    if not _lives(process):
        return True
    began = _began(process)
    return began != 0 and int(found["began"]) != 0 and abs(began - int(found["began"])) > 2


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
