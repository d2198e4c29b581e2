"""Beside the server, on the same machine and in the same run: optuna's storages and its dashboard.

What both can do is asking and telling by eight processes, and showing a study of many measurements. optuna
is not needed by noisewise: ``NOISEWISE_RIVALS_PYTHON`` names a Python that has it (with grpcio, and
optuna-dashboard).
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.timing import Row

PYTHON = os.environ.get("NOISEWISE_RIVALS_PYTHON", sys.executable)
#: Asks and tells of each client; measurements of the study that is shown.
TURNS, SHOWN = 30, 2000

WORKER = """
import json, sys, time, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
kind, place, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
if kind == "grpc":
    from optuna.storages import GrpcStorageProxy
    storage = GrpcStorageProxy(host="127.0.0.1", port=int(place))
else:
    storage = place
study = optuna.load_study(study_name="s", storage=storage, sampler=optuna.samplers.RandomSampler())
print("ready", flush=True)
sys.stdin.readline()
began, at = time.time(), []
for _ in range(count):
    trial = study.ask()
    trial.suggest_categorical("option", [f"o{k}" for k in range(20)])
    study.tell(trial, 1.0)
    at.append(time.time())
print(json.dumps({"began": began, "at": at, "ended": time.time()}))
"""
PROXY = """
import sys, optuna, logging
storage = optuna.storages.RDBStorage(sys.argv[1])
optuna.storages.run_grpc_proxy_server(storage, host="127.0.0.1", port=int(sys.argv[2]))
"""
MAKE = """
import sys, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(study_name="s", storage=sys.argv[1])
options = optuna.distributions.CategoricalDistribution([f"o{k}" for k in range(100)])
study.add_trials([
    optuna.create_trial(params={"option": f"o{k % 100}"}, distributions={"option": options}, value=float(k))
    for k in range(int(sys.argv[2]))
])
"""
DASHBOARD = """
import io, json, sys, time
from optuna_dashboard import wsgi
app = wsgi(sys.argv[1])
def get(path, query):
    status = []
    environ = {
        "REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query, "SERVER_NAME": "x",
        "SERVER_PORT": "1", "wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr,
        "wsgi.url_scheme": "http", "HTTP_HOST": "x",
    }
    began = time.perf_counter()
    body = b"".join(app(environ, lambda said, headers, *more: status.append(said)))
    return status[0], time.perf_counter() - began, body
times = [get("/api/studies/1", "after=0") for _ in range(3)]
assert times[0][0].startswith("200"), times[0][0]
print(json.dumps({"seconds": [one[1] for one in times], "bytes": len(times[0][2])}))
"""


def missing(*modules: str) -> str | None:
    """Why the rivals cannot be run; None: they can."""
    code = "; ".join(f"import {module}" for module in modules)
    found = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False)
    return None if found.returncode == 0 else f"{PYTHON} has no {' and '.join(modules)}"


def beside(store: Path, ours: float, shown: float) -> list[Row]:
    """What optuna does, and ours over it.

    Args:
        store: A file that is not there yet.
        ours: Asks and tells a second of eight clients of our server.
        shown: Seconds for what a page of a study with `SHOWN` measurements needs, from our server.
    """
    if (reason := missing("optuna")) is not None:
        print(f"serving: {reason}; there is nothing to compare with")
        return []
    address = f"sqlite:///{store}"
    _run(MAKE, address, "0")
    direct = _rate([("sqlite", address, str(TURNS))] * 8)
    rows = [_beside("asks and tells of eight clients, over optuna on its own SQLite", ours, direct)]
    if (reason := missing("grpc")) is None:
        with _proxy(address) as port:
            proxied = _rate([("grpc", str(port), str(TURNS))] * 8)
        rows.append(_beside("the same, over optuna's own server (gRPC proxy on SQLite)", ours, proxied))
    else:
        print(f"serving: {reason}; optuna's own server is left out")
    return [*rows, *_dashboard(store.with_name("shown.db"), shown)]


def _beside(name: str, ours: float, theirs: float) -> Row:
    detail = f"{ours:.0f}/s beside {theirs:.0f}/s; load {os.getloadavg()[0]:.1f}"
    return Row(name, ours / theirs, "x", 1.0, at_least=True, detail=detail)


def _dashboard(store: Path, shown: float) -> list[Row]:
    if (reason := missing("optuna_dashboard")) is not None:
        print(f"serving: {reason}; its dashboard is left out")
        return []
    address = f"sqlite:///{store}"
    _run(MAKE, address, str(SHOWN))
    found = json.loads(_run(DASHBOARD, address))
    theirs = min(found["seconds"])
    detail = f"{1000 * shown:.0f} ms beside {1000 * theirs:.0f} ms ({found['bytes'] / 1e6:.1f} MB)"
    name = f"what the page of a study with {SHOWN:,} measurements asks for, of optuna-dashboard"
    return [Row(name, theirs / shown, "x", 1.0, at_least=True, detail=detail)]


def _run(code: str, *arguments: str) -> str:
    done = subprocess.run([PYTHON, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def rate_of(answers: Sequence[dict[str, Any]]) -> float:
    """How many a second there were while all clients were at it."""
    begun, ended = max(one["began"] for one in answers), min(one["ended"] for one in answers)
    within = sum(sum(begun <= at <= ended for at in one["at"]) for one in answers)
    return within / (ended - begun)


def together(processes: Sequence["subprocess.Popen[str]"]) -> list[dict[str, Any]]:
    """Let clients that are loaded begin at once, and hear what they say in the end."""
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [json.loads(process.communicate()[0]) for process in processes]


def _rate(each: Sequence[tuple[str, ...]]) -> float:
    return rate_of(
        together(
            [
                subprocess.Popen(
                    [PYTHON, "-c", WORKER, *arguments],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                )
                for arguments in each
            ]
        )
    )  # fmt: skip


@contextmanager
def _proxy(address: str) -> Iterator[int]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    process = subprocess.Popen(
        [PYTHON, "-c", PROXY, address, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        give_up = time.monotonic() + 60.0
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, "optuna's server has ended"
                assert time.monotonic() < give_up, "optuna's server does not answer"
                time.sleep(0.1)
        yield port
    finally:
        process.kill()
        process.wait()
