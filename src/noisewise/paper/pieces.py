"""The pieces of work: spread over processes, each kept in a file when done and never computed again."""

import functools
import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from noisewise.core.support.files import written_whole
from noisewise.paper.measurements import runs
from noisewise.paper.section import Outcome, Piece
from noisewise.simulation.sharing.processes import spread

#: The rooms that a result depends on; the words and charts around it may change without computing it again.
ROOMS = ("core", "actions", "design", "world", "policies", "simulation", "theory")
FOLDER = "computed"


def compute(
    pieces: Mapping[str, Piece], out: Path, jobs: int, progress: Callable[[int, int], None] | None = None
) -> dict[str, Outcome]:
    """The outcome of every piece, read from ``out`` if it is there already.

    Outcomes do not depend on the number of jobs. After Ctrl-C the pieces that are done stay.
    """
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{piece.function.__name__}-{_key(piece)}.json" for name, piece in pieces.items()}
    outcomes = {name: found for name, file in files.items() if (found := _read(file)) is not None}
    # Two sections may want the same piece of work: it is done once.
    waiting: dict[Path, list[str]] = {}
    for name, file in files.items():
        if name not in outcomes:
            waiting.setdefault(file, []).append(name)

    done = len(outcomes)

    def report() -> None:
        if progress is not None:
            progress(done, len(pieces))

    report()
    work = [(pieces[names[0]], file) for file, names in waiting.items()]
    for (_, file), _ in spread(_compute_and_keep, work, jobs, _code_of):
        done += len(waiting[file])
        report()
    for file, names in waiting.items():
        outcomes.update(dict.fromkeys(names, json.loads(file.read_text())))
    return {name: outcomes[name] for name in pieces}


def _code_of(work: tuple[Piece, Path]) -> str:
    """Pieces with the same rule run the same machine code."""
    piece, _ = work
    return str(piece.rule or piece.arguments.get("rule", piece.function.__name__))


def _compute_and_keep(work: tuple[Piece, Path]) -> None:
    piece, file = work
    with written_whole(file) as draft:
        draft.write_text(json.dumps(piece.function(**piece.arguments), allow_nan=False))


def _read(file: Path) -> Outcome | None:
    """What a file holds; None if it is not there or was damaged."""
    try:
        found: Outcome = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _key(piece: Piece) -> str:
    """A hash of the arguments, and of every source that the outcome depends on."""
    digest = hashlib.sha256(_rooms_hash())
    for module in (runs, sys.modules[piece.function.__module__]):
        digest.update(inspect.getsource(module).encode())
    digest.update(piece.function.__qualname__.encode())
    digest.update(json.dumps(piece.arguments, sort_keys=True).encode())
    return digest.hexdigest()[:20]


@functools.cache
def _rooms_hash() -> bytes:
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for room in ROOMS:
        for file in sorted((root / room).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.digest()
