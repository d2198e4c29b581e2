"""Nobody starves: eight processes ask and tell on one SQLite file, and a long import beside a busy worker.

``python -m benchmarks starving`` measures both under this version and under 0.1.0, in turn, and takes about
five minutes; ``STARVING_SECONDS=10`` shortens every race (no wait of 0.1.0 then reaches its limit of 30 s).
An operation is one `ask` and the `tell` that answers it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from benchmarks import baseline
from benchmarks.timing import Row

SECONDS = float(os.environ.get("STARVING_SECONDS", "40"))
WORKERS, OPTIONS, FEATURES = 8, 60, 4
#: Measurements that are there from the start: enough for a misfit to show.
BEFORE = 100
IMPORTED = 60_000
#: Seconds between the measurements of the worker beside an import.
PAUSE = 0.5
SE = 0.3


def truth(kind: str) -> tuple[dict[str, Any], np.ndarray]:
    """A table of options and their values: weighted sums of their features, or far from that."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(OPTIONS, FEATURES))
    values = features @ np.linspace(1.0, 0.25, FEATURES)
    if kind == "misfit":
        values = values + rng.normal(size=OPTIONS)
    table = {"id": names(), **{f"f{j}": features[:, j] for j in range(FEATURES)}}
    return table, values


def names() -> list[str]:
    """The options, in the order of `truth`."""
    return [f"o{k}" for k in range(OPTIONS)]


def race(kind: str, seconds: float) -> dict[str, Any]:
    """Eight processes on one file; what all of them managed in that time."""
    table, values = truth(kind)
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path, start = Path(folder) / "s.db", Path(folder) / "start"
        study = nw.create_study(path, options=table, model="linear", eps=0.05, span=20.0)
        k = rng.integers(OPTIONS, size=BEFORE)
        noisy = values[k] + SE * rng.standard_normal(BEFORE)
        study.tell_many({"option": [names()[i] for i in k], "value": noisy, "se": [SE] * BEFORE})
        workers = [_begin("worker", path, kind, seconds, who) for who in range(WORKERS)]
        _wait_for([Path(folder) / f"s.db.ready.{who}" for who in range(WORKERS)], workers)
        start.touch()
        outcomes, errors = _collect(workers)
        told = nw.load_study(path).n_measurements - BEFORE
    counts = [one["operations"] for one in outcomes] + [0] * len(errors)
    return {
        "per_second": sum(counts) / seconds,
        "worst_ask": max((one["worst_ask"] for one in outcomes), default=float("inf")),
        "slowest_share": min(counts) / max(1e-9, float(np.mean(counts))),
        "time_outs": sum(one["time_outs"] for one in outcomes),
        "acknowledged": sum(one["acknowledged"] for one in outcomes),
        "in_the_log": told,
        "errors": errors,
    }


def worker(path: Path, kind: str, seconds: float, who: int) -> dict[str, Any]:
    """Ask, measure, tell until the time is over; only operations finished in time count."""
    study, (_, values) = nw.load_study(path), truth(kind)
    place = {name: k for k, name in enumerate(names())}
    rng = np.random.default_rng(100 + who)
    path.with_name(f"{path.name}.ready.{who}").touch()
    while not (path.parent / "start").exists():
        time.sleep(0.002)
    end = time.perf_counter() + seconds
    done = {"operations": 0, "worst_ask": 0.0, "time_outs": 0, "acknowledged": 0}
    while (began := time.perf_counter()) < end:
        try:
            (job,) = study.ask(by=f"w{who}")
            done["worst_ask"] = max(done["worst_ask"], time.perf_counter() - began)
            value = values[place[job.option]] + SE * float(rng.standard_normal())
            study.tell(job, value, se=SE)
        except TimeoutError:
            done["worst_ask"] = max(done["worst_ask"], time.perf_counter() - began)
            done["time_outs"] += 1
            continue
        done["acknowledged"] += 1
        done["operations"] += time.perf_counter() < end
    return done


def importing(company: str) -> dict[str, Any]:
    """One import of a table of 60,000 rows, alone or beside a worker that tells twice a second."""
    rng = np.random.default_rng(2)
    k = rng.integers(OPTIONS, size=IMPORTED)
    values = truth("fits")[1][k] + rng.standard_normal(IMPORTED)
    with tempfile.TemporaryDirectory() as folder:
        path, table = Path(folder) / "s.db", Path(folder) / "rows.csv"
        study = nw.create_study(path, options=names(), eps=0.05)
        lines = [
            f"o{i},{value!r},1.0,run-{at}"
            for at, (i, value) in enumerate(zip(k, values.tolist(), strict=True))
        ]
        table.write_text("\n".join(["option,value,se,key", *lines]) + "\n")
        beside = []
        if company == "beside":
            beside = [_begin("teller", path)]
            _wait_for([Path(folder) / "s.db.ready.0"], beside)
        began, failed = time.perf_counter(), None
        try:
            study.tell_many(table)
        except TimeoutError as reason:
            failed = str(reason)
        seconds = time.perf_counter() - began
        (Path(folder) / "stop").touch()
        outcomes, errors = _collect(beside)
        there = nw.load_study(path).n_measurements
    told = sum(one["told"] for one in outcomes)
    return {
        "seconds": seconds,
        "failed": failed,
        "errors": errors,
        "told_beside": told,
        "worst_tell": max((one["worst_tell"] for one in outcomes), default=0.0),
        "time_outs_beside": sum(one["time_outs"] for one in outcomes),
        "missing": (0 if failed else IMPORTED) + told - there,
    }


