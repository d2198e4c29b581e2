"""Which operations are tools, with which parameters, and which files they may touch."""

import re

import pytest

from noisewise.assistant.tools import FilesFolder, Permissions, Toolbox, done
from noisewise.operations.table import load_table

TOOLS = [name for name, op in load_table().items() if "mcp" in op.on]


def toolbox(tmp_path, write=True, files=True):
    folder = FilesFolder(tmp_path) if files else None
    return Toolbox(Permissions(str(tmp_path / "s.db"), write, folder))


def test_with_leave_to_write_and_a_folder_every_operation_for_assistants_is_a_tool(tmp_path):
    assert list(toolbox(tmp_path).tools) == TOOLS
    assert {"init", "ask", "tell", "certify", "report", "backup"} <= set(TOOLS)
    for name in ("restore", "tell_all", "run"):
        with pytest.raises(ValueError, match=rf'^("{name}" is not for assistants|there is no tool .{name}.)'):
            toolbox(tmp_path).find(name)


def test_without_leave_to_write_every_tool_only_reads(tmp_path):
    box = toolbox(tmp_path, write=False)
    assert {name for name, tool in box.tools.items() if tool.writes} == set()
    assert {"ask", "import", "status", "certify", "plan", "export"} <= set(box.tools)
    for name in set(TOOLS) - set(box.tools):
        with pytest.raises(ValueError, match=rf'^"{name}" changes the study or writes a file'):
            box.find(name)


@pytest.mark.parametrize("name", ["ask", "import"])
def test_what_can_be_rehearsed_is_rehearsed_without_leave_to_write(name, tmp_path):
    tool = toolbox(tmp_path, write=False).find(name)
    assert tool.rehearses
    with pytest.raises(ValueError, match=r"^there is no parameter 'dry_run'"):
        tool.request({"dry_run": False})


@pytest.mark.parametrize("name", TOOLS)
def test_the_schema_of_a_tool_is_whole(name, tmp_path):
    tool = toolbox(tmp_path).find(name)
    schema = tool.schema()
    assert schema["additionalProperties"] is False
    assert set(schema.get("required", [])) <= set(schema["properties"])
    assert not {"json", "help", "store"} & set(schema["properties"])
    assert tool.permissions.store not in str(schema)
    assert all(of_one["description"] for of_one in schema["properties"].values())
    assert tool.description


def test_a_table_told_by_a_tool_corrects_nothing(tmp_path):
    tool = toolbox(tmp_path).find("import")
    assert not tool.op.corrects
    with pytest.raises(ValueError, match=r"^there is no parameter 'amend'"):
        tool.request({"table": "option,value\nA,1\n", "amend": "a slip"})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"valeu": 3}, "there is no parameter 'valeu'. Did you mean 'value'?"),
        ({"store": "other.db"}, "there is no parameter 'store'."),
        ({"json": False}, "there is no parameter 'json'."),
        ({"n": 2.5}, '"n" must be a whole number; got 2.5.'),
        ({"n": "seven"}, "\"n\" must be a whole number; got 'seven'."),
        ({"sd": [1]}, '"sd" must be a number; got [1].'),
        ({"note": {"a": 1}}, "\"note\" must be a text; got {'a': 1}."),
        ({"values": [1, None]}, '"values" must be a number; got None.'),
        ({"study": 7}, '"study" must be a text; got 7.'),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(given, sentence, tmp_path):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        toolbox(tmp_path).find("tell").request(given)


def test_values_go_to_the_operation_as_they_are(tmp_path):
    given = {"what": "--help", "value": -2.5, "note": "--out=/x", "n": 4, "values": [1, 0.1], "block": None}
    request = toolbox(tmp_path).find("tell").request(given)
    assert request.given == {
        "what": "--help", "value": -2.5, "note": "--out=/x", "n": 4, "values": [1.0, 0.1],
    }  # fmt: skip


def test_a_tool_does_what_the_command_does(tmp_path):
    box = toolbox(tmp_path)
    made, _ = done(box.find("init"), box.find("init").request({"options": ["A", "B"], "eps": 1}).given)
    assert made.options == 2
    tell = box.find("tell")
    told, about = done(tell, tell.request({"what": "A", "value": 1, "se": 0.1}).given)
    assert (told.to_dict()["measurement"]["value"], about) == (1.0, {"study": "study"})
    with pytest.raises(ValueError, match=r'^"se" must be a finite number above 0; got -1.0'):
        done(tell, tell.request({"what": "A", "value": 1, "se": -1}).given)
    table = {"table": "option,value,se\nA,1.5,0.1\n"}
    only = toolbox(tmp_path, write=False).find("import")
    rows, _ = done(only, only.request(table).given)
    assert (rows.told, rows.dry_run) == (1, True)
    rows, _ = done(box.find("import"), box.find("import").request(table).given)
    assert (rows.told, rows.dry_run) == (1, False)


def test_options_can_be_a_table_as_text(tmp_path):
    init = toolbox(tmp_path).find("init")
    made, _ = done(init, init.request({"options": ["id,f\nA,1\nB,2\n"], "eps": 1}).given)
    assert made.options == 2


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
    [("import", "table", str), ("init", "results", str), ("report", "out", str), ("backup", "path", str),
     ("ask", "out", str)],
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
    found = toolbox(folder).find("import").request({"table": "table.csv#1"}).given["table"]["file"]
    assert found == f"{folder / 'table.csv'}#1"


@pytest.mark.parametrize("tool", ["init", "add"])
@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.csv", "x.csv", "book.xlsx#1", "-"])
def test_an_option_that_is_a_file_is_not_read(tool, path, folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(ValueError, match=r"^`options` must be a file in the folder of this server; "):
        toolbox(folder).find(tool).request({"options": [path]})
    with pytest.raises(ValueError, match=r"^`options` must be the text itself: this server opens no files\."):
        toolbox(folder, files=False).find(tool).request({"options": [path]})
    # Two of them are names.
    assert toolbox(folder).find(tool).request({"options": ["a b", "c"]}).given["options"] == ["a b", "c"]


@pytest.mark.parametrize(("tool", "parameter"), [("import", "table"), ("init", "results")])
def test_without_a_folder_no_file_is_opened(tool, parameter, folder):
    with pytest.raises(
        ValueError, match=rf"^`{parameter}` must be the text itself: this server opens no files\."
    ):
        toolbox(folder, files=False).find(tool).request({parameter: str(folder / "table.csv")})


def test_files_in_the_folder_are_read_and_new_ones_written(folder):
    box = toolbox(folder)
    found = box.find("import").request({"table": "table.csv"}).given["table"]
    assert found == {"file": str(folder / "table.csv")}
    assert box.find("report").request({"out": "in/r.html"}).given["out"] == str(folder / "in" / "r.html")
    with pytest.raises(ValueError, match=r"^`out` must be a new file; 'table.csv' is there already"):
        box.find("report").request({"out": "table.csv"})
    with pytest.raises(ValueError, match=r"^`out` must be in a folder that is there; 'no/r.html' is not\.$"):
        box.find("report").request({"out": "no/r.html"})
    with pytest.raises(ValueError, match=r'^"out" must be given\.$'):
        box.find("report").request({})


def test_without_leave_to_write_no_file_is_written(folder):
    box = toolbox(folder, write=False)
    with pytest.raises(ValueError, match=r"^there is no parameter 'out'"):
        box.find("ask").request({"out": "sheet.csv"})
    with pytest.raises(ValueError, match=r'^"report" changes the study or writes a file'):
        box.find("report")
