"""Objects on their way to another process, as pickles; refused where unpacking would run a person's own code.

Unpacking a function or a class imports its module. That of an installed package is there to be imported; that
of a script, a notebook or a file beside it may measure, print or write files when it is, and what was typed
into `__main__` cannot be imported at all. So only what comes from installed packages travels.
"""

import functools
import importlib
import io
import marshal
import pickle
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import CellType, FunctionType
from typing import Any

OURS = Path(__file__).parents[2]


class StaysError(Exception):
    """Why something cannot be sent to another process."""


def packed(content: Any, *, imported: bool = False) -> bytes | None:
    """The content as bytes for `pickle.loads`; None if it should stay in this process.

    Args:
        content: What to send.
        imported: Whether modules that are not installed may be imported as well, because whoever unpacks it
            was started for such work; only what was typed into `__main__` stays then.
    """
    file = io.BytesIO()
    packer = _Packer(file, protocol=pickle.HIGHEST_PROTOCOL)
    packer.travels = _is_importable if imported else _is_installed
    try:
        packer.dump(content)
    except (StaysError, pickle.PicklingError, TypeError, ValueError, AttributeError, RecursionError):
        return None
    return file.getvalue()


class _Packer(pickle.Pickler):
    travels: Callable[[str], bool]

    def reducer_override(self, thing: Any) -> Any:
        """Look at every function and class; a function made within another one is sent as its code."""
        if not isinstance(thing, FunctionType | type):
            return NotImplemented
        if not self.travels(thing.__module__):
            raise StaysError(f"{thing.__qualname__} is not from a package that others have")
        if isinstance(thing, type) or "<" not in thing.__qualname__:  # <locals> or <lambda>
            return NotImplemented
        inside = tuple(cell.cell_contents for cell in thing.__closure__ or ())
        code = marshal.dumps(thing.__code__)  # the other process runs the same Python
        return _function, (thing.__module__, code, thing.__defaults__, thing.__kwdefaults__, inside)


def _function(
    module: str, code: bytes, defaults: Any, named_defaults: dict[str, Any] | None, inside: tuple[Any, ...]
) -> FunctionType:
    """A function made within another one, with what it took from there."""
    names = importlib.import_module(module).__dict__
    made = FunctionType(marshal.loads(code), names, None, defaults, tuple(map(CellType, inside)))
    made.__kwdefaults__ = named_defaults
    return made


def _is_importable(name: str) -> bool:
    """Whether there is a module of this name that another process may have."""
    return name in sys.modules and name not in ("__main__", "__mp_main__")


@functools.cache
def _is_installed(name: str) -> bool:
    """Whether a module belongs to Python, to this package, or to one that is installed."""
    module = sys.modules.get(name)
    if module is None or name in ("__main__", "__mp_main__"):
        return False
    file = getattr(module, "__file__", None)
    if file is None:
        return name in sys.builtin_module_names
    paths = sysconfig.get_paths()
    homes = {Path(paths[kind]).resolve() for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    return any(home in Path(file).resolve().parents for home in {*homes, OURS})
