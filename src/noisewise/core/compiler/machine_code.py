# mypy: disable-error-code="no-untyped-call,import-untyped"
"""Machine code of a function, kept on disk and called by its address."""

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import types
from numba.core.caching import FunctionCache

from noisewise.core.compiler.kernels import compiler_option, register_kernels
from noisewise.core.compiler.structs import Struct, packed

#: One thread compiles at a time: Numba asks for it.
_lock = threading.Lock()


class MachineCode:
    """A function that is compiled for each combination of types that it is called with."""

    def __init__(self, function: Callable[..., Any], directory: Path | None) -> None:
        self.function, self.directory = function, directory
        self._known: dict[Any, Any] = {}
        self.made = 0  # how often code was made here, and not read

    def compiled(self, kinds: tuple[Any, ...], make_signature: Callable[..., Any]) -> Any:
        """The machine code for arguments of these types."""
        found = self._known.get(kinds)
        if found is None:
            with _lock:
                found = self._known.get(kinds)
                if found is None:
                    found = self._known[kinds] = self._compile(make_signature(*kinds))
        return found

    @property
    def folder(self) -> Path | None:
        """Where its machine code is kept, which depends on where we are installed; None: nowhere."""
        if self.directory is None:
            return None
        with _lock, self._lent_folder():
            return Path(FunctionCache(self.function).cache_path)

    def _compile(self, signature: Any) -> Any:
        register_kernels()
        options: Any = compiler_option("WholeCompiler") | {"cache": self.directory is not None}
        with self._lent_folder():
            code = numba.cfunc(signature, error_model="numpy", **options)(self.function)
        self.made += not code.cache_hits
        return code

    @contextlib.contextmanager
    def _lent_folder(self) -> Iterator[None]:
        """Numba takes the folder from its configuration when the function is made: lend it ours."""
        config: Any = numba.core.config
        previous = config.CACHE_DIR
        config.CACHE_DIR = str(self.directory or previous)
        try:
            yield
        finally:
            config.CACHE_DIR = previous


class MachineLoop(MachineCode):
    """A function of NamedTuples and whole numbers that returns a whole number."""

    def __init__(self, function: Callable[..., Any], directory: Path | None) -> None:
        super().__init__(function, directory)
        self._callable: dict[Any, Any] = {}

    def __call__(self, *given: Any) -> int:
        """Call it; other threads may run meanwhile."""
        blocks = [packed(value) for value in given]
        kinds = tuple(block.kind for block in blocks)
        passed = [block.address if isinstance(block.kind, Struct) else block.words[0] for block in blocks]
        function = self._callable.get(kinds)
        if function is None:
            prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *map(_passed_as, kinds))
            function = self._callable[kinds] = prototype(self.compiled(kinds, types.int64).address)
        with _noticing() as raised:
            returned = int(function(*passed))
        if raised:
            raise raised[0]
        return returned


#: What machine code has raised, by the thread that runs it.
_raised: dict[int, list[BaseException]] = {}
_before = sys.unraisablehook


def _notice(unraisable: Any) -> None:
    """Keep what is raised in machine code: behind an address Numba can only print it, and goes on with 0."""
    if threading.get_ident() in _raised:
        _raised[threading.get_ident()].append(unraisable.exc_value)
    else:
        _before(unraisable)


@contextlib.contextmanager
def _noticing() -> Iterator[list[BaseException]]:
    """The list of what machine code raises in this thread meanwhile."""
    global _before
    if sys.unraisablehook is not _notice:
        _before, sys.unraisablehook = sys.unraisablehook, _notice
    found = _raised[threading.get_ident()] = []
    try:
        yield found
    finally:
        del _raised[threading.get_ident()]


def _passed_as(kind: Any) -> Any:
    """What C calls it."""
    if isinstance(kind, Struct):
        return ctypes.c_void_p
    return ctypes.c_bool if kind == types.boolean else ctypes.c_int64
