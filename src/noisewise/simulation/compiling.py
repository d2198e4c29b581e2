"""Compiling a rule's loop, with a disk cache that notices every edit of our sources and of the rule's."""

import ast
import functools
import hashlib
import os
import sys
import tempfile
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

from noisewise.core.kernels import KERNEL_BODIES, register_kernels
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
    """A hash of every source that the rule's machine code is made from.

    Numba's own cache compares only the file of the outermost function: an edited kernel would keep
    answering with its old code. Rules that import nothing of an edited file keep theirs.
    """
    import numba

    digest = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    homes = {make_loop.__module__, register_kernels.__module__, *KERNEL_BODIES}
    # Every function counts, also those that are not compiled: what they return is part of the machine
    # code's signature, and reading that back imports their modules.
    for field in fields(rule):
        function = getattr(rule, field.name)
        if callable(function):
            home = getattr(function, "__module__", None) or ""
            digest.update(f"{home}.{getattr(function, '__qualname__', '')}".encode())
            homes.add(home)
    for name, source in sorted(_sources_behind(homes).items()):
        digest.update(name.encode())
        digest.update(source)
    return digest.hexdigest()[:20]


def _sources_behind(modules: set[str]) -> dict[str, bytes]:
    """The sources of these modules and, of those in this package, of all that they import from it."""
    sources: dict[str, bytes] = {}
    waiting = set(modules)
    while waiting:
        name = waiting.pop()
        sources[name], imported = _source_of(name)
        waiting |= imported - sources.keys()
    return sources


def _source_of(name: str) -> tuple[bytes, set[str]]:
    """A module's source, and the modules of this package that it imports."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        return b"", set()
    source = Path(file).read_bytes()
    if Path(file).suffix != ".py":
        return source, set()  # a rule written on a page of documentation, or in a notebook
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return source, {found for found in imported if found.startswith("noisewise.") and found in sys.modules}
