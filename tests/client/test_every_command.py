"""Every command that takes a store, with the address of a server in its place: generated from the list.

Each line is typed for a file and for a server of an equal file; output, error and exit code must be the same
to the last letter, but for times, hashes, and the place itself.
"""

import re

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.commands import commands, run
from tests.support.effort import effort
from tests.support.servers import in_thread

import noisewise as nw
from noisewise.server.app import make_app

#: Lines by command; @ is the store, # a file of this test (a different one for each of the two).
LINES = {
    "status": ["@ -s s", "@", "@ -s none", "@ -s empty"],
    "certify": [
        "@ -s s", "@ -s s --cheapest", "@ -s s --out #c.json", "@ -s s --verify #c.json",
        "@ -s s --verify table.csv",
    ],
    "check": ["@ -s s"],
    "gate": ["@ -s s --candidate A --baseline B", "@ -s s --candidate A --baseline A"],
    "worth": ["@ -s s", "@ -s s --by block", "@ -s s --by colour"],
    "plan": ["@ -s s --paths 3", "@ -s s --paths 3 --sigma 0.1", "@ -s s --eps -1"],
    "report": ["@ -s s --out #r.html", "@ -s s --out #r.txt"],
    "list": ["@", "@ --quick"],
    "export": [
        "@ -s s --what measurements", "@ -s s --what options", "@ -s s --what items", "@ -s s --what nothing",
        "@ -s s --out #l.jsonl", "@ -s s --what options --out #o.csv", "@ -s none", "@",
    ],
    "verify": ["@", "@ -s s", "@ -s none", "#c.json @ -s s", "#l.jsonl"],
    "backup": ["@ #copy.db", "@ #copy.db"],
    "ask": [
        "@ -s s", "@ -s s -n 2 --sigma 0.3 --lease 2 --by me", "@ -s s --dry-run", "@ -s s -n 0",
        "@ -s s --out #sheet.csv", "@ -s s --lease -1", "@ -s s --probe both", "@ -s empty --block mo",
    ],
    "tell": [
        "@ ask-1 1.0 --se 0.1 -s s", "@ A 3.04(5) --key b -s s", "@ Z 1 -s s", "@ ask-99 1 -s s",
        "@ A 1 --se 0.1 --key b -s s", "@ --plus A --minus B -- -0.5 -s s", "@ A -s s", "@ A x -s s",
        "@ A 2 --sd 0.2 --n 4 --note hand --cost 2 -s s", "@ A 1 --se -1 -s s",
    ],
    "import": [
        "@ table.csv -s s", "@ table.csv -s s", "@ table.csv -s s --dry-run", "@ bad.csv -s s",
        "@ none.csv -s s",
        "@ more.csv -s s", "@ more.csv -s s --unknown add", "@ table.csv -s s --repeat", "@ changed.csv -s s",
        "@ changed.csv -s s --amend typo", "@ network.csv -s nets --network",
        "@ network.csv -s nets --network",
        "@ arms.csv -s nets --arms", "@ arms.csv -s nets --network", "@ hyperfine:run.json -s s",
        "@ --from hyperfine run.json -s s", "@ german.csv -s s",
    ],
    "void": ["@ m-1 wrong -s s", "@ m-1 wrong -s s", "@ m-99 wrong -s s"],
    "amend": ["@ m-2 typo --value 2.2 --se 0.1 -s s", "@ m-2 typo -s s", "@ m-99 typo --value 1 -s s"],
    "release": [
        "@ ask-3 -s s", "@ ask-3 ask-4 -s s", "@ ask-2 --failed broken -s s", "@ ask-99 --failed broken -s s",
    ],
    "exclude": ["@ C gone -s s", "@ C gone -s s", "@ Q gone -s s", "@ C --undo -s s", "@ C --undo -s s"],
    "add": ["@ F G -s s", "@ F -s s", "@ options.csv -s s"],
    "switch": ["@ --extra-scatter 0.1 -s s", "@ -s s", "@ linear -s s"],
    "run": [
        "@ -s s --budget 3 --until spent -- echo 1.0(1)", "@ -s s --budget 2 --until spent -- false",
        "@ -s auto --new X Y --eps 9 -- echo 1.0(1)", "@ -s auto --new X Y --eps 9 -- echo 1.0(1)",
        "@ -s auto --new X Z --eps 9 -- echo 1.0(1)", "@ -s none -- echo 1",
    ],
    "init": [
        "@ X Y --eps 1 -s made", "@ X Y --eps 1 -s made", "@ X Y -s other",
        "@ --from table.csv --eps 1 -s told",
        "@ --from bad.csv --eps 1 -s bad", "@ options.csv --eps 1 -s opts",
        "@ --from table.csv --eps 1 --dry-run",
        "@ --from network.csv --network --eps 1 -s net",
        "@ --from hyperfine:run.json --scale log --eps 2% -s hf",
    ],
    "rename": ["@ made newer", "@ made newer", "@ newer s"],
    "restore": ["@ #l.jsonl -s again", "@ #l.jsonl -s again"],
}  # fmt: skip
#: Commands that work on the store itself, or on another machine's behalf; each says so.
ON_THE_STORE = {
    "restore": "restore @ copy.db",
    "serve": "serve @",
    "token": "token list @",
}
#: It hands the store on to the commands above.
HANDS_ON = ("mcp",)
FILES = {
    "table.csv": "option,value,se,block\nA,1.0,0.1,mo\nB,3.0,0.1,mo\nA,1.1,0.1,tu\n",
    "changed.csv": "option,value,se,block\nA,1.0,0.1,mo\nB,3.5,0.1,mo\nA,1.1,0.1,tu\n",
    "bad.csv": "option,value,se\nA,1.0,0.1\nB,x,0.1\n",
    "more.csv": "option,value,se\nA,1.0,0.2\nQ,3.0,0.1\n",
    "german.csv": "option;value;se\nA;1,25;0,1\nB;3,5;0,1\n",
    "options.csv": "name\nK\nL\n",
    "network.csv": "treat1,treat2,effect,se,studlab\nA,B,-2,0.2,one\nA,C,-1,0.2,one\nB,C,1,0.2,one\n"
    "A,B,-1.9,0.3,two\n",
    "arms.csv": "study,treatment,events,n\nthree,A,10,50\nthree,B,30,50\nthree,C,20,50\n",
    "run.json": '{"results":[{"command":"A","mean":1.2,"stddev":0.03,"times":[1.19,1.22,1.2]},'
    '{"command":"B","mean":1.4,"stddev":0.03,"times":[1.39,1.42,1.4]}]}',
}


