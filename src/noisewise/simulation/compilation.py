"""Compiling a rule's loop, with a disk cache that notices every edit of our sources and of the rule's."""

import ast
import functools
import hashlib
import os
import sys
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

from noisewise.actions.oracle_set import Oracle
from noisewise.core.compiler.kernels import compiler_option, register_kernels, twin_modules
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.cache_folder import private_folder
from noisewise.simulation.loop import Loop, make_loop
from noisewise.simulation.set_loop import SetLoop, make_set_loop

_lock = threading.Lock()


@functools.cache
def compiled_loop(rule: Rule) -> Loop:
    """The rule's loop as machine code; compiling takes seconds the first time, then it is cached."""
    compiled: Loop = _compiled(make_loop(rule), cache_directory(rule))
    return compiled


@functools.cache
def compiled_set_loop(rule: Rule, oracle: Oracle) -> SetLoop:
    """The rule's loop on sets of one kind as machine code."""
    compiled: SetLoop = _compiled(make_set_loop(rule, oracle), cache_directory(rule, oracle))
    return compiled


def _compiled(loop: Any, directory: Path | None) -> Any:
    import numba

    config: Any = numba.core.config

    with _lock:
        register_kernels()
        # Numba takes the folder from its configuration when the dispatcher is made: lend it ours.
        previous = config.CACHE_DIR
        config.CACHE_DIR = str(directory or previous)
        try:
            options: Any = compiler_option("WholeCompiler")
            return numba.njit(nogil=True, error_model="numpy", cache=directory is not None, **options)(loop)
        finally:
            config.CACHE_DIR = previous


def cache_directory(rule: Rule, oracle: Oracle | None = None) -> Path | None:
    """A folder for machine code made from exactly these sources; None if there is no place for it."""
    root = os.environ.get("NOISEWISE_CACHE_DIR")
    if root is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
        root = str(Path(home) if home else Path.home() / ".cache")
    return private_folder(Path(root), "noisewise", _sources_hash(rule, oracle))


def _sources_hash(rule: Rule, oracle: Oracle | None = None) -> str:
    """A hash of every source that the rule's machine code is made from.

    Numba's own cache compares only the file of the outermost function: an edited kernel would keep
    answering with its old code. Rules that import nothing of an edited file keep theirs.
    """
    import numba

    digest = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    homes = {make_loop.__module__, register_kernels.__module__, *twin_modules()}
    functions = [getattr(rule, field.name) for field in fields(rule)]
    if oracle is not None and rule.on_sets is not None:
        homes.add(make_set_loop.__module__)
        functions += [rule.on_sets.aim, rule.on_sets.parameter, *oracle]
    # Every function counts, also those that are not compiled: what they return is part of the machine
    # code's signature, and reading that back imports their modules.
    for function in functions:
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
        # A page with code on it: what it imports cannot be read off, so everything counts.
        return source, {loaded for loaded in sys.modules if loaded.startswith("noisewise.")}
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return source, {found for found in imported if found.startswith("noisewise.") and found in sys.modules}