def teller(path: Path) -> dict[str, Any]:
    """Tell twice a second until the import is over."""
    study = nw.load_study(path)
    done = {"told": 0, "worst_tell": 0.0, "time_outs": 0}
    while not (path.parent / "stop").exists():
        began = time.perf_counter()
        try:
            study.tell(option="o1", value=1.0, se=1.0)
            done["told"] += 1
        except TimeoutError:
            done["time_outs"] += 1
        done["worst_tell"] = max(done["worst_tell"], time.perf_counter() - began)
        path.with_name(f"{path.name}.ready.0").touch()
        time.sleep(PAUSE)
    return done


def _begin(*arguments: Any) -> subprocess.Popen[str]:
    """Another process of the same version: it inherits which package is imported."""
    command = [sys.executable, "-P", "-m", "benchmarks.starving", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _wait_for(paths: list[Path], processes: list[subprocess.Popen[str]]) -> None:
    """Until all are there; a process that ended before will say why when it is collected."""
    while not all(path.exists() for path in paths) and any(one.poll() is None for one in processes):
        time.sleep(0.01)


def _collect(processes: list[subprocess.Popen[str]]) -> tuple[list[dict[str, Any]], list[str]]:
    """What they printed, and the last lines of those that failed."""
    said = [(process.communicate(), process.returncode) for process in processes]
    outcomes = [json.loads(out.strip().splitlines()[-1]) for (out, _), code in said if code == 0]
    return outcomes, [err.strip()[-500:] for (_, err), code in said if code]


def rows() -> list[Row]:
    """Both versions in turn."""
    return [*_race_rows("misfit", 60.0), *_race_rows("fits", 1.0), *_import_rows()]


def _race_rows(kind: str, times_faster: float) -> list[Row]:
    ran = {
        version: baseline.run("benchmarks.starving", "race", kind, SECONDS, version=version)
        for version in (baseline.NEW, baseline.OLD)
    }
    new, old = ran[baseline.NEW], ran[baseline.OLD]
    model = "a misfitting linear model" if kind == "misfit" else "a linear model that fits"
    about = f"{WORKERS} processes ask + tell, {OPTIONS} options, {model}"
    wrong = new["time_outs"] + len(new["errors"]) + abs(new["in_the_log"] - new["acknowledged"])
    for error in new["errors"]:
        print(error)
    return [
        Row(
            f"{about}: operations per second over those of 0.1.0",
            new["per_second"] / max(1e-9, old["per_second"]), "x", times_faster, True,
            f"{new['per_second']:.3g} against {old['per_second']:.3g} per second in {SECONDS:g} s",
        ),
        Row(
            f"{about}: time-outs, errors, lost or doubled",
            wrong, "", 0, False,
            f"worst ask {new['worst_ask']:.2g} s; 0.1.0: {old['time_outs']} time-outs, "
            f"{len(old['errors'])} errors, worst ask {old['worst_ask']:.2g} s",
        ),
        Row(
            f"{about}: the slowest worker over the mean",
            new["slowest_share"], "", 1.0 / 3.0, True, f"0.1.0: {old['slowest_share']:.2g}",
        ),
    ]  # fmt: skip


def _import_rows() -> list[Row]:
    ran = {
        (version, company): baseline.run("benchmarks.starving", "import", company, version=version)
        for version in (baseline.NEW, baseline.OLD)
        for company in ("alone", "beside")
    }

    def said(version: str) -> str:
        one, alone = ran[version, "beside"], ran[version, "alone"]["seconds"]
        end = f"failed after {one['seconds']:.3g} s" if one["failed"] else f"{one['seconds']:.3g} s"
        return f"{end} beside, {alone:.3g} s alone; worst tell meanwhile {one['worst_tell']:.2g} s"

    new, alone = ran[baseline.NEW, "beside"], ran[baseline.NEW, "alone"]
    good = not (new["failed"] or new["errors"] or new["missing"] or new["time_outs_beside"])
    figure = new["seconds"] / alone["seconds"] if good else float("inf")
    about = f"import of {IMPORTED:,} rows beside a worker that tells twice a second"
    detail = f"{said(baseline.NEW)}; 0.1.0: {said(baseline.OLD)}"
    return [Row(f"{about}: time over that alone", figure, "x", 1.5, False, detail)]


def main() -> None:
    """One piece of work: race, worker, import or teller."""
    what, *given = sys.argv[1:]
    if what == "race":
        found = race(given[0], float(given[1]))
    elif what == "worker":
        found = worker(Path(given[0]), given[1], float(given[2]), int(given[3]))
    elif what == "import":
        found = importing(given[0])
    else:
        found = teller(Path(given[0]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