def test_every_command_that_takes_a_store_is_typed_with_an_address():
    takes = {
        name for name, command in commands().items() if any(one.name == "store" for one in command.params)
    }
    assert takes == LINES.keys() | ON_THE_STORE.keys() | set(HANDS_ON)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A file, and the address of a server of a file with the same studies."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for file in ("here.db", "there.db"):
        for name in ("s", "empty", "nets"):
            study = nw.create_study(tmp_path / file, name=name, options=["A", "B", "C"], eps=0.5, seed=2)
        study = nw.load_study(tmp_path / file, "s")
        for key, option in enumerate("ABCAB"):
            study.tell(option=option, value=1.0 + 0.5 * key, se=0.2, key=f"first {key}", block="xy"[key % 2])
        study.ask(2)
    with in_thread(make_app(tmp_path / "there.db")) as address:
        yield "here.db", address


def typed(place, own, command, line, *more):
    """What a command says and how it ends; what differs by nature is left out."""
    words = [command, *line.split(), *more] if "--" not in line.split() else [command, *line.split()]
    words = [place if word == "@" else word.replace("#", own) for word in words]
    done = run(*words)
    problem = "" if done.exception is None else f"{type(done.exception).__name__}{done.exception.args}"
    said = f"{done.exit_code}\n{done.output}\n{problem}".replace(place, "PLACE").replace(own, "")
    said = re.sub(r"[0-9a-f]{64}|\b[0-9a-f]{16}…|\bsent-[\w-]+", "#", said)
    said = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00| UTC)?", "THEN", said)
    said = re.sub(r"measurements? in [\d.e-]+ s", "measurements in a while", said)
    said = re.sub(r'"seconds": [\d.e-]+', '"seconds": 1', said)
    return re.sub(r"(?<=[\w,;:.])\s+(?=\w)", " ", said)  # lines break elsewhere where the place is longer


@pytest.mark.parametrize(
    "more", [(), pytest.param(("--json",), marks=pytest.mark.long("servers"))], ids=["words", "json"]
)
def test_every_command_says_the_same_and_ends_alike(places, more):
    here, there = places
    apart = []
    for command, lines in LINES.items():
        for line in lines[: effort(1, None)]:
            said = typed(here, "h-", command, line, *more), typed(there, "t-", command, line, *more)
            if said[0] != said[1]:
                apart += [f"{command} {line}", *said]
    assert "\n".join(apart) == ""
    logs = [
        {name: [event.kind for event in nw.load_study(place, name).events()] for name in store.names()}
        for place in places
        for store in [nw.open_store(place)]
    ]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("command", ON_THE_STORE)
def test_what_is_done_on_the_machine_of_the_server_says_so(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nw.create_study("s.db", options=["A", "B"], eps=1.0)
    nw.backup_store("s.db", "copy.db")
    done = run(*ON_THE_STORE[command].replace("@", "https://host.example/lab").split())
    assert done.exit_code
    assert "server" in str(done.exception)
    assert {path.name for path in tmp_path.iterdir()} <= {"s.db", "copy.db", "s.db-wal", "s.db-shm"}
