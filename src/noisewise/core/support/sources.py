"""A hash of our sources, to know whether a result that was kept would come out the same now."""

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
#: Python, and the verbs in C; where the package is installed, only the first of them are there.
ENDINGS = (".py", ".c", ".h")


@functools.cache
def sources_hash(rooms: Sequence[str], *others: Path) -> str:
    """A hash of all sources in some rooms, and of other files.

    Args:
        rooms: Folders of this package, such as ``("core", "actions")``.
        others: Files of other packages.
    """
    digest = hashlib.sha256()
    for room in rooms:
        for path in sorted((PACKAGE / room).rglob("*")):
            if path.suffix in ENDINGS:
                digest.update(path.relative_to(PACKAGE).as_posix().encode())
                digest.update(path.read_bytes())
    for path in others:
        digest.update(path.name.encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()[:20]
