"""What the last digits of results depend on: the processor as libraries see it, and their versions.

Decisions, that is which action was measured or recommended, are equal everywhere. Sums are not: another
kernel of BLAS, or machine code for another processor, adds in another order.
"""

import functools
import hashlib
import os
import platform
import sys
from pathlib import Path

import numpy as np

from noisewise.core.native.verbs import extension


def arithmetic(compiled: bool) -> str:
    """A text that is equal where results are equal to the last bit.

    Args:
        compiled: Whether machine code made by Numba computes, or Python with the verbs.
    """
    return f"{_plain()}; {_machine_code()}" if compiled else _plain()


def difference(there: str, here: str) -> str:
    """What two such texts differ in, in words."""
    theirs, ours = (text.replace(";", ",").split(", ") for text in (there, here))
    pairs = [
        f"{', '.join(own)} {where}"
        for own, where in (
            ([part for part in theirs if part not in ours], "there"),
            ([part for part in ours if part not in theirs], "here"),
        )
        if own
    ]
    return " and ".join(pairs)


@functools.cache
def _plain() -> str:
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    able = " ".join(sorted(name for name, there in features.items() if there))
    verbs = "NumPy verbs" if extension is None else f"{extension.instructions} verbs"
    return ", ".join(
        [
            f"{platform.machine() or sys.platform} {_short(able)}",
            _blas(),
            f"numpy {np.__version__}",
            f"scipy {version_of('scipy')}",
            " ".join(platform.libc_ver()).strip() or platform.system(),
            verbs,
        ]
    )


def _blas() -> str:
    """The kernels that NumPy's BLAS has chosen for this processor.

    Other packages bring a BLAS of their own, which is there once they are imported: it does not count.
    """
    from threadpoolctl import threadpool_info

    there = [one for one in threadpool_info() if one["user_api"] == "blas"]
    folders = [Path(one["filepath"]).parent for one in there]
    of_numpy = ["numpy" in folder.as_posix() for folder in folders]
    if not any(of_numpy):  # the system's
        of_numpy = [not folder.name.endswith(".libs") for folder in folders]
    found = {
        f"{one['internal_api']} {one.get('architecture') or ''}".strip()
        for one, is_own in zip(there, of_numpy, strict=True)
        if is_own
    }
    return " ".join(sorted(found)) or "no known BLAS"


@functools.cache
def _machine_code() -> str:
    name, able = seen_by_llvm()
    return f"numba {version_of('numba')} for {name} {_short(able)}"


@functools.cache
def seen_by_llvm() -> tuple[str, str]:
    """The processor's name and what it can do, as machine code is made for it."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return "no processor", ""
    # Numba takes these from the environment, if they are there.
    name, able = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    if able is None:
        able = "" if name else llvm.get_host_cpu_features().flatten()
    return name or llvm.get_host_cpu_name(), able


def version_of(library: str) -> str:
    """The version that is installed; "none" if it is not."""
    import importlib.metadata  # loads as much as some of our rooms

    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]
