"""Functions that run as plain NumPy and, when a simulation asks for it, compiled by Numba.

``@kernel`` only records a function: importing noisewise never imports Numba, and a live policy never
waits for a compiler. ``register_kernels`` tells Numba about everything recorded so far. A kernel
compiles from its own source unless ``@compiled_body`` gives it loops; the two are held equal by tests.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

#: Reordering sums and fusing multiply-adds is safe for us; assuming the absence of NaN is not.
REORDERED = frozenset({"reassoc", "contract"})

_waiting: list[tuple[Callable[..., Any], Callable[..., Any], frozenset[str]]] = []


def kernel(function: Function) -> Function:
    """Record a function that compiled code may call; in the interpreter it stays as it is."""
    _waiting.append((function, function, frozenset()))
    return function


def compiled_body(
    of: Callable[..., Any], flags: frozenset[str] = frozenset()
) -> Callable[[Function], Function]:
    """Record the decorated function as what the compiler uses in place of ``of``."""

    def record(loops: Function) -> Function:
        _waiting.append((of, loops, flags))
        return loops

    return record


def register_kernels() -> None:
    """Make all kernels recorded so far callable from Numba code."""
    from numba.extending import overload

    # The loops live apart: a live policy never loads them.
    import_module("noisewise.core.loops")
    while _waiting:
        function, body, flags = _waiting.pop(0)
        overload(function, strict=False, jit_options={"fastmath": set(flags)})(_typed(body))


def _typed(body: Callable[..., Any]) -> Callable[..., Any]:
    """The function Numba calls with types: whatever they are, the answer is ``body``."""

    def choose_body(*_: Any) -> Callable[..., Any]:
        return body

    # Numba compares the two signatures, and passes arguments by the names of this one.
    choose_body.__signature__ = inspect.signature(body)  # type: ignore[attr-defined]
    return choose_body
