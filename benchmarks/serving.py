"""The server under load: what tells of eight clients cost beside tells to the store, and kills under load.

Clients are processes that keep their connection, as workers do.
"""

import http.client
import json
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
from benchmarks.timing import Row

CLIENTS, TELLS, KILLS = 8, 300, 10
TELL = "/api/v1/studies/{}/tells"


def rows() -> list[Row]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        return [*_tells(home / "tells.db"), _kills(home / "kills.db")]


def _tells(store: Path) -> list[Row]:
    """Eight clients that tell as fast as they can, beside one process with the store."""
    _simple(store)
    study, began = nw.load_study(store, "s"), time.perf_counter()
    for number in range(TELLS):
        study.tell(option=f"o{number % 20}", value=0.1 * number, se=1.0, key=str(number))
    direct = TELLS / (time.perf_counter() - began)
    with ServerProcess(store) as server:
        answers = together([_client(server.port, "tell", str(TELLS), str(who)) for who in range(CLIENTS)])
    times, rate = np.concatenate([one["seconds"] for one in answers]), rate_of(answers)
    told, high = nw.load_study(store, "s").n_measurements, float(np.quantile(times, 0.99))
    detail = f"{rate:.0f} a second; {told - TELLS} of {CLIENTS * TELLS} were recorded"
    return [
        Row("tells of eight clients, over those of one process", rate / direct, "x", 0.5, True, detail),
        Row(
            "99th percentile of the wait for a tell, over the median",
            high / float(np.median(times)),
            "x",
            6.0,
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


def _simple(store: Path) -> None:
    nw.create_study(store, name="s", options=[f"o{k}" for k in range(20)], eps=0.1)


def _client(port: int, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.serving", str(port), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


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
        body = {"option": f"o{number % 20}", "value": 0.1 * number, "se": 1.0, "key": f"{who} {number}"}
        assert session.post(TELL.format("s"), body) is not None
        seconds.append(time.perf_counter() - start)
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
