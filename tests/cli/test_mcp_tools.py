"""Which commands are tools, with which parameters, and which files they may touch."""

import re

import pytest
import typer
from noisewise.assistant.schemas import in_tool_words
from noisewise.assistant.uses import NO_TOOLS, USES

from noisewise.assistant.folder import FilesFolder
from noisewise.assistant.tools import Permissions, Toolbox
from noisewise.cli import app

COMMANDS = typer.main.get_command(app).commands
#: How the help speaks of a parameter that is a file, or may be one.
OF_FILES = re.compile(r"\b(file|FILE|TABLE|table|folder|FOLDER|standard input|csv)\b")
#: Parameters that speak of tables, and name none.
NO_FILES = {
    ("init", "ignore"), ("init", "network"), ("init", "arms"), ("init", "dry_run"), ("init", "final"),
    ("import", "network"), ("import", "arms"), ("import", "dry_run"), ("import", "again"),
    ("import", "reader"), ("import", "only"), ("import", "called"),
    ("export", "what"),
}  # fmt: skip


def toolbox(tmp_path, write=True, files=True):
    folder = FilesFolder(tmp_path) if files else None
    return Toolbox(COMMANDS, Permissions(str(tmp_path / "s.db"), write, folder))


def test_every_command_is_declared_a_tool_or_none():
    undeclared = sorted(set(COMMANDS) - set(USES) - set(NO_TOOLS))
    assert undeclared == [], "say in cli/assistant/uses.py what an assistant may do with it"
    assert set(USES) & set(NO_TOOLS) == set()
    assert set(USES) | set(NO_TOOLS) == set(COMMANDS)


def test_a_command_that_is_not_declared_is_no_tool(tmp_path):
    box = Toolbox({**COMMANDS, "sneak": COMMANDS["status"]}, Permissions("s.db", True, FilesFolder(tmp_path)))
    assert "sneak" not in box.tools
    with pytest.raises(ValueError, match=r"^there is no tool `sneak`\.$"):
        box.find("sneak")


@pytest.mark.parametrize("name", USES)
def test_what_is_declared_of_a_command_is_there(name):
    use, known = USES[name], {parameter.name for parameter in COMMANDS[name].params}
    declared = {use.store, *use.texts, *use.names, *use.tables, *use.files, *use.hidden}
    assert declared | ({use.rehearsal} if use.rehearsal else set()) <= known


@pytest.mark.parametrize("name", USES)
def test_every_parameter_that_may_be_a_file_is_declared(name):
    use = USES[name]
    declared = {use.store, *use.texts, *use.names, *use.tables, *use.files, *use.hidden}
    for parameter in COMMANDS[name].params:
        told = f"{parameter.metavar or ''} {getattr(parameter, 'help', '') or ''}"
        is_path = "path" in type(parameter.type).__name__.lower()
        if is_path or (OF_FILES.search(told) and (name, parameter.name) not in NO_FILES):
            assert parameter.name in declared, f"{name}: {parameter.name}"


def test_without_leave_to_write_every_tool_only_reads(tmp_path):
    box = toolbox(tmp_path, write=False)
    assert {name for name, tool in box.tools.items() if tool.writes} == set()
    assert {"ask", "import", "status", "certify", "plan", "export"} <= set(box.tools)
    sentence = "this server only reads: a person can start it with --allow-write"
    for name, use in USES.items():
        if use.writes and not use.rehearsal:
            with pytest.raises(
                ValueError, match=rf"^`{name}` changes the study or writes a file, and {sentence}\.$"
            ):
                box.find(name)


@pytest.mark.parametrize("name", ["ask", "import"])
def test_what_can_be_rehearsed_is_rehearsed_without_leave_to_write(name, tmp_path):
    tool = toolbox(tmp_path, write=False).find(name)
    given = {"table": "option,value\nA,1\n"} if name == "import" else {}
    assert tool.request(given).values["dry_run"] is True
    with pytest.raises(ValueError, match=r"^there is no parameter `dry_run`"):
        tool.request({**given, "dry_run": False})


@pytest.mark.parametrize("name", NO_TOOLS)
def test_what_is_no_tool_says_why(name, tmp_path):
    with pytest.raises(ValueError, match=rf"^`{name}` is a command for people at a terminal, because .*\.$"):
        toolbox(tmp_path).find(name)


