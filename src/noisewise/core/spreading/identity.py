"""Who a worker is: its versions and sources, which must be ours, and how it computes, which need not."""

import functools
import hashlib
import platform
from pathlib import Path
from typing import NamedTuple

from noisewise.core.native.verbs import extension
from noisewise.core.spreading.arithmetic import arithmetic, version_of
from noisewise.core.support.version import __version__

PACKAGE = Path(__file__).parents[2]
#: Libraries that compute; another version may compute something else.
LIBRARIES = ("numpy", "scipy", "numba")


class Identity(NamedTuple):
    """Of a process, as it is compared with that of another one."""

    versions: dict[str, str]
    sources: str  # a hash of ours
    plain: str  # how it computes; see `arithmetic`
    compiled: str

    def difference(self, here: "Identity") -> str | None:
        """What must not differ and does, in words; None if nothing does."""
        for name, ours in here.versions.items():
            if (theirs := self.versions.get(name, "none")) != ours:
                return f"{name} {theirs} there, and {ours} here"
        if self.sources != here.sources:
            return f"other sources of noisewise {here.versions['noisewise']} there than here"
        return None


@functools.cache
def identity() -> Identity:
    """Of this process."""
    versions = {"noisewise": __version__, "Python": platform.python_version()}
    versions |= {name: version_of(name) for name in LIBRARIES}
    return Identity(versions, sources_hash(), arithmetic(compiled=False), arithmetic(compiled=True))


@functools.cache
def sources_hash() -> str:
    """A hash of all our sources, and of whether there are verbs in C."""
    digest = hashlib.sha256(b"C" if extension is not None else b"NumPy")
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]
