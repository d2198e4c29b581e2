"""One case of `benchmarks.log`, as its argument says: run by the Python of this tree and of 0.2.0."""

import itertools
import json
import multiprocessing
import os
import random
import resource
import sys
import time
import warnings
from typing import Any

# Of 0.2.0's own environment everything but the driver, which it does not have.
sys.path += os.environ.get("LOG_DRIVER", "").split()

import noisewise as nw

OPTIONS = [f"o{k}" for k in range(40)]


class Free:
    """An analysis that costs nothing: the options in turn."""

    def __init__(self, analysis: Any, now: float, **_: Any) -> None:
        self._state = analysis.state

    def still_holds(self, news: Any) -> bool:
        """It holds after every measurement."""
        return True

    def suggest(self, *, n: int, now: float, lease: float, **_: Any) -> list[dict[str, Any]]:
        """The bodies of n suggestions."""
        first = len(self._state.jobs) + 1
        return [
            {"id": f"ask-{k}", "option": OPTIONS[k % 40], "why": "in turn", "expires": now + lease}
            for k in range(first, first + n)
        ]


def replace_analysis() -> None:
    """Let both versions ask without an analysis."""
    try:
        from noisewise.study.asking import suggestion as place  # type: ignore[import-not-found]
    except ImportError:
        from noisewise.study.asking import ask as place
    place.Asking = Free


def work(case: dict[str, Any], start: Any, found: Any) -> None:
    """Record, or ask and record, until the time is over; report the waits."""
    if not case.get("real"):
        replace_analysis()
    study, chance, waits = nw.load_study(case["place"]), random.Random(os.getpid()), []
    if case["what"] == "ask+tell":
        study.ask()  # loads what it needs
    start.wait()
    end, used = time.perf_counter() + case["seconds"], time.process_time()
    while (began := time.perf_counter()) < end:
        key = f"{os.getpid()}/{len(waits)}"
        asked = {"job": study.ask()[0]} if case["what"] == "ask+tell" else {"option": chance.choice(OPTIONS)}
        study.tell(value=chance.random(), se=0.5, key=key, **asked)
        waits.append(time.perf_counter() - began)
    found.put((waits, time.process_time() - used))


def rate(case: dict[str, Any]) -> dict[str, float]:
    """Changes a second of some processes, the 99th percentile of their waits, and the slowest one's share."""
    nw.create_study(case["place"], options=OPTIONS, eps=0.01)
    fresh = multiprocessing.get_context("spawn")
    start, found = fresh.Barrier(case["processes"]), fresh.SimpleQueue()
    workers = [fresh.Process(target=work, args=(case, start, found)) for _ in range(case["processes"])]
    for worker in workers:
        worker.start()
    said = [found.get() for _ in workers]
    for worker in workers:
        worker.join()
    waits = [some for some, _ in said]
    counts, together = list(map(len, waits)), sorted(itertools.chain.from_iterable(waits))
    there = nw.load_study(case["place"]).n_measurements
    return {
        "rate": sum(counts) / case["seconds"],
        "used": sum(used for _, used in said) / sum(counts),
        "p99": together[int(0.99 * len(together))],
        "share": min(counts) / max(counts),
        "wrong": abs(there - sum(counts)),
    }


def table(rows: int) -> dict[str, list[Any]]:
    """Measurements of 40 options, each with a key."""
    chance = random.Random(1)
    return {
        "option": [OPTIONS[k % 40] for k in range(rows)],
        "value": [chance.random() for _ in range(rows)],
        "se": [0.5] * rows,
        "key": [f"row/{k}" for k in range(rows)],
    }


def import_table(case: dict[str, Any]) -> dict[str, float]:
    """Seconds to import a table and to open the study again, and the largest memory in MB."""
    study, rows = nw.create_study(case["place"], options=OPTIONS, eps=0.01), table(case["rows"])
    began = time.perf_counter()
    study.tell_many(rows)
    took = time.perf_counter() - began
    return {"seconds": took, "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def build(case: dict[str, Any]) -> dict[str, float]:
    """A log of single tells."""
    study, chance = nw.create_study(case["place"], options=OPTIONS, eps=0.01), random.Random(1)
    for k in range(case["rows"]):
        study.tell(option=OPTIONS[k % 40], value=chance.random(), se=0.5, key=f"worker/{k}")
    return {}


def open_log(case: dict[str, Any]) -> dict[str, float]:
    """Processor seconds to open a study."""
    nw.load_study  # noqa: B018 - loads it
    began = time.process_time()
    nw.load_study(case["place"])
    return {"seconds": time.process_time() - began}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = json.loads(sys.argv[1])
    parts = {"import": import_table, "build": build, "open": open_log}
    print(json.dumps(parts.get(given["what"], rate)(given)))