@pytest.mark.parametrize("name", USES)
def test_the_schema_of_a_tool_is_whole(name, tmp_path):
    tool = toolbox(tmp_path).find(name)
    schema = tool.schema()
    assert schema["additionalProperties"] is False
    assert set(schema.get("required", [])) <= set(schema["properties"])
    assert not {"json", "help"} & set(schema["properties"])
    assert tool.permissions.store not in str(schema)
    for of_one in schema["properties"].values():
        assert of_one["type"] in ("string", "number", "integer", "boolean", "array")
        assert "--" not in of_one.get("description", "")
        assert "standard input" not in of_one.get("description", "")
    assert tool.description
    assert "--" not in tool.description


def test_a_table_told_by_a_tool_corrects_nothing(tmp_path):
    tool = toolbox(tmp_path).find("import")
    assert not tool.use.changes_what_was_told
    with pytest.raises(ValueError, match=r"^there is no parameter `amend`"):
        tool.request({"table": "option,value\nA,1\n", "amend": "a slip"})


def test_a_parameter_has_the_type_of_its_flag(tmp_path):
    kinds = toolbox(tmp_path).find("tell").schema()["properties"]
    assert {name: kinds[name]["type"] for name in ("what", "n", "sd", "values", "ci")} == {
        "what": "string", "n": "integer", "sd": "number", "values": "array", "ci": "array",
    }  # fmt: skip
    bounds = toolbox(tmp_path).find("init").schema()["properties"]["bounds"]
    assert (bounds["minItems"], bounds["maxItems"], bounds["items"]) == (2, 2, {"type": "number"})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"valeu": 3}, "there is no parameter `valeu`. Did you mean 'value'?"),
        ({"store": "other.db"}, "there is no parameter `store`."),
        ({"json": False}, "there is no parameter `json`."),
        ({"n": 2.5}, "`n` must be a whole number; got '2.5'."),
        ({"n": True}, "`n` must be a whole number; got 'True'."),
        ({"n": "seven"}, "`n` must be a whole number; got 'seven'."),
        ({"n": float("inf")}, "`n` must be a whole number; got 'inf'."),
        ({"sd": [1]}, "`sd` must be a number; got '[1]'."),
        ({"note": {"a": 1}}, "`note` must be a text; got \"{'a': 1}\"."),
        ({"values": [1, None]}, "`values` must be a number; got 'None'."),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(given, sentence, tmp_path):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        toolbox(tmp_path).find("tell").request(given)


def test_values_go_to_the_command_as_they_are(tmp_path):
    given = {"what": "--help", "value": -2.5, "note": "--out=/x", "n": 4.0, "values": [1, 0.1], "block": None}
    values = toolbox(tmp_path).find("tell").request(given).values
    assert values == {
        "what": "--help", "value": "-2.5", "note": "--out=/x", "n": 4, "values": "1.0;0.1",
        "store": str(tmp_path / "s.db"), "json": True,
    }  # fmt: skip


