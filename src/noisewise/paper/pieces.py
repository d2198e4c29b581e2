"""The pieces of work: spread over processes, each kept in a file when done and never computed again."""

import hashlib
import inspect
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noisewise.core.parallel import spread
from noisewise.core.support.files import written_whole
from noisewise.core.support.sources import sources_hash
from noisewise.paper.measurements import runs
from noisewise.paper.section import Outcome, Piece

#: The rooms that a result depends on; the words and charts around it may change without computing it again.
ROOMS = ("core", "actions", "designs", "world", "policies", "simulation", "theory")
FOLDER = "computed"


def compute(pieces: Mapping[str, Piece], out: Path, on: Any = None) -> dict[str, Outcome]:
    """The outcome of every piece, read from ``out`` if it is there already.

    After Ctrl-C the pieces that are done stay.
    """
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{piece.function.__name__}-{_key(piece)}.json" for name, piece in pieces.items()}
    outcomes = {file: found for file in files.values() if (found := _read(file)) is not None}
    # Two sections may want the same piece of work: it is done once.
    missing = {file: pieces[name] for name, file in files.items() if file not in outcomes}
    label = f"{len(missing)} of {len(set(files.values()))} pieces"
    for (file, _), outcome in spread(_compute, missing.items(), on, label=label):
        # Here, and not where it was computed: other machines have other disks.
        with written_whole(file) as draft:
            draft.write_text(json.dumps(outcome, allow_nan=False))
        outcomes[file] = outcome
    return {name: outcomes[file] for name, file in files.items()}


def _compute(work: tuple[Path, Piece]) -> Outcome:
    piece = work[1]
    return piece.function(**piece.arguments)


def _read(file: Path) -> Outcome | None:
    """The outcome in a file; None if it is not there or was damaged."""
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _key(piece: Piece) -> str:
    """A hash of the arguments, and of every source that the outcome depends on."""
    digest = hashlib.sha256(sources_hash(ROOMS).encode())
    for module in (runs, sys.modules[piece.function.__module__]):
        digest.update(inspect.getsource(module).encode())
    digest.update(piece.function.__qualname__.encode())
    digest.update(json.dumps(piece.arguments, sort_keys=True).encode())
    return digest.hexdigest()[:20]
