"""The server under load: tells and asks of eight clients, kills, its start, its memory and its pages.

Clients are processes that keep their connection, as workers do. Beside it, where it is installed, optuna
(`benchmarks.serving_rivals`).
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.servers import ServerProcess

import noisewise as nw
from benchmarks.serving_pages import page_rows
from benchmarks.serving_rivals import SHOWN, TURNS, beside, rate_of, together
from benchmarks.timing import Row

CLIENTS, TELLS, KILLS = 8, 300, 10
#: Asks of one client on a study with many options, and how many these are.
ASKS, OPTIONS, FEATURES = 150, 1000, 8
STUDIES, MEASUREMENTS, MANY = 20, 10_000, 100_000
TELL = "/api/v1/studies/{}/tells"


def rows() -> list[Row]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        return [
            _start(home / "start.db"),
            *_tells(home / "tells.db"),
            _kills(home / "kills.db"),
            _asks(home / "asks.db"),
            _memory(home / "memory.db"),
            *page_rows(home / "pages.db"),
            *beside(home / "optuna.db", _both(home / "both.db"), _shown(home / "shown-by-us.db")),
        ]


def _start(store: Path) -> Row:
    """From the command to the first answer."""
    _simple(store)
    found = []
    for _ in range(5):
        began = time.perf_counter()
        with ServerProcess(store) as server:
            server.get("/healthz")
            found.append(time.perf_counter() - began)
    return Row(
        "start to first answer, the quickest of five",
        min(found),
        "s",
        1.5,
        detail=f"median {statistics.median(found):.2f} s",
    )


def _tells(store: Path) -> list[Row]:
    """Eight clients that tell as fast as they can."""
    _simple(store)
    with ServerProcess(store) as server:
        began = time.perf_counter()
        answers = _clients(server.port, [("tell", str(TELLS), str(who)) for who in range(CLIENTS)])
        seconds = time.perf_counter() - began
    times = np.concatenate([one["seconds"] for one in answers])
    rate = rate_of(answers)
    told = nw.load_study(store, "s").n_measurements
    detail = f"{told} told of {CLIENTS * TELLS}, {seconds:.1f} s with the start of clients; {_load()}"
    return [
        Row("tells of eight clients", rate, "/s", 300, at_least=True, detail=detail),
        Row(
            "99th percentile of a tell",
            1000 * _high(times),
            "ms",
            150,
            detail=f"median {1000 * np.median(times):.1f}",
        ),
    ]


def _kills(store: Path) -> Row:
    """Kill the server again and again while eight clients tell, each with a key."""
    _simple(store)
    with ServerProcess(store) as server:
        port = server.port
        clients = [_client(port, "insist", "100000", str(who)) for who in range(CLIENTS)]
        for _ in range(KILLS):
            time.sleep(1.0)
            server.process.kill()
            server.process.communicate()
            server.start(port)
        time.sleep(1.0)
        for client in clients:
            client.stdin.close()  # type: ignore[union-attr]
            client.stdin = None  # or `communicate` would write to it
        acknowledged = {
            key for client in clients for key in json.loads(client.communicate()[0])["acknowledged"]
        }
    log = [event.body.get("key") for event in nw.load_study(store, "s").events() if event.kind == "tell"]
    lost, doubled = len(acknowledged - set(log)), len(log) - len(set(log))
    return Row(
        f"lost or doubled with {KILLS} kills under load",
        lost + doubled,
        "",
        0,
        detail=f"{len(acknowledged)} acknowledged, {lost} lost, {doubled} doubled",
    )


def _asks(store: Path) -> Row:
    """One client asks and tells a study whose linear model does not fit."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(OPTIONS, FEATURES))
    values = features @ np.linspace(1.0, 0.25, FEATURES) + rng.normal(size=OPTIONS)
    names = [f"o{k}" for k in range(OPTIONS)]
    table = {"id": names, **{f"f{j}": features[:, j] for j in range(FEATURES)}}
    study = nw.create_study(store, name="s", options=table, model="linear", eps=0.05)
    k = rng.integers(OPTIONS, size=400)
    noisy = values[k] + 0.3 * rng.standard_normal(k.size)
    study.tell_many({"option": [names[i] for i in k], "value": noisy, "se": [0.3] * k.size})
    assert study.certificate().withheld, "the model is meant not to fit"
    with ServerProcess(store) as server:
        (answer,) = _clients(server.port, [("ask", str(ASKS), "0")])
    times = np.array(answer["seconds"])[5:]  # after the first ones, which load what asking needs
    return Row(
        f"99th percentile of an ask at {OPTIONS} options, misfitting",
        1000 * _high(times),
        "ms",
        250,
        detail=f"median {1000 * np.median(times):.0f}, first {1000 * answer['seconds'][0]:.0f}; {_load()}",
    )


