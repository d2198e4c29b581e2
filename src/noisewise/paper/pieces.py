"""The pieces of work: spread over processes, each kept in a file when done and never computed again."""

import hashlib
import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from noisewise.core.spreading.arithmetic import arithmetic
from noisewise.core.spreading.tasks import Kit
from noisewise.core.spreading.workers import Workforce, mixture, opened
from noisewise.core.support.files import written_whole
from noisewise.core.support.sources import sources_hash
from noisewise.paper.measurements import runs
from noisewise.paper.measurements.runs import named_world, ready
from noisewise.paper.section import Outcome, Piece
from noisewise.policies.registry import rule_named
from noisewise.simulation.engine import is_available
from noisewise.simulation.machine_code import PackedCode, compiled_code, install_code
from noisewise.simulation.sharing.processes import spread
from noisewise.simulation.simulate import make_run

#: The rooms that a result depends on; the words and charts around it may change without computing it again.
ROOMS = ("core", "actions", "designs", "world", "policies", "simulation", "theory")
FOLDER = "computed"
#: Rounds of one rule in all pieces together, from which on machine code is made for a cluster.
MANY_ROUNDS = 2_000_000


class KeptOutcome(NamedTuple):
    """An outcome as it is kept in a file."""

    outcome: Outcome
    arithmetic: str = ""  # on which processor and with which libraries


class Work(NamedTuple):
    """A piece that is to be computed, and the file for its outcome."""

    piece: Piece
    file: Path
    code: str | None = None  # the rule whose machine code it is handed, if any


def compute(
    pieces: Mapping[str, Piece],
    out: Path,
    jobs: int,
    progress: Callable[[int, int], None] | None = None,
    on: Any = None,
    mixed: bool = False,
) -> dict[str, Outcome]:
    """The outcome of every piece, read from ``out`` if it is there already.

    Outcomes do not depend on the number of jobs. After Ctrl-C the pieces that are done stay.
    """
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{piece.function.__name__}-{_key(piece)}.json" for name, piece in pieces.items()}
    kept = {name: found for name, file in files.items() if (found := _read(file)) is not None}
    outcomes = {name: found.outcome for name, found in kept.items()}
    # Two sections may want the same piece of work: it is done once.
    waiting: dict[Path, list[str]] = {}
    for name, file in files.items():
        if name not in outcomes:
            waiting.setdefault(file, []).append(name)

    def report() -> None:
        if progress is not None:
            progress(len(outcomes), len(pieces))

    with opened(on) as workers:
        if waiting and not mixed:
            _refuse_mixture(folder, list(kept.values()), workers)
        report()
        todo = [Work(pieces[names[0]], file) for file, names in waiting.items()]
        for work, found in _computed(todo, jobs, workers):
            # Here, and not where it was computed: other machines have other disks.
            with written_whole(work.file) as draft:
                draft.write_text(json.dumps(found._asdict(), allow_nan=False))
            outcomes.update(dict.fromkeys(waiting[work.file], found.outcome))
            report()
    return {name: outcomes[name] for name in pieces}


def _computed(todo: list[Work], jobs: int, workers: Workforce | None) -> Iterator[tuple[Work, KeptOutcome]]:
    """Every piece with its outcome, when it is done."""
    if workers is None:
        return spread(_compute, todo, jobs, lambda work: rule_of(work.piece) or work.piece.function.__name__)
    rounds: Counter[str | None] = Counter()
    for work in todo:
        rounds[rule_of(work.piece)] += _rounds(work.piece)
    many = {rule for rule, count in rounds.items() if count >= MANY_ROUNDS and _compiles(rule)}
    todo = [work._replace(code=rule) if (rule := rule_of(work.piece)) in many else work for work in todo]
    kit = Kit(_code_of, _compile, _install)
    return workers.spread(_compute, todo, kit=kit, name_of=lambda work: work.file.stem)


def rule_of(piece: Piece) -> str | None:
    """The rule that it simulates, where it is one."""
    return piece.rule or piece.arguments.get("rule")


def _rounds(piece: Piece) -> int:
    runs = piece.arguments.get("runs")
    return int(runs["horizon"] * runs["replications"]) if isinstance(runs, dict) else 0


def _compiles(rule: str | None) -> bool:
    return rule is not None and rule_named(rule).compiled and is_available()


def _code_of(work: Work) -> str | None:
    return work.code


def _compile(work: Work) -> PackedCode | None:
    """On one worker: the machine code of the piece's rule; None if it needs more than its name and world."""
    arguments = work.piece.arguments
    try:
        world = named_world(arguments["world"])
        policy, env = ready(str(work.code), arguments.get("options", {}), world, arguments["runs"]["horizon"])
        return compiled_code(make_run(policy, env, 2, 0, None, (None, None)))
    except (KeyError, TypeError, ValueError):
        return None  # then workers compile it as they need it


def _install(code: PackedCode | None) -> None:
    if code is not None:
        install_code(code)


def _compute(work: Work) -> KeptOutcome:
    outcome = work.piece.function(**work.piece.arguments)
    # Where Numba is installed, simulations inside of a piece may have run as machine code.
    return KeptOutcome(outcome, arithmetic(compiled=find_spec("numba") is not None))


def _refuse_mixture(folder: Path, kept: list[KeptOutcome], workers: Workforce | None) -> None:
    """Say so if what is finished was computed otherwise than the rest will be."""
    if (why := mixture([one.arithmetic for one in kept], workers)) is not None:
        raise ValueError(
            f"{why[0]} of {len(kept)} finished pieces in {str(folder)!r} were computed on another type of "
            f"processor or with other libraries ({why[1]}), where decisions are the same and last digits are "
            "not: go on there, name another folder, or keep both with `mixed`."
        )


def _read(file: Path) -> KeptOutcome | None:
    """What a file holds; None if it is not there or was damaged."""
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict):
        return None
    if set(found) == set(KeptOutcome._fields):
        return KeptOutcome(**found) if isinstance(found["outcome"], dict) else None
    return KeptOutcome(found)  # as it was written before it was said how it was computed


def _key(piece: Piece) -> str:
    """A hash of the arguments, and of every source that the outcome depends on."""
    digest = hashlib.sha256(sources_hash(ROOMS).encode())
    for module in (runs, sys.modules[piece.function.__module__]):
        digest.update(inspect.getsource(module).encode())
    digest.update(piece.function.__qualname__.encode())
    digest.update(json.dumps(piece.arguments, sort_keys=True).encode())
    return digest.hexdigest()[:20]
