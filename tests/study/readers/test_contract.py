"""What holds for every reader: one clear sentence for whatever is wrong with a file, and nothing told.

A new reader is tested by a folder ``fixtures/NAME`` with a good file and ``case.json``: see `case_of`.
"""

import pytest
from tests.support.effort import effort
from tests.support.reader_cases import FIXTURES, case_of

import noisewise as nw
from noisewise.readers import Reader, ResultFile
from noisewise.testing import READER_CHECKS, check_reader, damaged_files
from noisewise.testing.damaged_files import GARBAGE

NAMES = nw.readers.names()


@pytest.fixture(params=NAMES)
def case(request):
    return case_of(request.param)


def test_every_reader_has_a_good_file():
    assert sorted(path.parent.name for path in FIXTURES.glob("*/case.json")) == NAMES


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: check.__name__)
def test_the_contract_holds(check, case, monkeypatch):
    monkeypatch.setattr(damaged_files, "MOST", effort(3, damaged_files.MOST))
    check(case)


@pytest.mark.parametrize("content", GARBAGE, ids=lambda content: repr(content[:12]))
def test_garbage_is_refused(case, content):
    assert case.refusal(content) is not None


def test_no_error_bar_of_the_same_data_is_told_as_if_it_were_known(case):
    if case.reader.name == "battles":
        pytest.skip("its error bars depend on the number of battles alone: see test_battles.py")
    assert all("se" not in row.fields for row in case.read().rows)


def test_a_file_is_recognised_by_its_look(case):
    assert nw.readers.likely(case.path) == [case.reader.name]
    assert nw.readers.read(case.path, **case.choices).reader == case.reader.name


def test_every_other_reader_refuses_it_and_names_the_right_one(case):
    right = case.reader.name
    for other in NAMES:
        if other == right:
            continue
        with pytest.raises(ValueError, match=f"looks like a file of {right}") as refused:
            nw.readers.read(case.path, other)
        assert str(refused.value).startswith(f"'{case.path}': ")
        assert "failed" not in str(refused.value)


def test_a_gigantic_file_is_refused_before_it_is_read(case, tmp_path):
    path = tmp_path / case.path.name
    with path.open("wb") as file:
        file.truncate(400 * 1024**2)  # takes no room on the disk
    with pytest.raises(ValueError, match="at most 256 are read"):
        nw.readers.read(path, case.reader.name, **case.choices)


def test_a_choice_that_it_does_not_have_is_refused(case):
    with pytest.raises(ValueError, match="has no choice 'colour'"):
        nw.readers.read(case.path, case.reader.name, colour="red")


def test_a_file_that_is_not_there_is_refused(case, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        nw.readers.read(tmp_path / "no.json", case.reader.name)


def test_standard_input_can_be_read(case):
    if case.reader.name == "criterion":
        pytest.skip("its name is in the file beside it")
    file = ResultFile(None, case.path.read_bytes())
    assert [row.fields for row in nw.readers.read(file, case.reader.name, **case.choices).rows] == [
        row.fields for row in case.read().rows
    ]


HYPERFINE = case_of("hyperfine").reader


def careless(file):
    import json

    found = json.loads(file.text())["results"]  # a KeyError, or no JSON: not a sentence of its own
    rows = [nw.readers.ReadRow("x", {"option": one["command"], "values": one["times"]}) for one in found]
    return nw.readers.Readout(rows)


def talkative(file):
    raise ValueError("first line\nsecond line")


@pytest.mark.parametrize(
    ("read", "broken"),
    [(careless, "words of its own|whole sentence|must be finite|a number"), (talkative, "first line")],
)
def test_a_reader_that_breaks_the_contract_is_found_out(read, broken):
    with pytest.raises((AssertionError, ValueError), match=broken):
        check_reader(Reader("ours", "", read, HYPERFINE.looks_like), case_of("hyperfine").path)


def test_a_reader_that_keeps_the_contract_passes():
    check_reader("hyperfine", case_of("hyperfine").path, study={"goal": "min"})
