"""The kinds of frozen answers: record them, and play them again.

A kind is a module of this folder with ``NAME``, ``cases()`` (names and inputs, needed only to record) and
``play(case)`` (the answer of the current tree). Its records are in ``records/<kind>.jsonl``. A kind whose
numbers are less exact in some fields may have ``relative(case, path)``, the part of itself up to which a
number is equal; the default is 1e-9.
"""

import importlib
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.golden.comparison import Compared, compare, plain, usual

HERE = Path(__file__).parent
RECORDS = HERE / "records"
#: Cases that a process plays at a time.
CHUNK = 20

Record = dict[str, Any]


def all_kinds() -> list[str]:
    """The names of all kinds."""
    sources = {path.stem: path.read_text(encoding="utf-8") for path in HERE.glob("*.py")}
    return sorted(stem for stem, source in sources.items() if re.search(r"^NAME\b", source, re.MULTILINE))


def play(kind: str, case: Any) -> Any:
    """The answer of the current tree to one case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(importlib.import_module(f"tests.golden.{kind}").play(case))


def record(kind: str, folder: Path = RECORDS) -> int:
    """Write the records of a kind; returns how many there are."""
    lines, names = [], set()
    for name, case in importlib.import_module(f"tests.golden.{kind}").cases():
        if name in names:
            raise ValueError(f"{kind} has two cases called {name!r}.")
        names.add(name)
        case = json.loads(json.dumps(plain(case)))  # as it will be read
        lines.append(_line({"name": name, "case": case, "answer": play(kind, case)}))
    folder.mkdir(exist_ok=True)
    (folder / f"{kind}.jsonl").write_text("".join(lines), encoding="utf-8")
    return len(lines)


def _line(content: Record) -> str:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"


def read_records(kind: str) -> list[Record]:
    """The records of a kind."""
    with (RECORDS / f"{kind}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def replay(kind: str, records: Iterable[Record]) -> list[Compared]:
    """Play recorded cases again; an answer that cannot be given is a difference."""
    found = []
    for one in records:
        try:
            answer = play(kind, one["case"])
        except Exception as problem:
            answer = {"crashed": f"{type(problem).__name__}: {problem}"}
        found.append(compare(one["name"], one["answer"], answer, relative(kind, one["case"])))
    return found


def relative(kind: str, case: Any) -> Callable[[str], float]:
    """Up to which part of themselves the numbers of a case are equal, by their path."""
    module = importlib.import_module(f"tests.golden.{kind}")
    return partial(module.relative, case) if hasattr(module, "relative") else usual


def replay_all(kinds: list[str], processes: int) -> Iterator[tuple[str, list[Compared]]]:
    """Play the records of several kinds again, in several processes."""
    # Spawned, so that libraries with threads of their own start afresh.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        chunks = {}
        for kind in kinds:
            records = read_records(kind)
            starts = range(0, len(records), CHUNK)
            chunks[kind] = [pool.submit(replay, kind, records[at : at + CHUNK]) for at in starts]
        for kind, futures in chunks.items():
            yield kind, [one for future in futures for one in future.result()]
