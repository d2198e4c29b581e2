"""Compiling a rule's loop, with a disk cache that notices every edit of our sources and of the rule's."""

import functools
import hashlib
import inspect
import os
import sys
import tempfile
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import noisewise
from noisewise.core.kernels import register_kernels
from noisewise.policies.rule import Rule
from noisewise.simulation.loop import Loop, make_loop

_lock = threading.Lock()


@functools.cache
def compiled_loop(rule: Rule) -> Loop:
    """The rule's loop as machine code; compiling takes seconds the first time, then it is cached."""
    import numba

    config: Any = numba.core.config

    with _lock:
        register_kernels()
        directory = cache_directory(rule)
        # Numba takes the folder from its configuration when the dispatcher is made: lend it ours.
        previous = config.CACHE_DIR
        config.CACHE_DIR = str(directory or previous)
        try:
            compiled: Loop = numba.njit(nogil=True, error_model="numpy", cache=directory is not None)(
                make_loop(rule)
            )
        finally:
            config.CACHE_DIR = previous
    return compiled


def cache_directory(rule: Rule) -> Path | None:
    """A folder for machine code made from exactly these sources; None if there is no place for it."""
    root = os.environ.get("NOISEWISE_CACHE_DIR")
    if root is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
        root = str(Path(home) if home else Path.home() / ".cache")
    directory = Path(root) / "noisewise" / _sources_hash(rule)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError:
        return None


def _sources_hash(rule: Rule) -> str:
    """A hash of our sources and of the modules that a rule from elsewhere is written in.

    Numba's own cache compares only the file of the outermost function: an edited kernel would keep
    answering with its old code.
    """
    import numba

    digest = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    digest.update(_own_sources())
    # Every function counts, also those that are not compiled: what they return is part of the machine
    # code's signature, and reading that back imports their modules.
    for field in fields(rule):
        function = getattr(rule, field.name)
        home = getattr(function, "__module__", None) or ""
        if callable(function) and not home.startswith("noisewise."):
            digest.update(f"{home}.{getattr(function, '__qualname__', '')}".encode())
            file = getattr(inspect.getmodule(function), "__file__", None)
            if file:
                digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:20]


@functools.cache
def _own_sources() -> bytes:
    digest = hashlib.sha256()
    home = Path(noisewise.__file__).parent
    for room in ("core", "policies", "simulation"):
        for path in sorted((home / room).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()
