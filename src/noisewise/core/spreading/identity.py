"""What a process runs on: its versions and sources, which must agree, and its processor, which need not.

Results of a processor of another type have the same decisions and other last digits: other kernels of BLAS
and other instructions add in another order.
"""

import functools
import hashlib
import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import NamedTuple

from noisewise.core.native.verbs import extension
from noisewise.core.support.version import __version__

PACKAGE = Path(__file__).parents[2]
#: Libraries that compute, where they are installed; another version may compute something else.
LIBRARIES = ("numpy", "scipy", "numba")


class Identity(NamedTuple):
    """Of a process, as it is compared with that of another one."""

    noisewise: str
    python: str
    libraries: tuple[tuple[str, str], ...]
    sources: str  # a hash of ours
    processor: str

    def difference(self, here: "Identity") -> str | None:
        """What must not differ and does, in words; None if nothing does."""
        pairs = [("noisewise", self.noisewise, here.noisewise), ("Python", self.python, here.python)]
        there, own = dict(self.libraries), dict(here.libraries)
        pairs += [(name, there.get(name, "none"), own.get(name, "none")) for name in LIBRARIES]
        for name, theirs, ours in pairs:
            if theirs != ours:
                return f"{name} {theirs} there, and {ours} here"
        if self.sources != here.sources:
            return f"other sources of noisewise {self.noisewise} there than here"
        return None


@functools.cache
def identity() -> Identity:
    """Of this process."""
    return Identity(
        noisewise=__version__,
        python=platform.python_version(),
        libraries=tuple((name, version) for name in LIBRARIES if (version := _version(name))),
        sources=sources_hash(),
        processor=processor(),
    )


@functools.cache
def sources_hash() -> str:
    """A hash of all our sources, and of whether there are verbs in C."""
    digest = hashlib.sha256(b"C" if extension is not None else b"NumPy")
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


@functools.cache
def processor() -> str:
    """The type of this processor, as compilers and NumPy see it: the same word for equal ones."""
    from numpy._core._multiarray_umath import __cpu_features__ as features

    name, able = _seen_by_llvm()
    able += " ".join(sorted(feature for feature, there in features.items() if there))
    digest = hashlib.sha256(able.encode()).hexdigest()[:6]
    # A kernel of BLAS that was chosen by hand computes as another processor would.
    chosen = [word for word in (os.environ.get("OPENBLAS_CORETYPE"),) if word]
    return "-".join([platform.machine() or sys.platform, name, digest, *chosen])


def _seen_by_llvm() -> tuple[str, str]:
    """Its name and what it can do; machine code is made for exactly that."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return "any", ""
    chosen = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    name = chosen[0] or llvm.get_host_cpu_name()
    return name, chosen[1] if chosen[1] is not None else "" if chosen[
        0
    ] else llvm.get_host_cpu_features().flatten()


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None
