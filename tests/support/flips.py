"""Random bits of a store's file turned over: none may change an answer in silence.

The tests turn some of them, one at a time; ``python -m benchmarks faults`` turns a thousand.
"""

import collections
import random
from pathlib import Path
from typing import Any

import noisewise as nw

#: How a store says no: with one sentence.
SENTENCES = (ValueError, OSError, KeyError)


def make_store(path: Path) -> None:
    """Two studies, with everything that can happen in one."""
    table = {"id": ["A", "B", "C", "D"], "x": [0.1, 0.7, 1.3, 2.9], "cost": [1.0, 2.0, 1.0, 3.0]}
    study = nw.create_study(
        path, name="first", options=table, roles={"option": "id"}, model="linear", eps=0.3
    )
    one, two, three = study.ask(3, by="Ada")
    study.tell(one, "12.34(5)", key="k1", block="Tue", note="by hand")
    study.fail(two, "cracked")
    study.release(three)
    study.tell(option="B", values=[1.0, 1.2, 1.1], instrument="beam")
    study.tell(plus="A", minus="C", value=-0.3, se=0.1)
    study.amend("k1", "misread", value=12.4)
    study.void("m-2", "wrong sample")
    study.tell(option="C", value=11.0, se=0.2)
    study.exclude("D", "sold out")
    study.set_policy("widest")
    other = nw.create_study(study._log.storage, name="second", options=["A", "B"], eps=0.1)
    for k in range(60):
        other.tell(option="AB"[k % 2], value=k / 7.0, se=0.1 + k / 100.0, key=f"run-{k}")
    nw.create_study(study._log.storage, name="empty", options=["A", "B"], eps=0.1)
    study._log.storage.close()


def answers(path: Path) -> dict[str, Any]:
    """Everything that a store can be asked."""
    store = nw.open_store(path, read_only=True)
    try:
        found: dict[str, Any] = {"names": store.names()}
        for name in found["names"]:
            study = nw.load_study(store, name, clock=lambda: 1.8e9)
            found[name] = (
                study.certificate().to_json(),
                study.frame("measurements").write_json(),
                study.frame("options").write_json(),
                study.frame("events").write_json(),
                [job.option for job in study.ask(2, dry_run=True)],
                repr(study.specification.to_plain()),
                study.head,
            )
        return found
    finally:
        store.close()


def flip_bits(count: int, seed: int, folder: Path) -> collections.Counter[str]:
    """Turn over so many bits, one at a time: how often was it refused, without effect, silent, or raw."""
    whole, broken = folder / "whole.db", folder / "broken.db"
    make_store(whole)
    expected, content = answers(whole), whole.read_bytes()
    chance, outcomes = random.Random(seed), collections.Counter[str]()
    for _ in range(count):
        place, bit = chance.randrange(len(content)), chance.randrange(8)
        spoilt = bytearray(content)
        spoilt[place] ^= 1 << bit
        broken.write_bytes(spoilt)
        try:
            outcome = "without effect" if answers(broken) == expected else f"silent at {place}.{bit}"
        except SENTENCES as refusal:
            outcome = "refused" if "\n" not in str(refusal) else f"raw at {place}.{bit}: {refusal!r}"
        except Exception as raw:
            outcome = f"raw at {place}.{bit}: {raw!r}"
        outcomes[outcome] += 1
        for ending in ("-wal", "-shm"):
            broken.with_name(broken.name + ending).unlink(missing_ok=True)
    return outcomes
