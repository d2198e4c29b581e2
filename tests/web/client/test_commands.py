"""Commands with the address of a server in the place of a file say the same as on the file."""

import json

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.commands import plain, run
from tests.support.servers import in_thread

import noisewise as nw
from noisewise.web.app import make_app


@pytest.fixture
def places(tmp_path):
    """A file, and the address of a server of a file with the same study."""
    files = tmp_path / "here.db", tmp_path / "there.db"
    for file in files:
        nw.create_study(file, name="s", options=["A", "B", "C"], eps=0.5)
    with in_thread(make_app(files[1])) as address:
        yield str(files[0]), address


#: Times, hashes, and the client's keys.
APART = ("head", "data", "expires", "last_change", "event")


def common(content):
    if isinstance(content, dict):
        return {name: common(part) for name, part in content.items() if name not in APART}
    return [common(part) for part in content] if isinstance(content, list) else content


STEPS = [
    "status", "ask -n 2", "tell {} ask-1 1.0 --se 0.1", "tell {} B 3.04(5) --key b",
    "tell {} ask-2 2.9 --se 0.1",
    "tell {} Z 1", "status", "best", "certify", "check", "worth", "slot {} 0.1", "plan {} --paths 4 --span 5",
    "amend {} m-1 typo --value 1.1 --se 0.1", "void {} m-2 wrong", "exclude {} C gone", "include {} C",
    "add {} D", "fail {} ask-9 why", "release {} ask-2", "switch {} --extra-scatter 0.1", "list",
    "export {} --what measurements --json", "certify",
]  # fmt: skip


def test_each_command_says_the_same_and_ends_alike(places):
    for step in STEPS:
        said = []
        for place in places:
            words = step.split() if "{}" in step else [step.split()[0], "{}", *step.split()[1:]]
            done = run(*[place if word == "{}" else word for word in words], "--json")
            content = common(json.loads(done.stdout)) if done.stdout else str(done.exception)
            said.append((done.exit_code, content))
        assert said[0] == said[1], step


def test_words_are_the_same_as_well(places):
    for place in places:
        for option, value in (("A", 1.0), ("B", 3.0), ("C", 2.0)):
            run("tell", place, option, str(value), "--se", "0.1", "--key", option)
    for command in ("status", "best", "certify", "check"):
        here, there = (run(command, place).stdout.splitlines() for place in places)
        apart = [line for line in here if line not in there]
        assert all("head" in line for line in apart), command


def test_a_table_is_imported(places, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("option,value,se\nA,1.0,0.1\nB,3.0,0.1\nA,1.1,0.1\n")
    here, there = (plain("import", place, table) for place in places)
    assert common(here) == common(there)
    again = plain("import", places[1], table)
    assert (again["told"], again["known"]) == (0, 3)
    bad = tmp_path / "bad.csv"
    bad.write_text("option,value,se\nA,1.0,0.1\nQ,3.0,0.1\n")
    assert [str(run("import", place, bad).exception.args[0]) for place in places] == [
        "row 2 (line 3): 'Q' is not in the catalogue (3 options). There are A, B, C."
    ] * 2


def test_a_study_is_made_renamed_exported_and_rebuilt_there(places, tmp_path):
    _, address = places
    made = plain("init", address, "X", "Y", "--eps", "1", "--study", "new")
    assert made["options"] == 2
    plain("rename", address, "new", "newer")
    plain("tell", address, "X", "1.0", "--se", "0.1", "--study", "newer")
    plain("export", address, "--study", "newer", "--out", tmp_path / "log.jsonl")
    assert plain("rebuild", address, tmp_path / "log.jsonl", "--study", "again")["events"] == 1
    assert plain("list", address)["studies"] == ["s", "newer", "again"]
    assert plain("verify", tmp_path / "log.jsonl")["fits"]


def test_a_certificate_is_verified_from_the_log_of_the_server(places, tmp_path):
    _, address = places
    plain("tell", address, "A", "1.0", "--se", "0.1")
    run("certify", address, "--out", tmp_path / "c.json")
    assert plain("certify", address, "--verify", tmp_path / "c.json")["agrees"]
    claimed = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "c.json").write_text(json.dumps(claimed | {"confidence": 0.99}))
    assert run("certify", address, "--verify", tmp_path / "c.json").exit_code == 1


def test_what_works_on_the_store_itself_is_refused():
    done = run("migrate", "https://host.example/lab")
    assert "not through a server" in str(done.exception)


def test_all_studies_are_backed_up_and_verified_from_afar(places, tmp_path):
    _, address = places
    nw.create_study(address, name="t", options=["X", "Y"], eps=0.1)
    plain("tell", address, "A", "1.0", "--se", "0.1", "--study", "s")
    assert plain("backup", address, tmp_path / "copy.db")["studies"] == ["s", "t"]
    heads = [nw.load_study(place, "s").head for place in (tmp_path / "copy.db", address)]
    assert heads[0] == heads[1]
    said = plain("verify", address)
    assert [one["study"] for one in said["verdicts"]] == ["s", "t"]
    assert said == plain("verify", tmp_path / "copy.db")
    run("certify", address, "--study", "s", "--out", tmp_path / "c.json")
    assert plain("verify", tmp_path / "c.json", address)["fits"]


def test_a_run_makes_its_study_there_and_goes_on_with_it(places):
    _, address = places
    line = ("run", address, "--new", "X", "Y", "--eps", "5", "--study", "auto", "--json", "--")
    first = run(*line, "echo", "1.0(1)")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["made"]
    again = json.loads(run(*line, "echo", "1.0(1)").stdout)
    assert (again["made"], again["measured"]) == (False, 0)
    assert nw.load_study(address, "auto").n_measurements == json.loads(first.stdout)["measured"]
