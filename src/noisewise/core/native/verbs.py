"""Verbs with two bodies: NumPy, which reads like the equation, and C, which runs where it was built.

``@verb`` decorates the NumPy body and returns the compiled function of the same name, which reads the model's
arrays in place. It hands over to the NumPy body what it does not know: other layouts and types, and models of
other classes. Without the extension the NumPy body does the work; nothing else changes but the speed. The
environment variable NOISEWISE_VERBS chooses: "numpy" does without the extension, "baseline" without
the instructions of newer processors.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeVar

Body = TypeVar("Body", bound=Callable[..., Any])

#: The extension module; None where it was not built, or is not wanted.
extension: Any = None
if os.environ.get("NOISEWISE_VERBS") != "numpy":
    with contextlib.suppress(ImportError):
        extension = import_module("noisewise.core.native._verbs")

_numpy_bodies: dict[Any, Callable[..., Any]] = {}


def verb(body: Body) -> Body:
    """The compiled function of the same name, or the NumPy body itself where there is none."""
    if extension is None:
        return body
    if not hasattr(extension, body.__name__):
        raise ImportError(f"The compiled verbs lack {body.__name__!r}: build them again, with `make demo`.")
    compiled: Body = getattr(extension, body.__name__)
    extension.set_body(body.__name__, body)
    _numpy_bodies[compiled] = body
    return compiled


def numpy_body(function: Body) -> Body:
    """The NumPy body of a verb; of any other function, itself."""
    body: Body = _numpy_bodies.get(function, function)  # type: ignore[assignment]
    return body


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether a function is a verb's compiled body."""
    return function in _numpy_bodies


@contextlib.contextmanager
def numpy_verbs() -> Iterator[None]:
    """Let all verbs run as NumPy for a while, in this whole process: to compare the two."""
    if extension is None:
        yield
        return
    before = extension.use_numpy(True)
    try:
        yield
    finally:
        extension.use_numpy(before)


def engine_words() -> str:
    """How the verbs run here, for people."""
    if extension is not None:
        return f"compiled verbs ({extension.instructions})"
    if os.environ.get("NOISEWISE_VERBS") == "numpy":
        return "NumPy verbs, as NOISEWISE_VERBS asks for"
    return (
        "NumPy verbs: the compiled ones were not built, so rounds take about 20 times longer. "
        "With a C compiler, install noisewise again (in a clone: `make clean`, then `make demo`)."
    )
