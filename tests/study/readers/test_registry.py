"""The registry of readers: names, several files, readers of other packages, what a study makes of rows."""

import importlib.metadata
import os
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.reader_cases import fixture

import noisewise as nw
from noisewise.readers import BrokenReaderWarning, Reader, Readout, ReadRow, ResultFile
from noisewise.study.readers import registry

HYPERFINE = fixture("hyperfine", "parameters.json")
PYTEST = fixture("pytest-benchmark", "saved_data.json")


def lines_reader(name="lines"):
    def read(file, *, unit=None):
        pairs = [line.split() for line in file.text().splitlines()]
        found = [
            ReadRow(f"line {at}", {"option": option, "value": float(number)})
            for at, (option, number) in enumerate(pairs, 1)
        ]
        return Readout(found, unit=unit)

    return Reader(name, "lines of an option and a number", read, lambda file: file.name.endswith(".lines"))


@pytest.fixture
def fresh(monkeypatch):
    """A registry that loads again, with entry points of the test's choice."""
    points = []
    monkeypatch.setattr(registry, "_readers", {})
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])

    def bring(name, made):
        module = types.ModuleType(f"package_of_{name}")
        module.READER = made
        monkeypatch.setitem(sys.modules, module.__name__, module)
        points.append(importlib.metadata.EntryPoint(name, f"{module.__name__}:READER", registry.GROUP))

    bring.points = points
    return bring


def test_a_reader_of_another_package_joins_by_itself(fresh, tmp_path):
    fresh("lines", lines_reader())
    assert "lines" in nw.readers.names()
    path = tmp_path / "a.lines"
    path.write_text("x 1.5\ny 2.5\n")
    readout = nw.readers.read(path)
    assert (readout.reader, readout.options) == ("lines", ["x", "y"])


def test_a_broken_reader_gets_one_sentence_and_breaks_no_other(fresh):
    fresh("good", lines_reader("good"))
    fresh("number", 17)
    fresh("taken", lines_reader("hyperfine"))
    fresh.points.append(importlib.metadata.EntryPoint("gone", "no_such_package:READER", registry.GROUP))
    with pytest.warns(BrokenReaderWarning) as said:
        names = nw.readers.names()
    assert "good" in names
    assert "hyperfine" in names
    assert sorted(str(one.message).split("'")[1] for one in said) == ["gone", "number", "taken"]
    assert nw.readers.read(HYPERFINE).reader == "hyperfine"


def test_a_reader_that_fails_on_a_file_is_named_with_the_file(fresh, tmp_path):
    fresh("lines", lines_reader())
    path = tmp_path / "a.lines"
    path.write_text("only-a-name\n")
    with pytest.raises(ValueError, match=r"a.lines'.*not enough values"):
        nw.readers.read(path)

    def lost(file):
        raise KeyError("colour")

    nw.readers.register(Reader("lost", "nothing", lost, lambda file: False))
    with pytest.raises(
        ValueError, match=r"a.lines': the reader 'lost' failed \(KeyError: 'colour'\)"
    ) as raised:
        nw.readers.read(path, "lost")
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_field_that_tell_does_not_have_is_refused(fresh):
    def strange(file):
        return Readout([ReadRow("line 1", {"option": "a", "stderr": 0.5})])

    nw.readers.register(Reader("strange", "nothing", strange, lambda file: False))
    readout = nw.readers.read(ResultFile(None, b"x"), "strange")
    with pytest.raises(ValueError, match="line 1: the reader 'strange' made a field 'stderr'"):
        nw.create_study(":memory:", results=readout, eps=0.1)


def test_several_files_are_told_together_or_not_at_all(tmp_path):
    study = nw.create_study(":memory:", options=["a"], goal="min", eps=0.1)
    bad = tmp_path / "bad.json"
    bad.write_text(HYPERFINE.read_text()[:-300])
    with pytest.raises(ValueError, match=r"bad.json': it ends in the middle"):
        study.import_from([HYPERFINE, bad], "hyperfine", unknown="add")
    assert study.options == ["a"]
    assert study.n_measurements == 0
    with pytest.raises(ValueError, match=r"parameters.json' is given twice"):
        study.import_from([HYPERFINE, HYPERFINE], "hyperfine", unknown="add")


