"""Compiling a rule's loop, with a disk cache that notices every edit of our sources and of the rule's."""

import ast
import functools
import hashlib
import os
import sys
from dataclasses import fields
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise.actions.oracle_set import Oracle
from noisewise.core.compiler.kernels import twins_of
from noisewise.core.native.verbs import engine_words, extension
from noisewise.core.spreading.arithmetic import seen_by_llvm
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.cache_folder import private_folder
from noisewise.simulation.loop import Loop
from noisewise.simulation.set_loop import SetLoop

if TYPE_CHECKING:
    from noisewise.core.compiler.machine_code import MachineLoop


@functools.cache
def compiled_loop(rule: Rule) -> Loop:
    """The rule's loop as machine code; compiling takes a second or two the first time, then it is cached."""
    check_compiler()
    from noisewise.simulation.behind import CompiledLoop

    return CompiledLoop(rule, cache_directory(rule), _shared_loop(cache_directory()))


@functools.cache
def compiled_set_loop(rule: Rule, oracle: Oracle) -> SetLoop:
    """The rule's loop on sets of one kind as machine code."""
    check_compiler()
    from noisewise.simulation.behind import CompiledSetLoop

    return CompiledSetLoop(rule, oracle, cache_directory(rule, oracle))


@functools.cache
def _shared_loop(directory: Path | None) -> "MachineLoop":
    from noisewise.simulation.behind import shared_loop

    return shared_loop(directory)


def check_compiler() -> None:
    """Refuse to compile where there is no compiler, or nothing for its code to call."""
    if not _has_numba():
        raise ModuleNotFoundError(
            "`compile` must be False or left out here: compiled simulations need Numba, which is not "
            "installed: pip install 'noisewise[compiled]'."
        )
    if extension is None:
        raise ModuleNotFoundError(
            "`compile` must be False or left out here: compiled simulations call the compiled verbs; "
            f"got {engine_words()}"
        )


def _has_numba() -> bool:
    try:
        return find_spec("numba") is not None
    except ImportError:  # something refuses to find it
        return False


def cache_directory(rule: Rule | None = None, oracle: Oracle | None = None) -> Path | None:
    """A folder for machine code made from exactly these sources; None if there is no place for it.

    Without a rule: for the loop that all rules share.
    """
    return private_folder(cache_root(), "noisewise", _sources_hash(rule, oracle))


def is_cached(rule: Rule, oracle: Oracle | None = None) -> bool:
    """Whether there is machine code made from exactly these sources."""
    # Where there is none of any rule, Numba need not be loaded to see that.
    if not any((cache_root() / "noisewise").glob("*/**/*.nbi")):
        return False
    folder = cache_directory(rule, oracle)
    return folder is not None and any(folder.rglob("*.nbi"))


def cache_root() -> Path:
    """Where machine code is kept, in folders for our sources."""
    root = os.environ.get("NOISEWISE_CACHE_DIR")
    if root is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
        return Path(home) if home else Path.home() / ".cache"
    return Path(root)


def _sources_hash(rule: Rule | None, oracle: Oracle | None) -> str:
    """A hash of every source that the machine code is made from, and of what it calls.

    Numba's own cache compares only the file of the outermost function: an edited kernel would keep
    answering with its old code. Rules that import nothing of an edited file keep theirs.
    """
    import numba

    from noisewise.simulation.behind import make_glue  # so that all of it is loaded, and counts

    # The processor counts as well: homes are shared between machines, and Numba's index is no database.
    parts = sys.version, numba.__version__, _extension_hash(), *seen_by_llvm()
    digest = hashlib.sha256(" ".join(parts).encode())
    homes = {make_glue.__module__}
    functions = [] if rule is None else _functions_of(rule)
    if rule is not None and rule.on_sets is not None and oracle is not None:
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


def _functions_of(rule: Rule) -> list[Any]:
    """What a rule declares, functions and all; with restarts, what the rule within declares as well."""
    inner = [] if rule.around is None else _functions_of(rule.around)
    return [getattr(rule, field.name) for field in fields(rule)] + inner


@functools.cache
def _extension_hash() -> str:
    """Machine code calls the extension module as it is, struct for struct."""
    found = b"" if extension is None else Path(extension.__file__).read_bytes()
    return hashlib.sha256(found).hexdigest()


def _sources_behind(modules: set[str]) -> dict[str, bytes]:
    """The sources of these modules, of their twins, and of all that they import from this package."""
    sources: dict[str, bytes] = {}
    waiting = set(modules)
    while waiting:
        name = waiting.pop()
        sources[name], imported = _source_of(name)
        waiting |= {*imported, twins_of(name) or name} - sources.keys()
    return sources


def _source_of(name: str) -> tuple[bytes, set[str]]:
    """A module's source, and the modules of this package that it imports."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        return b"", set()
    source, suffix = Path(file).read_bytes(), Path(file).suffix
    if suffix in {Path(each).suffix for each in EXTENSION_SUFFIXES}:
        return source, set()
    if suffix != ".py":
        # A page with code on it: what it imports cannot be read off, so everything counts.
        return source, {loaded for loaded in sys.modules if loaded.startswith("noisewise.")}
    return source, {found for found in _imported_by(source) if found in sys.modules}


@functools.cache
def _imported_by(source: bytes) -> frozenset[str]:
    """Names in this package that a source imports; some are modules."""
    imported = set()
    # What functions import themselves is no part of machine code, and is loaded or not as it happens.
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return frozenset(name for name in imported if name.startswith("noisewise."))