def _memory(store: Path) -> Row:
    """All studies opened by a list of them."""
    rng = np.random.default_rng(0)
    names = [f"o{k}" for k in range(100)]
    for number in range(STUDIES):
        study = nw.create_study(store, name=f"s{number}", options=names, eps=0.1)
        k = rng.integers(100, size=MEASUREMENTS)
        noisy = k / 100 + rng.standard_normal(k.size)
        study.tell_many({"option": [names[i] for i in k], "value": noisy, "se": [1.0] * k.size})
    with ServerProcess(store) as server:
        began = time.perf_counter()
        listed = json.loads(server.get(f"/api/v1/studies?limit={STUDIES}"))["studies"]
        seconds = time.perf_counter() - began
        assert [one["measurements"] for one in listed] == [MEASUREMENTS] * STUDIES
        status = Path(f"/proc/{server.process.pid}/status").read_text()
    used = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    detail = f"{STUDIES} studies of {MEASUREMENTS:,}, listed for the first time in {seconds:.1f} s"
    return Row("memory with all studies open", used / 1024, "MB", 250, detail=detail)


def _both(store: Path) -> float:
    """Asks and tells a second of eight clients."""
    _simple(store)
    with ServerProcess(store) as server:
        assert Client(server.port).post(
            "/api/v1/studies/s/asks", {"dry_run": True}
        )  # loads what asking needs
        return rate_of(_clients(server.port, [("ask", str(TURNS), str(who)) for who in range(CLIENTS)]))


def _shown(store: Path) -> float:
    """Seconds for the state of a study and a page of its measurements, the quickest of three."""
    rng = np.random.default_rng(0)
    names = [f"o{k}" for k in range(100)]
    study = nw.create_study(store, name="s", options=names, eps=0.1)
    k = rng.integers(100, size=SHOWN)
    study.tell_many({"option": [names[i] for i in k], "value": k + 0.0, "se": [1.0] * SHOWN})
    with ServerProcess(store) as server:
        found = []
        for _ in range(3):
            began = time.perf_counter()
            server.get("/api/v1/studies/s")
            server.get("/api/v1/studies/s/measurements?limit=100")
            found.append(time.perf_counter() - began)
    return min(found)


def _simple(store: Path) -> None:
    nw.create_study(store, name="s", options=[f"o{k}" for k in range(20)], eps=0.1)


def _client(port: int, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.serving", str(port), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _clients(port: int, each: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
    return together([_client(port, *arguments) for arguments in each])


def _high(times: Any) -> float:
    return float(np.quantile(times, 0.99))


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"


class Client:
    """One connection, opened anew when it breaks."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: dict[str, Any], **headers: str) -> dict[str, Any] | None:
        """The answer; None if none came."""
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
            self._connection.request(
                "POST", path, json.dumps(body), {"Content-Type": "application/json", **headers}
            )
            answer = self._connection.getresponse()
            content: dict[str, Any] = json.loads(answer.read())
            return content if answer.status == 201 else None
        except (OSError, http.client.HTTPException, ValueError):
            self._connection = None
            return None


def client(port: int, what: str, count: int, who: str) -> dict[str, Any]:
    """What a client does, and how long it waited for each answer."""
    session = Client(port)
    if what == "insist":
        return _insist(session, count, who)
    print("ready", flush=True)
    sys.stdin.readline()
    seconds, at, began = [], [], time.time()
    for number in range(count):
        start = time.perf_counter()
        if what == "tell":
            body = {"option": f"o{number % 20}", "value": 0.1 * number, "se": 1.0, "key": f"{who} {number}"}
            assert session.post(TELL.format("s"), body) is not None
            seconds.append(time.perf_counter() - start)
        else:
            answer = session.post("/api/v1/studies/s/asks", {})
            assert answer is not None
            seconds.append(time.perf_counter() - start)
            job = answer["jobs"][0]["id"]
            assert session.post(TELL.format("s"), {"job": job, "value": 1.0, "se": 0.3}) is not None
        at.append(time.time())
    return {"seconds": seconds, "at": at, "began": began, "ended": time.time()}


def _insist(session: Client, count: int, who: str) -> dict[str, Any]:
    """Tell, and tell again what got no answer, until standard input is closed."""
    import select

    acknowledged = []
    for number in range(count):
        key = f"{who} {number}"
        body = {"option": f"o{number % 20}", "value": 0.1 * number, "se": 1.0}
        while session.post(TELL.format("s"), body, **{"Idempotency-Key": key}) is None:
            if select.select([sys.stdin], [], [], 0.02)[0]:
                return {"acknowledged": acknowledged}
        acknowledged.append(key)
        if select.select([sys.stdin], [], [], 0.0)[0]:
            break
    return {"acknowledged": acknowledged}


if __name__ == "__main__":
    print(json.dumps(client(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])))
