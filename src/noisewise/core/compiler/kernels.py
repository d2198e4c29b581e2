"""Functions that run as plain NumPy and, when a simulation asks for it, compiled by Numba.

``@kernel`` only records a function: importing noisewise never imports Numba, and a live policy never
waits for a compiler. ``register_kernels`` tells Numba about everything recorded so far. A kernel
compiles from its own source unless ``@compiled_body`` gives it loops; the two are held equal by tests.
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


_waiting: list[_Kernel] = []
_twins: set[str] = set()
_hot: set[str] = set()


def has_twins(loops: str) -> None:
    """Say in which module the compiled bodies of a module's functions live.

    It lies beside it, and is not loaded before a simulation compiles something.
    """
    _twins.add(loops)


def twin_modules() -> list[str]:
    """All modules with compiled bodies that were named so far."""
    return sorted(_twins)


def used_in_every_round(module: str) -> None:
    """Say that all rules use a module's kernels in every round: they get all of LLVM's passes."""
    _hot.add(module)


def kernel(function: Function) -> Function:
    """Record a function that compiled code may call; in the interpreter it stays as it is."""
    _waiting.append(_Kernel(function, function, frozenset(), inline=True))
    return function


def compiled_body(
    of: Callable[..., Any] | None = None, *, flags: frozenset[str] = frozenset(), inline: bool = True
) -> Callable[[Function], Function]:
    """Record the decorated function as what the compiler uses in place of ``of`` (default: itself).

    Handing a model to a function that is not inlined costs as much as ten additions per array in it, so
    hot kernels are inlined; cold ones are not, to compile faster.
    """

    def record(loops: Function) -> Function:
        _waiting.append(_Kernel(of or loops, loops, flags, inline))
        return loops

    return record


def large_kernel(function: Function) -> Function:
    """A kernel that is called, not inlined: too large to be compiled again at every place that uses it."""
    return compiled_body(inline=False)(function)


def register_kernels() -> None:
    """Make all kernels recorded so far callable from Numba code."""
    from numba.extending import overload

    for module in twin_modules():
        import_module(module)
    while _waiting:
        entry = _waiting.pop(0)
        options: Any = {
            "fastmath": set(entry.flags),
            "forceinline": entry.inline,
            # As in NumPy: without a branch at every division to raise ZeroDivisionError.
            "error_model": "numpy",
            # Kernels are not called from C.
            "no_cfunc_wrapper": True,
        }
        hot = entry.function.__module__ in _hot
        options |= compiler_option("PartCompiler" if hot else "LightPartCompiler")
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
