"""What the server answers: to each role on every route, and to requests that do what commands do.

Of the documents only the fields are kept that the ``--json`` of the command has as well.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.testclient import TestClient
from tests.golden import commands
from tests.golden._worlds import facts
from tests.golden.commands import masked

import noisewise as nw
from noisewise.server.app import make_app
from noisewise.server.auth.roles import routes_of
from noisewise.server.auth.tokens import TokenFile

NAME = "http"

API = "/api/v1/studies"
ROLES = ("stranger", "forged", "viewer", "worker", "owner")
#: What stands in the place of names in addresses.
PLACES = {"study": "tea", "id": "nothing", "ending": "csv", "secret": "nws_" + "x" * 43}
#: Valid bodies by how a path ends; elsewhere an empty one is sent.
BODIES: dict[str, dict[str, Any]] = {
    "asks": {},
    "tells": {"option": "A", "value": 1.1, "se": 0.2},
    "imports": {"table": "option,value,se\nA,1.2,0.3\n"},
    "fail": {"jobs": ["ask-1"], "reason": "broken"},
    "void": {"measurement": "m-1", "reason": "wrong"},
    "amend": {"measurement": "m-2", "reason": "wrong", "value": 2.9, "se": 0.1},
    "exclude": {"option": "B", "reason": "gone"},
    "include": {"option": "B"},
    "add": {"options": ["D"]},
    "switch": {"extra_scatter": 0.1},
    "policy": {},
    "slot": {"sigma": [0.1]},
    "rename": {"name": "tea"},
    "shares": {"name": "eve"},
    "studies": {"name": "new", "options": ["A", "B"], "eps": 1.0},
}

#: Requests that do what a command does: the command whose fields are kept, the method, the address behind
#: that of all studies, and the body.
Request = tuple[str, str, str, dict[str, Any] | None]
PLAY: tuple[Request, ...] = (
    ("init", "POST", "", {"name": "tea", "options": ["A", "B", "C", "D"], "eps": 0.1, "span": 5.0}),
    ("ask", "POST", "/tea/asks", {}),
    ("tell", "POST", "/tea/tells", {"job": "ask-1", "value": 1.0, "se": 0.1}),
    ("tell", "POST", "/tea/tells", {"option": "B", "value": "2.34(5)"}),
    ("tell", "POST", "/tea/tells", {"option": "C", "value": 0.5, "var": 0.04, "block": "mon", "key": "k7"}),
    ("tell", "POST", "/tea/tells", {"option": "C", "value": 0.5, "var": 0.04, "block": "mon", "key": "k7"}),
    ("tell", "POST", "/tea/tells", {"plus": "A", "minus": "B", "value": -1.3, "se": 0.2}),
    (
        "tell",
        "POST",
        "/tea/tells",
        {
            "tells": [
                {"option": "D", "value": 1.0, "ci": [0.8, 1.2]},
                {"option": "A", "value": 1.2, "se": [0.3, 0.4]},
            ]
        },
    ),
    ("ask", "POST", "/tea/asks", {"n": 3, "by": "eve"}),
    ("ask", "POST", "/tea/asks", {"sigma": 0.2, "dry_run": True}),
    ("ask", "POST", "/tea/asks", {"block": "tue"}),
    ("fail", "POST", "/tea/fail", {"jobs": ["ask-2"], "reason": "broken"}),
    ("release", "POST", "/tea/release", {"jobs": ["ask-3", "ask-4"], "reason": "later"}),
    ("amend", "POST", "/tea/amend", {"measurement": "m-1", "reason": "typo", "value": 1.05, "se": 0.12}),
    ("void", "POST", "/tea/void", {"measurement": "m-2", "reason": "wrong"}),
    ("tell", "POST", "/tea/tells", {"option": "B", "value": 1.9, "se": 0.07}),
    ("exclude", "POST", "/tea/exclude", {"option": "D", "reason": "sold"}),
    ("status", "GET", "/tea", None),
    ("include", "POST", "/tea/include", {"option": "D"}),
    ("add", "POST", "/tea/add", {"options": ["E", "F"]}),
    ("import", "POST", "/tea/imports", {"table": "option,value,se,key\nE,0.2,0.2,e1\nF,2.0,0.15,f1\n"}),
    (
        "import",
        "POST",
        "/tea/imports",
        {"columns": {"option": ["A"], "value": [1.3], "se": [0.2]}, "dry_run": True},
    ),
    ("status", "GET", "/tea", None),
    ("best", "GET", "/tea/certificate", None),
    ("certify", "GET", "/tea/certificate", None),
    ("certify", "GET", "/tea/bound", None),
    ("check", "GET", "/tea/check", None),
    ("plan", "GET", "/tea/plan?paths=3", None),
    ("worth", "GET", "/tea/worth", None),
    ("worth", "GET", "/tea/worth?by=option", None),
    ("slot", "POST", "/tea/slot", {"sigma": [0.1, 0.5], "block": "wed"}),
    ("slot", "GET", "/tea/slot?sigma=0.1", None),
    ("export", "GET", "/tea/options", None),
    ("export", "GET", "/tea/measurements", None),
    ("export", "GET", "/tea/export.jsonl", None),
    ("verify", "GET", "/tea/verify", None),
    ("list", "GET", "", None),
    ("list", "GET", "?quick=true", None),
    ("switch", "POST", "/tea/switch", {"extra_scatter": 0.2, "reason": "rough"}),
    ("status", "GET", "/tea", None),
    ("rename", "POST", "/tea/rename", {"name": "other"}),
    ("status", "GET", "/tea", None),
    ("status", "GET", "/other", None),
)
#: Studies of several kinds: how they are made, and what is told.
STUDIES: dict[str, tuple[dict[str, Any], tuple[dict[str, Any], ...]]] = {
    "counts": (
        {"options": ["A", "B", "C"], "eps": 0.05},
        (
            {"option": "A", "successes": 25, "trials": 100},
            {"option": "B", "successes": 61, "trials": 110},
            {"option": "C", "successes": 12, "trials": 95},
        ),
    ),
    "readings within bounds": (
        {"options": ["A", "B"], "eps": 0.2, "bounds": [0, 5]},
        ({"option": "A", "values": [1, 3, 2, 4]}, {"option": "B", "values": [4, 5, 4, 5, 3]}),
    ),
    "features": (
        {
            "options": [{"id": f"a{k}", "x": 0.1 * k, "y": 0.3 * (k % 3)} for k in range(5)],
            "id": "id",
            "features": ["x", "y"],
            "model": "linear",
            "span": 4,
            "eps": 0.3,
        },
        tuple({"option": f"a{k}", "value": 1.0 + 0.7 * k - 0.1 * k * k, "se": 0.1} for k in range(4)),
    ),
    "ratios": (
        {"options": ["sort", "awk"], "eps": "2%", "scale": "log", "goal": "min", "unit": "ms"},
        ({"option": "sort", "value": 10.01, "se": 0.05}, {"option": "awk", "value": 10.9, "se": 0.04}),
    ),
    "results to begin with": (
        {
            "results": "option,value,se,block\nA,1,0.1,mon\nB,2,0.1,mon\nA,1.4,0.1,tue\nB,2.2,0.2,tue\n",
            "eps": 0.2,
        },
        (),
    ),
    "one look": (
        {"options": ["A", "B"], "eps": 0.2, "looks": "once"},
        ({"option": "A", "value": 1.0, "se": 0.1}, {"option": "B", "value": 2.0, "se": 0.1}),
    ),
}
#: What is refused, in a study of options A, B and C.
REFUSED: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("POST", "", {"name": "tea", "options": ["A", "B"], "eps": 1.0}),
    ("POST", "", {"name": "new", "options": ["A", "B"]}),
    ("POST", "", {"name": "new", "options": ["A", "B"], "eps": -1}),
    ("POST", "", {"name": "new", "options": [], "eps": 1}),
    ("POST", "", {"name": "new", "options": ["A", "B"], "eps": 1, "colour": "red"}),
    ("GET", "/nothing", None),
    ("GET", "/tea/nothing", None),
    ("PUT", "/tea", {}),
    ("POST", "/tea/asks", {"n": 0}),
    ("POST", "/tea/asks", {"sigma": 0}),
    ("POST", "/tea/asks", {"n": "three"}),
    ("POST", "/tea/tells", {}),
    ("POST", "/tea/tells", {"option": "X", "value": 1, "se": 0.1}),
    ("POST", "/tea/tells", {"option": "A", "value": 1, "se": -0.1}),
    ("POST", "/tea/tells", {"option": "A", "value": 1, "se": 0.1, "var": 0.1}),
    ("POST", "/tea/tells", {"option": "A", "value": True}),
    ("POST", "/tea/tells", {"option": "A", "successes": 9, "trials": 4}),
    ("POST", "/tea/tells", {"job": "ask-9", "value": 1, "se": 0.1}),
    ("POST", "/tea/tells", {"tells": [{"option": "A", "value": 1, "se": 0.1}, {"option": "X", "value": 1}]}),
    ("POST", "/tea/fail", {"jobs": ["ask-9"], "reason": "never"}),
    ("POST", "/tea/release", {"jobs": ["ask-9"]}),
    ("POST", "/tea/void", {"measurement": "m-9", "reason": "never"}),
    ("POST", "/tea/amend", {"measurement": "m-1", "reason": "never"}),
    ("POST", "/tea/mend", {"event": 1, "reason": "never"}),
    ("POST", "/tea/exclude", {"option": "X", "reason": "never"}),
    ("POST", "/tea/include", {"option": "A"}),
    ("POST", "/tea/add", {"options": ["A"]}),
    ("POST", "/tea/switch", {"model": "linear"}),
    ("POST", "/tea/policy", {"name": "nobody"}),
    ("POST", "/tea/rename", {"name": ""}),
    ("POST", "/tea/imports", {"table": "option,value\nX,1\n"}),
    ("POST", "/tea/imports", {}),
    ("POST", "/tea/slot", {"sigma": []}),
    ("POST", "/tea/slot", {"sigma": [-1]}),
    ("POST", "/tea/worth", {"by": "day"}),
    ("POST", "/tea/plan", {"paths": 1}),
    ("POST", "/tea/certificate/verify", {"certificate": {}}),
    ("POST", "/rebuild", {"log": "nothing"}),
    ("GET", "/tea/export.png", None),
    ("GET", "/tea/plan?paths=none", None),
    ("GET", "?limit=0", None),
    ("GET", "?after=nothing", None),
    ("GET", "/tea", None),
)


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """All of them."""
    for role in ROLES:
        yield f"every route, {role}", {"role": role, "routes": [list(one) for one in all_routes()]}
    reading = {"role": "owner", "read_only": True, "routes": [list(one) for one in all_routes()]}
    yield "every route of a server that only reads", reading
    known = fields_of_commands()
    yield "what commands do", _case(PLAY, known)
    for name, (made, told) in STUDIES.items():
        asked: list[Request] = [("init", "POST", "", {"name": "tea", **made})]
        asked += [("tell", "POST", "/tea/tells", body) for body in told]
        asked += [("status", "GET", "/tea", None), ("check", "GET", "/tea/check", None)]
        asked += [("ask", "POST", "/tea/asks", {"n": 2}), ("worth", "GET", "/tea/worth", None)]
        yield name, _case(tuple(asked), known)
    first = ("POST", "", {"name": "tea", "options": ["A", "B", "C"], "eps": 0.1})
    steps = [{"method": one, "path": path, "body": body} for one, path, body in (first, *REFUSED)]
    yield "refused", {"steps": steps}


def all_routes() -> list[tuple[str, str]]:
    """Method and path of each route, in the order of the app."""
    return [(method, path) for method, path, _ in routes_of(make_app(":memory:").routes)]


def fields_of_commands() -> dict[str, Any]:
    """The names of fields in the ``--json`` of each command, nested as they are there."""
    known: dict[str, Any] = {}
    for _, case in commands.cases():
        if case["steps"][0].startswith("init"):
            for step in commands.play(case)["steps"]:
                merge(known.setdefault(step["command"].split()[0], {}), step["json"])
    # The command prints what is best out of the certificate.
    known["best"] = {"certificate": known["best"]}
    known["tell"]["measurements"] = known["tell"]["measurement"]
    return known


def merge(into: dict[str, Any], said: Any) -> None:
    """Add the names of fields in a document."""
    if isinstance(said, list):
        for one in said:
            merge(into, one)
    elif isinstance(said, dict):
        for name, value in said.items():
            merge(into.setdefault(name, {}), value)


def _case(steps: tuple[Request, ...], known: dict[str, Any]) -> dict[str, Any]:
    return {
        "fields": {command: known[command] for command, *_ in steps},
        "steps": [
            {"command": command, "method": method, "path": path, "body": body}
            for command, method, path, body in steps
        ],
    }


def play(case: dict[str, Any]) -> dict[str, Any]:
    """The status of each answer, and the fields that the command has as well."""
    return _play_routes(case) if "routes" in case else _play_steps(case)


def _play_routes(case: dict[str, Any]) -> dict[str, Any]:
    """In a new app, every route once, in order."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = TokenFile(Path(folder) / "tokens")
        secrets = {role: tokens.add(f"{role} one", role)[1] for role in ROLES[2:]}
        store = nw.MemoryStorage()
        study = nw.create_study(store, name="tea", options=["A", "B", "C"], eps=0.1)
        for option, value in (("A", 1.0), ("B", 3.0), ("C", 2.0)):
            study.tell(option=option, value=value, se=0.05, key=f"first {option}")
        study.ask()
        app = make_app(store, tokens=tokens, read_only=case.get("read_only", False), rate=1e9, burst=1e9)
        secret = secrets.get(case["role"], "nw_" + "A" * 43)
        headers = {} if case["role"] == "stranger" else {"Authorization": f"Bearer {secret}"}
        answers = {}
        for method, path in case["routes"]:
            address = path.format_map({name: quote(value) for name, value in PLACES.items()})
            body = {"json": BODIES.get(path.rpartition("/")[2], {})} if method == "POST" else {}
            # From an address of its own: strangers may not ask often.
            client = TestClient(
                app, base_url="http://localhost", follow_redirects=False, client=(f"{method} {path}", 1)
            )
            answers[f"{method} {path}"] = client.request(method, address, headers=headers, **body).status_code
        return facts({"statuses": answers})


