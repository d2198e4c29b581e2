"""The ``--json`` of every command, on small studies that the same case makes in a folder of its own.

A case is a list of command lines, run in this process one after the other. What differs from run to run
(times, hashes, secrets) and what is wording is masked; see `masked`.
"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.golden._worlds import facts

from noisewise.cli import main

NAME = "commands"

#: In the place of what is no fact of the study.
TEXT, SECRET, TIME = "(text)", "(secret)", "(time)"
#: Fields that say when something was, or how long it took.
TIMES = frozenset(
    ("at", "expires", "last_change", "seconds", "days", "per_day", "engine", "arithmetic", "microseconds")
)
#: Fields whose words are facts.
WORDS = frozenset(("state", "looks", "evidence", "model", "name", "option", "command", "title"))
#: Digests and random names.
HEX = re.compile(r"[0-9a-f]{16,}|nw[s]?_\S+|t-[0-9a-f]{8}|l-[0-9a-f]{8}")

ALLOYS = """alloy,x,y,price
A-1,0.12,0.9,2
A-2,0.41,0.2,3
A-3,0.93,0.5,2
A-4,0.55,0.7,1
A-5,0.33,0.35,4
A-6,0.71,0.05,2.5
"""
RESULTS = """option,value,se,block,key
A,1.02,0.11,mon,k1
B,1.61,0.2,mon,k2
C,0.4,0.15,mon,k3
A,1.3,0.1,tue,k4
B,1.95,0.12,tue,k5
C,0.83,0.21,tue,k6
"""
GLUCOSE = """TE,seTE,treat1,treat2,studlab
-0.9262,0.149,acar,plac,S01
-0.9745,0.3031,benf,plac,S02
-1.2836,0.2841,metf,plac,S03
-0.8247,0.1086,migl,plac,S04
-0.3,0.21,metf,acar,S05
-1.0,0.19,metf,plac,S06
0.12,0.3,acar,migl,S07
"""
SMOKING = """study,treatment,r,n
1,none,22,363
1,single,60,417
1,group,130,682
2,self-help,66,585
2,single,95,601
3,none,41,299
3,self-help,55,312
"""
HYPERFINE = json.dumps(
    {
        "results": [
            {
                **{"command": command, "mean": sum(times) / 4, "stddev": 0.01, "median": times[0]},
                **{"user": 0.1, "system": 0.01, "min": min(times), "max": max(times)},
                **{"times": times, "exit_codes": [0, 0, 0, 0]},
            }
            for command, times in (("sort", [0.2, 0.21, 0.22, 0.205]), ("awk", [0.3, 0.33, 0.29, 0.31]))
        ]
    }
)
ITEMS = "item\nq1\nq2\nq3\nq4\nq5\nq6\n"
ITEM_RESULTS = """option,item,value
A,q1,0.31
A,q2,0.52
A,q3,0.73
B,q1,0.62
B,q2,0.71
B,q3,0.94
"""

#: Every command on a study of three options.
THREE = """
init s.db A B C D --eps 0.1 --span 5
status s.db
best s.db
certify s.db
check s.db
ask s.db
tell s.db ask-1 1.0 --se 0.1
tell s.db B 2.34(5)
tell s.db C 0.5 --var 0.04 --block mon --note seen --by eve --key k7 --cost 2
tell s.db C 0.5 --var 0.04 --block mon --key k7
tell s.db D 1 --ci 0.804,1.196
tell s.db D 1.1 --ci 0.804,1.396 --level 0.9
tell s.db A 1.2 --se 0.3/0.4
tell s.db --plus A --minus B -1.3 --se 0.2
ask s.db -n 3 --by eve
ask s.db --sigma 0.2 --dry-run
ask s.db --block tue
ask s.db --probe difference
fail s.db ask-2 broken
release s.db ask-3 ask-4 --reason later
amend s.db m-1 typo --value 1.05 --se 0.12
void s.db m-2 wrong
tell s.db B 1.9 --se 0.07
exclude s.db D sold
status s.db
certify s.db
include s.db D
add s.db E F
tell s.db E 0.2 --se 0.2
tell s.db F 2.0 --se 0.15
status s.db
best s.db
check s.db
certify s.db -o c.json
certify s.db --verify c.json
verify c.json s.db
verify s.db
plan s.db --paths 4
plan s.db --paths 3 --noise 0.3 --noise 0.03@0.1 --eps 0.3 --seed 4
plan s.db --paths 2 --menu 0.3@1 --menu 0.1@5 --eps 0.4
worth s.db
worth s.db --by option
worth s.db --by block -o w.csv
slot s.db 0.1 0.5
slot s.db 0.1 0.5 0.02 --budget 2 --block wed
report s.db -o r.html
export s.db -o log.jsonl
export s.db --what measurements -o m.csv
export s.db --what options -o o.csv
export s.db --what events -o e.csv
verify log.jsonl
rebuild other.db log.jsonl -s again
status other.db
list s.db
list s.db --quick
rename s.db study named
backup s.db copy.db
restore copy.db back.db
status back.db
migrate s.db
switch s.db --extra-scatter 0.2 --reason rough
status s.db
mend s.db 3 because
tell s.db E 0.3
certify s.db
"""
#: Studies of every kind, by the command lines that make them; each is then looked at.
STUDIES: dict[str, tuple[str, ...]] = {
    "readings": (
        "init s.db A B C --eps 0.2",
        *(f"tell s.db A --values {a}" for a in ("1.1;1.3;0.9;1.0", "1.2;0.8;1.15")),
        "tell s.db B --values 1.9;2.2;2.05;1.7;2.3",
        "tell s.db C 0.5 --sd 0.4 --n 9",
        "tell s.db C 0.7 --sd 0.3 --n 4",
    ),
    "pooled readings": (
        "init s.db A B C --eps 0.2 --scatter pooled",
        "tell s.db A --values 1.1;1.3;0.9;1.0",
        "tell s.db B --values 1.9;2.2;2.05;1.7",
        "tell s.db C --values 0.9;0.75;0.6",
    ),
    "counts": (
        "init s.db A B C --eps 0.05",
        "tell s.db A --successes 25 --trials 100",
        "tell s.db B --successes 61 --trials 110",
        "tell s.db C --successes 12 --trials 95",
        "tell s.db B --successes 300 --trials 520",
    ),
    "ratings within bounds": (
        "init s.db A B C --eps 0.2 --bounds 0 5",
        "tell s.db A --values 1;3;2;4;2",
        "tell s.db B --values 4;5;4;5;5;3",
        "tell s.db C --values 0;1;1;2",
    ),
    "features": (
        "init s.db alloys.csv --id alloy -f x,y --cost price --model linear --span 5 --eps 0.2",
        "tell s.db A-1 1.0 --se 0.1",
        "tell s.db A-2 1.4 --se 0.15",
        "tell s.db A-3 2.2 --se 0.1",
        "tell s.db A-5 1.1 --se 0.2",
    ),
    "features and deviations": (
        "init s.db alloys.csv --id alloy -f x,y --model linear+deviation --deviation 0.2 --span 5 --eps 0.2",
        "tell s.db A-1 1.0 --se 0.1",
        "tell s.db A-2 1.4 --se 0.15",
        "tell s.db A-3 2.2 --se 0.1",
        "tell s.db A-6 1.7 --se 0.1",
        "tell s.db A-4 1.1 --se 0.2",
    ),
    "blocks": ("init s.db A B C --eps 0.2 --span 4", "import s.db results.csv"),
    "differences": (
        "init s.db A B C --eps 0.2 --span 4",
        "tell s.db --plus A --minus B 0.5 --se 0.1",
        "tell s.db --plus C --minus B 1.4 --se 0.12",
        "tell s.db --plus A --minus C -0.7 --se 0.2",
    ),
    "network": ("init s.db --from glucose.csv --network --goal min --eps 0.2",),
    "arms": ("init s.db --from smoking.csv --arms --map events=r,option=treatment --eps 0.3",),
    "items of a pool": (
        "init s.db A B --eps 0.1 --items items.csv --bounds 0 1 --seed 0",
        "import s.db item_results.csv",
        "ask s.db --items 2",
        "tell s.db {option} --items {items}",
        "ask s.db --items 3",
        "tell s.db {option} --items {items}",
        "amend s.db m-2 misread --items {others}",
        "export s.db --what items -o i.csv",
    ),
    "items": (
        "init s.db A B --eps 0.1 --items 30 --seed 0",
        *(
            "ask s.db --items 4",
            "tell s.db {option} --items {items}",
            "ask s.db --items 4",
            "tell s.db {option} --items {items}",
        ),
    ),
    "ratios": (
        "init s.db sort awk sed --scale log --eps 2% --goal min --unit ms --span 3",
        "tell s.db sort 10.01 --se 0.05",
        "tell s.db awk 10.5 --se 0.04",
        "tell s.db sed 12.2 --se 0.2",
        "tell s.db awk -- -3",
        "slot s.db 0.5%",
    ),
    "one look": (
        "init s.db A B C --eps 0.2 --final",
        "tell s.db A 1.0 --se 0.1",
        "tell s.db B 2.0 --se 0.1",
        "tell s.db C 1.8 --se 0.05",
    ),
    "heavy tails": (
        "init s.db A B --eps 0.5 --noise heavy --span 10",
        *(f"tell s.db A {1 + 0.07 * k:.2f} --se 0.1" for k in range(5)),
        *(f"tell s.db B {2.3 - 0.06 * k:.2f} --se 0.1" for k in range(5)),
    ),
    "scatter and a floor": (
        "init s.db A B C --eps 0.3 --extra-scatter 0.15 --noise-floor 0.05 --confidence 0.9",
        *(
            f"tell s.db {o} {v} --se 0.04"
            for o, v in zip("ABCABCA", (1, 2, 0.5, 1.4, 2.3, 0.4, 1.1), strict=True)
        ),
    ),
    "a budget and a goal": (
        "init s.db A B C --eps 0.3 --budget 8 --goal min --seed 4 --lease 2 --unit kg",
        "tell s.db A 1.0 --se 0.1",
        "ask s.db -n 2",
    ),
    "a rule": (
        "init s.db alloys.csv --id alloy -f x,y --model linear --span 5 --eps 0.2 "
        "--policy linear_thompson:scale=0.5",
        "ask s.db",
        "tell s.db ask-1 1.4 --se 0.1",
        "ask s.db -n 2",
    ),
    "another model": (
        "init s.db alloys.csv --id alloy -f x,y --span 5 --eps 0.2",
        "tell s.db A-1 1.0 --se 0.1",
        "tell s.db A-2 1.3 --se 0.1",
        "switch s.db --model linear+deviation --deviation 0.2",
        "tell s.db A-3 1.9 --se 0.1",
        "tell s.db A-4 1.5 --se 0.1",
        "switch s.db --final",
    ),
    "a bad fit": (
        "init s.db A B --eps 0.1",
        "tell s.db A 1.0 --se 0.01 --instrument one",
        "tell s.db A 1.93 --se 0.01 --instrument two",
        "tell s.db B 0.4 --se 0.01 --instrument one",
        "tell s.db B 1.37 --se 0.013 --instrument two",
    ),
}
#: How each of those studies is looked at.
LOOKS = (
    *("status s.db", "best s.db", "certify s.db", "check s.db", "ask s.db -n 2 --dry-run"),
    *("worth s.db", "verify s.db"),
)
#: Studies that a plan is made of, too.
PLANNED = ("counts", "features", "blocks", "ratios", "items", "a budget and a goal")
#: Tables and files of other tools.
IMPORTS = """
init s.db A B C --eps 0.2
import s.db results.csv --dry-run
import s.db results.csv
import s.db results.csv
import s.db changed.csv
import s.db changed.csv --amend typo
import s.db foreign.csv
import s.db foreign.csv --skip
import s.db foreign.csv --add
import s.db german.csv --decimal ,
import s.db mapped.csv --map option=name,value=level,se=err --ignore comment
import s.db bare.csv
import s.db bare.csv --allow-missing-se
init t.db sort awk --eps 0.05 --goal min
import t.db hyperfine.json --from hyperfine --unit s
import t.db hyperfine.json --from auto --again
init u.db --from hyperfine.json --eps 5% --scale log --goal min
init v.db --from results.csv --eps 0.2 --dry-run
init v.db --from results.csv --eps 0.2
status v.db
"""
#: A run of commands.
RUN = """
run s.db --new A B C --eps 0.5 --span 4 --budget 9 -- python3 measure.py {option}
status s.db
run s.db --budget 2 --until spent -- python3 measure.py {option}
run t.db --new A B --eps 0.5 --budget 2 --on-error exclude -- python3 broken.py
"""
TOKENS = """
token add s.db eve --role worker
token add s.db adam
token list s.db
token revoke s.db eve
token list s.db
token revoke s.db eve
"""
#: Commands of the research half.
PLAIN = "--no-compile --jobs 1"
WORLDS: dict[str, tuple[str, ...]] = {
    "policies": ("policies",),
    "design": (
        "design alloys.csv -f x,y --id alloy --gap 1e-9",
        "design alloys.csv -f x,y --id alloy --support core",
        "design alloys.csv -f x --intercept --gap 1e-9",
        "design alloys.csv -f nothing",
    ),
    "simulate": (
        f"simulate -p vaee,round_robin,oful --instance soare:dim=3 --horizon 30 --replications 5 {PLAIN}",
        "simulate -p vage,information_directed --instance sphere:n_actions=8:dim=2 --schedule flat "
        f"--noise laplace --horizon 20 --replications 3 --seed 3 --announced {PLAIN}",
        "simulate -p vaee --instance sphere:n_actions=5:dim=2 --schedule log-uniform --horizon 40 "
        f"--replications 3 --stop gap --eps 0.9 {PLAIN}",
    ),
    "arena": ("arena -p vaee,vage --cells soare-6 --horizon 20 --replications 3 --jobs 1",),
    "demo": ("demo --out d",),
}
#: Times of real programs: only the form of the answer is kept.
BENCH = "bench true false --ignore-failure --budget 2 --shell"
#: What is refused, each with its exit code.
REFUSED = """
init s.db A B
init s.db A A --eps 0.1
init s.db A B --eps -1
init s.db A B --eps 0.1 --confidence 1.5
init s.db A B --eps 2%
init s.db A B --eps 0.1 --model linear
status s.db
init s.db A B --eps 0.1
init s.db A B --eps 0.1
tell s.db X 1 --se 0.1
tell s.db A 1 --se -0.1
tell s.db A nan --se 0.1
tell s.db A 1 --se 0.1 --var 0.1
tell s.db A 1 --sd 0.1
tell s.db ask-9 1 --se 0.1
tell s.db A --successes 9 --trials 4
ask s.db -n 0
ask s.db --sigma 0
fail s.db ask-1 never
void s.db m-1 never
amend s.db m-1 never --value 2
exclude s.db X never
exclude s.db A never
exclude s.db B never
include s.db B
add s.db A
plan s.db --noise -1
slot s.db 0
worth s.db --by day
export s.db --what nothing -o x.csv
rebuild s.db missing.jsonl
restore missing.db x.db
verify missing.db
certify s.db --verify missing.json
rename s.db nothing other
switch s.db --model linear
token add s.db
token add s.db eve --role boss
policies --unknown
simulate -p nobody
arena --cells nowhere
design missing.csv -f x
paper nothing
bench
demo --seed -1
migrate missing.db
backup missing.db x.db
list missing.db
import s.db missing.csv
run s.db --
report s.db -o r.txt
"""
FILES = {
    "alloys.csv": ALLOYS,
    "results.csv": RESULTS,
    "glucose.csv": GLUCOSE,
    "smoking.csv": SMOKING,
    "hyperfine.json": HYPERFINE,
    "items.csv": ITEMS,
    "item_results.csv": ITEM_RESULTS,
    "changed.csv": RESULTS.replace("1.02", "1.22"),
    "foreign.csv": "option,value,se,key\nZ,1.5,0.2,z1\nA,1.1,0.2,z2\n",
    "german.csv": "option;value;se;key\nA;1,25;0,2;g1\nB;1,5;0,3;g2\n",
    "mapped.csv": "name;level;err;comment\nA;1.25;0.2;fine\nC;0.5;0.3;so-so\n",
    "bare.csv": "option,value,se,key\nA,1.4,,b1\nB,1.6,0.2,b2\n",
    "measure.py": "import sys\nprint({'A': 1.0, 'B': 2.5, 'C': 0.5}[sys.argv[1]], '+-', 0.1)\n",
    "broken.py": "raise SystemExit(3)\n",
}


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """All of them."""
    yield "every command", _case(THREE.strip().splitlines())
    for name, steps in STUDIES.items():
        yield name, _case([*steps, *LOOKS, *["plan s.db --paths 3"] * (name in PLANNED)])
    yield "tables", _case(IMPORTS.strip().splitlines())
    yield "run", _case(RUN.strip().splitlines())
    yield "tokens", _case(["init s.db A B --eps 1", *TOKENS.strip().splitlines()])
    for name, steps in WORLDS.items():
        yield name, _case(list(steps))
    yield "paper", _case(["paper theorem3 --out p"]) | {"checked": True}
    yield "bench", _case([BENCH]) | {"form": True}
    yield "refused", _case(REFUSED.strip().splitlines())


def _case(steps: list[str]) -> dict[str, Any]:
    named = " ".join(steps)
    files = {name: text for name, text in FILES.items() if name in named}
    return {"files": files, "steps": steps}


def play(case: dict[str, Any]) -> dict[str, Any]:
    """The exit code and the JSON of every step."""
    shown = form if case.get("form") else masked
    answers: list[dict[str, Any]] = []
    job: dict[str, str] = {}
    with contextlib.ExitStack() as held:
        held.enter_context(contextlib.chdir(held.enter_context(tempfile.TemporaryDirectory())))
        if case.get("checked"):
            held.enter_context(patch("noisewise.paper.check_paper", _already_checked))
        for name, text in case["files"].items():
            Path(name).write_text(text, encoding="utf-8")
        for step in case["steps"]:
            if step.startswith("best "):
                code, said = best_by(step)
            else:
                code, said = said_by(step.format_map(job) if "--items {" in step else step)
            if said is not None and "jobs" in said:
                job = _items_of(said["jobs"][0])
            answers.append({"command": step, "exit": code, "json": shown(said)})
    return facts({"steps": answers})


def _items_of(job: Any) -> dict[str, str]:
    """An answer to a suggestion of items: each item has a value of its own."""
    if not isinstance(job, dict) or not job.get("items"):
        return {}
    option, items = job["option"], job["items"]
    values = {item: (7 * sum(item.encode()) + 31 * ord(option[0])) % 97 / 100 for item in items}
    return {
        "option": option,
        "items": ",".join(f"{item}={value}" for item, value in values.items()),
        "others": ",".join(f"{item}={round(1.0 - value, 2)}" for item, value in values.items()),
    }


def _already_checked(*_: Any, **__: Any) -> Any:
    """What a run over the paper found, which takes minutes."""
    from noisewise.paper.report import Report
    from noisewise.paper.section import Finding

    checks = [("theorem3", Finding("holds", True, "so")), ("theorem3", Finding("fails", False, "no"))]
    return Report(checks, Path("p/report.html"))


#: What `best` said of a certificate.
BEST = (
    "option", "estimate", "bound", "reached", "sentence", "candidates", "verdict", "largest_estimate",
    "largest_estimate_value", "rank", "n_compared", "withheld", "scale", "bound_ratio", "eps_ratio", "pool",
    "wider", "heterogeneous",
)  # fmt: skip
#: Commands that were renamed, or became flags of others, as a function of what was typed behind them.
RENAMED = {
    "init": lambda *words: init_in_words(["init", *words]),
    "run": lambda *words: init_in_words(["run", *words]) if "--new" in words else ["run", *words],
    "policies": lambda *words: ["rules", *words],
    "include": lambda store, option: ["exclude", store, option, "--undo"],
    "fail": lambda store, job, reason: ["release", store, job, "--failed", reason],
    "rebuild": lambda *words: ["restore", *words],
    "restore": lambda backup, store: ["restore", store, backup],
}


def init_in_words(words: list[str]) -> list[str]:
    """The flags of `init`, and of `run --new`, that were there, in the words of today."""
    flags = [words.pop(0)]
    roles, errors, bounds, pool, deviation = [], [], "", "", ""
    while words:
        word = words.pop(0)
        if word in ("--span", "--lease"):
            words.pop(0)
        elif word in ("--id", "--cost"):
            roles.append(f"{'option' if word == '--id' else 'cost'}={words.pop(0)}")
        elif word in ("--extra-scatter", "--noise-floor", "--scatter", "--noise"):
            names = {"--extra-scatter": "extra", "--noise-floor": "floor", "--noise": "tails"}
            errors.append(f"{names.get(word, 'scatter')}={words.pop(0)}")
        elif word == "--bounds":
            bounds = f"{words.pop(0)},{words.pop(0)}"
        elif word == "--items":
            pool = words.pop(0)
        elif word == "--deviation":
            deviation = words.pop(0)
        elif word in ("--network", "--arms"):
            flags += ["--choose", f"layout={word[2:]}"]
        elif word == "--":
            flags += [word, *words]
            break
        else:
            flags.append(word)
    if deviation:
        flags[flags.index("--model") + 1] += f":{deviation}"
    measure = f"items:{pool}:{bounds}".rstrip(":") if pool else f"ratings:{bounds}" if bounds else ""
    added = {"--map": ",".join(roles), "--errors": ",".join(errors), "--measure": measure}
    more = [part for flag, given in added.items() if given for part in (flag, given)]
    if "--features" in flags or "-f" in flags:
        more += [] if "--model" in flags else ["--model", "independent"]
    return [flags[0], *more, *flags[1:]]


def said_by(line: str) -> tuple[int, Any]:
    """The exit code of a command line, and the JSON that it prints; None if it prints no JSON."""
    words = line.replace("--no-compile ", "").replace("--jobs 1", "--on 1").split(" ")
    words = RENAMED.get(words[0], lambda *rest: words)(*words[1:])
    # What comes behind the dashes belongs to another program, or is a number.
    dashes = words.index("--") if "--" in words else len(words)
    arguments = [*words[:dashes], "--json", *words[dashes:]]
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv, sys.stdin, dict(os.environ)
    sys.argv, sys.stdin = ["noisewise", *arguments], io.StringIO("")
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    finally:
        sys.argv, sys.stdin = before[:2]
        os.environ.clear()
        os.environ.update(before[2])
    try:
        return code, json.loads(out.getvalue())
    except ValueError:
        return code, None


def best_by(line: str) -> tuple[int, Any]:
    """What `best` said, which is a part of `status` now."""
    code, said = said_by(line.replace("best", "status", 1))
    certificate = {name: part for name, part in said["certificate"].items() if name in BEST}
    return code, {"schema": "noisewise.best/1", "study": said["study"], "named": said["named"], **certificate}


def masked(said: Any, field: str = "") -> Any:
    """What was said, without times, hashes, secrets and sentences."""
    if isinstance(said, dict):
        return {name: masked(value, name) for name, value in said.items()}
    # The time when a token was made is a number; whether a run made its study is not.
    if (field in TIMES and said is not None) or (field == "made" and type(said) is float):
        return TIME
    if isinstance(said, list):
        shown = [masked(value, field) for value in said]
        return TEXT if TEXT in shown else shown
    if isinstance(said, str):
        if HEX.fullmatch(said) or said.startswith("/"):
            return SECRET
        return TEXT if re.search(r"\s", said) and field not in WORDS else said
    return said


def form(said: Any) -> Any:
    """The fields of what was said."""
    if isinstance(said, dict):
        return {name: form(value) for name, value in said.items()}
    if isinstance(said, list) and said and isinstance(said[0], dict):
        return [form(said[0])]
    return "(value)"
