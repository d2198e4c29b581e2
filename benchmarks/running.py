"""Many workers of one run: how busy they are, and what a measurement costs beyond asking and telling."""

import random
import time
from typing import Any

import noisewise as nw
from benchmarks.timing import Row

OPTIONS, WORKERS, SECONDS, LASTS = 200, 64, 10.0, 0.05
#: What measurements are told as.
KINDS = ("known error bars", "successes of trials", "single values", "three readings")


def measuring(kind: str, truth: list[float], lasts: float) -> Any:
    """A function that measures by waiting."""

    def measure(job: Any) -> Any:
        time.sleep(lasts)
        draw = random.Random(job.id)
        true = truth[int(job.option[1:])]
        value = true + draw.gauss(0.0, 0.3)
        if kind == KINDS[1]:
            return {"successes": sum(draw.random() < 0.5 + true / 10.0 for _ in range(50)), "trials": 50}
        if kind == KINDS[2]:
            return value
        if kind == KINDS[3]:
            return {"values": [true + draw.gauss(0.0, 0.3) for _ in range(3)]}
        return value, 0.3

    return measure


def study_of(options: int) -> tuple[Any, list[float]]:
    """A study that will not be decided soon."""
    draw = random.Random(0)
    return nw.create_study(options=[f"o{k}" for k in range(options)], eps=0.001), [
        draw.gauss(0.0, 1.0) for _ in range(options)
    ]


def busy(kind: str, workers: int, lasts: float) -> tuple[float, float, float]:
    """Which part of the time workers measure, and measurements a second, once every option was measured.

    Beside these, milliseconds of a processor that the thread which decides takes for each of them: it says
    what the program costs also where the machine is busy with other things.
    """
    study, truth = study_of(OPTIONS)
    measure = measuring(kind, truth, lasts)
    study.run(measure, workers=workers, until="spent", budget=3 * OPTIONS, progress=False)
    began, used = time.monotonic(), time.thread_time()
    done = study.run(measure, workers=workers, until="spent", budget=f"{SECONDS:g}s", progress=False)
    taken = time.monotonic() - began
    deciding = 1e3 * (time.thread_time() - used) / done.measured
    return done.measured * lasts / (workers * taken), done.measured / taken, deciding


def overhead() -> tuple[float, float]:
    """Milliseconds of a step of `run` with one worker, beside those of ask, tell and the bound in a loop."""
    taken = []
    for running in (True, False):
        study, truth = study_of(20)
        measure = measuring(KINDS[0], truth, 0.0)
        for name in study.options:
            study.tell(option=name, value=truth[int(name[1:])], se=0.3)
        count, began = 300, time.process_time()
        if running:
            study.run(measure, until="spent", budget=count, progress=False)
        else:
            for _ in range(count):
                job = study.ask(1)[0]
                value, se = measure(job)
                study.tell(job, value, se=se, key=job.id)
        taken.append(1e3 * (time.process_time() - began) / count)
    return taken[0], taken[1]


def rows() -> list[Row]:
    """How busy 64 threads are at 200 options, and what `run` costs beyond ask and tell."""
    found = []
    for kind in KINDS:
        part, rate, deciding = busy(kind, WORKERS, LASTS)
        detail = f"{WORKERS} threads, {1e3 * LASTS:.0f} ms, {OPTIONS} options, {kind}: {rate:.0f} a second"
        detail += f", {deciding:.2f} ms of the deciding thread for each"
        found.append(Row("workers of a run are busy", part, "", 0.9, True, detail))
    run, loop = overhead()
    detail = f"{run:.2f} ms a measurement; ask and tell in a loop take {loop:.2f} ms"
    found.append(Row("run beyond ask and tell", run - loop, "ms", 1.0, False, detail))
    return found
