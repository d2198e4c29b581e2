"""Looks at studies in turn, as asked on standard input: run by the Python of this tree and of 0.2.0."""

import inspect
import json
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import noisewise as nw

DIM, EPS, SE = 5, 0.3, 0.5
#: Whether this is 0.2.0, in which linear models need a span.
OLD = "span" in inspect.signature(nw.create_study).parameters


def measured_study(case: dict[str, Any]) -> tuple[Any, Callable[[], object]]:
    """A study with measurements, and a function that records one more."""
    rng, n, block = np.random.default_rng(0), case["n"], case.get("block", 0)
    names, features = [f"o{k}" for k in range(n)], rng.normal(size=(n, DIM))
    question: dict[str, Any] = {"options": names}
    if case["model"] != "independent":
        table = {"id": names, **{f"x{j}": features[:, j] for j in range(DIM)}}
        question = {"options": table, "model": case["model"]}
        question |= {"id": "id", "span": 20.0} if OLD else {"roles": {"option": "id"}}
    if case["model"] == "linear+deviation":
        question |= {"deviation": 0.3} if OLD else {"model": "linear+deviation:0.3"}
    study = nw.create_study(eps=EPS, seed=1, **question)
    rows = np.concatenate([np.arange(n), rng.integers(n, size=max(0, case["measured"] - n))])
    if block:
        rows = np.insert(rows, np.arange(0, rows.size, block - 1), 0)  # what links the blocks
    values = features @ rng.normal(size=DIM) / 2.0

    def told(some: Any, at: int) -> dict[str, Any]:
        found = {"option": [names[k] for k in some], "se": np.full(some.size, SE)}
        found["value"] = values[some] + SE * rng.standard_normal(some.size)
        return found | ({"block": [f"b{(at + k) // block:05d}" for k in range(some.size)]} if block else {})

    study.tell_many(told(rows, 0))
    return study, lambda: study.tell_many(told(rng.integers(n, size=1), rows.size - 1), repeat=True)


def look_of(study: Any, case: dict[str, Any]) -> Callable[[], object]:
    """What is timed."""
    if case["look"] == "ask":
        return lambda: study.ask(case.get("times", 1), dry_run=True)
    if case["look"] == "plan":
        here = ThreadPoolExecutor(1)  # its time is this process's, whatever else a version would use
        return lambda: study.plan(paths=3, on=here)
    return {"certificate": study.certificate, "worth": study.worth, "check": study.check}[case["look"]]


def main() -> None:
    """Answer each case with the seconds of processor time that a look took after one more measurement."""
    known: dict[str, Any] = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in sys.stdin:
            try:
                case = json.loads(line)
                if line not in known:
                    known.clear()
                    study, record = measured_study(case)
                    known[line] = look_of(study, case), record
                look, record = known[line]
                record()
                begun = time.process_time()
                look()
                answer: Any = time.process_time() - begun
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