def _in_words(body: dict[str, Any]) -> dict[str, Any]:
    """A body of the records in the words of today."""
    words = dict(body)
    words.pop("span", None)  # no model needs it
    if "bounds" in words:
        words["measure"] = {"ratings": words.pop("bounds")}
    if "looks" in words:
        words["final"] = words.pop("looks") == "once"
    if "id" in words:
        words["roles"] = {"option": words.pop("id")}
    return words


def _play_steps(case: dict[str, Any]) -> dict[str, Any]:
    answers = []
    app = make_app(nw.MemoryStorage(), rate=1e9, burst=1e9)
    with TestClient(app, base_url="http://localhost") as client:
        for step in case["steps"]:
            sent = {} if step["body"] is None else {"json": _in_words(step["body"])}
            answer = client.request(step["method"], API + step["path"], **sent)
            said: dict[str, Any] = {"status": answer.status_code}
            if (
                answer.is_success
                and "command" in step
                and answer.headers["content-type"] == "application/json"
            ):
                said["document"] = kept(masked(answer.json()), case["fields"][step["command"]])
            answers.append(said)
    return facts({"steps": answers})


def kept(said: Any, fields: dict[str, Any]) -> Any:
    """The part of a document with these fields."""
    if isinstance(said, list):
        return [kept(one, fields) for one in said]
    if isinstance(said, dict):
        return {name: kept(value, fields[name]) for name, value in said.items() if name in fields}
    return said