def test_files_in_different_units_are_refused(tmp_path):
    google = fixture("google-benchmark", "repetitions.json")
    microseconds = tmp_path / "us.json"
    microseconds.write_text(google.read_text().replace('"time_unit": "ns"', '"time_unit": "us"'))
    with pytest.raises(ValueError, match=r"is in ns and .* in us: say unit="):
        nw.readers.read([google, microseconds], "google-benchmark")
    assert nw.readers.read([google, microseconds], "google-benchmark", unit="s").unit == "s"


def test_what_looks_like_nothing_is_refused_with_all_readers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("option,value,se\na,1,0.5\n")
    with pytest.raises(
        ValueError, match=r"looks like none that is read \(asv, .*plain tables need no reader"
    ):
        nw.readers.read(path)


def test_options_that_a_study_does_not_have_are_refused_added_or_skipped():
    study = nw.create_study(":memory:", options=["sort data.txt", "cat data.txt"], goal="min", eps=0.001)
    with pytest.raises(
        KeyError, match=r"2 of 3 options are not in the catalogue \(2 options\): tac"
    ) as refused:
        study.import_from(HYPERFINE)
    assert 'unknown="add" adds them, unknown="skip" leaves them out' in str(refused.value)
    taken = study.import_from(HYPERFINE, unknown="skip")
    assert [one.option for one in taken] == ["sort data.txt"]
    assert "Left out, because they are not in the catalogue: tac data.txt, sort -r data.txt." in str(
        taken.understood
    )
    taken = study.import_from(HYPERFINE, unknown="add")
    assert study.options == ["sort data.txt", "cat data.txt", "tac data.txt", "sort -r data.txt"]
    assert len(taken) == 2


def test_options_and_their_results_are_one_change_of_the_log():
    study = nw.create_study(":memory:", options=["a"], goal="min", eps=0.001)
    study.import_from(HYPERFINE, unknown="add")
    assert [event.kind for event in study.events()] == ["add", "tell", "tell", "tell"]
    assert len({event.append for event in study.events()}) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_can_be_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pipe.write_bytes, HYPERFINE.read_bytes())
        study = nw.create_study(":memory:", options=["a"], goal="min", eps=0.001)
        assert len(study.import_from(pipe, "auto", unknown="add")) == 3


def test_options_with_features_cannot_be_added_by_name_alone():
    study = nw.create_study(
        ":memory:", options={"id": ["a", "b"], "x": [0.0, 1.0]}, features=["x"], model="linear", eps=0.1
    )
    with pytest.raises(ValueError, match=r"cannot be added by its name alone: .* columns x"):
        study.import_from(HYPERFINE, unknown="add")
    assert study.n_measurements == 0


def test_a_dry_run_changes_nothing():
    study = nw.create_study(":memory:", options=["a"], goal="min", eps=0.001)
    head = study.head
    taken = study.import_from(HYPERFINE, unknown="add", dry_run=True)
    assert len(taken) == 3
    assert study.head == head
    assert study.options == ["a"]


def test_one_benchmark_of_two_versions_compares_the_versions(tmp_path):
    study = nw.create_study(":memory:", options=["old", "new"], goal="min", eps=1e-6)
    other = tmp_path / "new.json"
    other.write_text(PYTEST.read_text().replace("2026-11-17T", "2026-11-18T"))
    for path, version in ((PYTEST, "old"), (other, "new")):
        study.import_from(path, only="*test_loop", called=version, block="laptop")
    measured = study.frame("measurements")
    assert measured["option"].to_list() == ["old", "new"]
    assert measured["block"].to_list() == ["laptop", "laptop"]
    with pytest.raises(ValueError, match="only one option can be called 'old', and there are 3"):
        study.import_from(PYTEST, called="old")
    with pytest.raises(ValueError, match="no option is called 'test_join'"):
        study.import_from(PYTEST, only="test_join")
