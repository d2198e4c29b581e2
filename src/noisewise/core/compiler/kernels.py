"""Functions that run as plain NumPy and, when a simulation asks for it, compiled by Numba.

``@kernel`` only records a function: importing noisewise never imports Numba, and a live policy never
waits for a compiler. ``register_kernels`` tells Numba about everything recorded so far. A kernel
compiles from its own source unless ``@compiled_body`` gives it loops; the two are held equal by tests.
A verb is not compiled at all: ``calls_verb`` says which function of the extension module it is.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

#: Reordering sums and fusing multiply-adds is safe for us; assuming the absence of NaN is not.
REORDERED = frozenset({"reassoc", "contract"})
#: The versions of Numba that `core/compiler/parts.py` was tried with.
PARTS_TRIED_WITH = frozenset({(0, 68)})


class _Kernel(NamedTuple):
    function: Callable[..., Any]
    body: Callable[..., Any]
    flags: frozenset[str]
    inline: bool


class Call(NamedTuple):
    """How compiled code calls a verb; the words are explained in `calls_verb`."""

    function: Callable[..., Any]
    verb: str
    arguments: str
    returns: str


_waiting: list[_Kernel | Call] = []
_twins: dict[str, str] = {}


def has_twins(module: str, twins: str) -> None:
    """Say in which module it stands how a module's functions are compiled.

    It lies beside it, and is not loaded before a simulation compiles something.
    """
    _twins[module] = twins


def twins_of(module: str) -> str | None:
    """The module that says how a module's functions are compiled, loaded; None if there is no such module."""
    twins = _twins.get(module)
    if twins is not None:
        import_module(twins)
    return twins


def kernel(function: Function) -> Function:
    """Record a function that compiled code may call; in the interpreter it stays as it is."""
    _waiting.append(_Kernel(function, function, frozenset(), inline=True))
    return function


def compiled_body(
    of: Callable[..., Any] | None = None, *, flags: frozenset[str] = frozenset(), inline: bool = True
) -> Callable[[Function], Function]:
    """Record the decorated function as what the compiler uses in place of ``of`` (default: itself)."""

    def record(loops: Function) -> Function:
        _waiting.append(_Kernel(of or loops, loops, flags, inline))
        return loops

    return record


def large_kernel(function: Function) -> Function:
    """A kernel that is called, not inlined: too large to be compiled again at every place that uses it."""
    return compiled_body(inline=False)(function)


def calls_verb(function: Callable[..., Any], arguments: str, returns: str = "", *, verb: str = "") -> None:
    """Say which verb of the extension module compiled code calls for a function, and what it hands over.

    Args:
        function: What kernels call.
        arguments: A word for each argument of the verb, in its order, with where it comes from:
            ``struct:model`` an address, ``field:model.means`` the array in a field, ``floats:values``,
            ``ints:rows`` and ``mask:allowed`` arrays, ``int:action`` and ``float:sigma`` numbers,
            ``len:values`` the length of an array; ``layout``; ``new:model.means`` an array as long as that
            one, which is what the function returns (``new:model.half*model.half`` a matrix), and
            ``room:model.means`` one that is needed during the call.
        returns: "int", "float", or nothing.
        verb: Its name, if it is not that of the function.
    """
    _waiting.append(Call(function, verb or function.__name__, arguments, returns))


def register_kernels() -> None:
    """Make all kernels recorded so far callable from Numba code."""
    for module in tuple(_twins):
        twins_of(module)
    calls: Any = import_module("noisewise.core.compiler.calls")
    calls.know_symbols()
    while _waiting:
        entry = _waiting.pop(0)
        if isinstance(entry, Call):
            calls.register_call(entry)
        else:
            _register_kernel(entry)


def _register_kernel(entry: _Kernel) -> None:
    from numba.extending import overload

    options: Any = {
        "fastmath": set(entry.flags),
        "forceinline": entry.inline,
        # As in NumPy: without a branch at every division to raise ZeroDivisionError.
        "error_model": "numpy",
        # Kernels are not called from C.
        "no_cfunc_wrapper": True,
    }
    options |= compiler_option("LightPartCompiler")
    overload(entry.function, strict=False, jit_options=options)(_typed(entry.body))


def compiler_option(name: str) -> dict[str, Any]:
    """The option that makes Numba use a compiler of `parts.py`, with versions this was tried with."""
    import numba

    if numba.version_info.short not in PARTS_TRIED_WITH:
        return {}
    return {"pipeline_class": getattr(import_module("noisewise.core.compiler.parts"), name)}


def _typed(body: Callable[..., Any]) -> Callable[..., Any]:
    """The function Numba calls with types: whatever they are, the answer is ``body``."""

    def choose_body(*_: Any) -> Callable[..., Any]:
        return body

    # Numba compares the two signatures, and passes arguments by the names of this one.
    choose_body.__signature__ = inspect.signature(body)  # type: ignore[attr-defined]
    return choose_body