OUTSIDE = [
    "/etc/passwd", "../secret.csv", "in/../../secret.csv", "link.csv", "linked/secret.csv", ".", "", "\0",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "inside"
    (inside / "in").mkdir(parents=True)
    (inside / "table.csv").write_text("option,value\nA,1\n")
    (tmp_path / "secret.csv").write_text("option,value\nsecret,1\n")
    (inside / "link.csv").symlink_to(tmp_path / "secret.csv")
    (inside / "linked").symlink_to(tmp_path)
    return inside


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize(
    ("tool", "parameter", "wrap"),
    [("import", "table", str), ("rebuild", "log", str), ("certify", "verify", str), ("init", "from", str),
     ("init", "items", str), ("report", "out", str), ("backup", "path", str), ("ask", "out", str)],
)  # fmt: skip
def test_no_tool_leaves_the_folder(tool, parameter, wrap, path, folder):
    with pytest.raises(ValueError, match=rf"^`{parameter}` must be a file in the folder of this server; "):
        toolbox(folder).find(tool).request({parameter: wrap(path)})


def test_a_folder_is_read_only_if_nothing_in_it_leads_out(folder):
    logs = folder / "logs"
    (logs / "deep").mkdir(parents=True)
    (logs / "deep" / "one.csv").write_text("option,value\nA,1\n")
    (logs / "two.csv").symlink_to(folder / "table.csv")
    box = FilesFolder(folder)
    assert box.to_read("table", "logs", folders=True) == str(logs)
    with pytest.raises(
        ValueError, match=r"^`table` must be a file in the folder of this server; 'logs' is none"
    ):
        box.to_read("table", "logs")
    (logs / "deep" / "out.csv").symlink_to(folder.parent / "secret.csv")
    with pytest.raises(
        ValueError, match=r"^`table` must have nothing but files .* 'logs/deep/out.csv' leads out"
    ):
        box.to_read("table", "logs", folders=True)
    with pytest.raises(
        ValueError, match=r"^`table` must be a file in the folder of this server; 'linked' is not"
    ):
        box.to_read("table", "linked", folders=True)


@pytest.mark.parametrize("sheet", ["#/../../secret.csv", "#..\\..\\secret.csv"])
def test_no_sheet_leads_out_of_the_folder(sheet, folder):
    with pytest.raises(ValueError, match=r"^`table` must be a file in the folder of this server; "):
        toolbox(folder).find("import").request({"table": f"table.csv{sheet}"})
    found = toolbox(folder).find("import").request({"table": "table.csv#1"}).values["table"]
    assert found == [f"{folder / 'table.csv'}#1"]


@pytest.mark.parametrize("tool", ["init", "add"])
@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.csv", "x.csv", "book.xlsx#1", "-"])
def test_an_option_that_is_a_file_is_not_read(tool, path, folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(ValueError, match=r"^`options` must be a file in the folder of this server; "):
        toolbox(folder).find(tool).request({"options": [path]})
    with pytest.raises(ValueError, match=r"^`options` must be the text itself: this server opens no files\."):
        toolbox(folder, files=False).find(tool).request({"options": [path]})
    # Two of them are names, and the command takes them as such.
    assert toolbox(folder).find(tool).request({"options": ["a b", "c"]}).values["options"] == ["a b", "c"]


@pytest.mark.parametrize(("tool", "parameter"), [("import", "table"), ("init", "items"), ("rebuild", "log")])
def test_without_a_folder_no_file_is_opened(tool, parameter, folder):
    with pytest.raises(
        ValueError, match=rf"^`{parameter}` must be the text itself: this server opens no files\."
    ):
        toolbox(folder, files=False).find(tool).request({parameter: str(folder / "table.csv")})


def test_files_in_the_folder_are_read_and_new_ones_written(folder):
    box = toolbox(folder)
    assert box.find("import").request({"table": "table.csv"}).values["table"] == [str(folder / "table.csv")]
    assert box.find("import").request({"table": str(folder / "table.csv")}).stdin == ""
    assert box.find("report").request({"out": "in/r.html"}).values["out"] == str(folder / "in" / "r.html")
    with pytest.raises(ValueError, match=r"^`out` must be a new file; 'table.csv' is there already"):
        box.find("report").request({"out": "table.csv"})
    with pytest.raises(ValueError, match=r"^`out` must be in a folder that is there; 'no/r.html' is not\.$"):
        box.find("report").request({"out": "no/r.html"})
    with pytest.raises(ValueError, match=r"^`out` must be given\.$"):
        box.find("report").request({})


def test_without_leave_to_write_no_file_is_written(folder):
    box = toolbox(folder, write=False)
    with pytest.raises(ValueError, match=r"^there is no parameter `out`"):
        box.find("ask").request({"out": "sheet.csv"})
    with pytest.raises(ValueError, match=r"^`report` changes the study or writes a file"):
        box.find("report")


def test_a_text_goes_to_standard_input(folder):
    request = toolbox(folder).find("import").request({"table": "option,value\nA,1\n"})
    assert (request.values["table"], request.stdin) == (["-"], "option,value\nA,1\n")
    request = toolbox(folder).find("init").request({"options": ["id,f\nA,1\nB,2\n"]})
    assert (request.values["options"], request.stdin) == (["-"], "id,f\nA,1\nB,2\n")
    with pytest.raises(ValueError, match=r"^only one text can be given itself"):
        toolbox(folder).find("init").request({"options": ["id\nA\n"], "from": "option,value\nA,1\n"})


def test_sentences_of_the_command_line_speak_of_parameters():
    words = {"--from": "from", "WHAT": "what"}
    said = in_tool_words("give --dry-run or --from; WHAT must be an option. `noisewise ask` says.", words)
    assert said == "give `dry_run` or `from`; `what` must be an option. `ask` says."


def test_a_store_that_is_not_there_is_the_servers(tmp_path):
    said = (
        toolbox(tmp_path).find("status").in_its_words("STORE must be a file that exists; there is no 's.db'.")
    )
    assert said == "the store of this server must be a file that exists; there is no 's.db'."
