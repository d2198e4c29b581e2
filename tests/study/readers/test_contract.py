"""What holds for every reader: one clear sentence for whatever is wrong with a file, and nothing told.

A new reader is tested by a folder ``fixtures/NAME`` with a good file and ``case.json``: see `Case`.
"""

import math

import pytest
from tests.support.reader_cases import FIXTURES, Case, mutations

import noisewise as nw
from noisewise.readers import ROW_FIELDS, ResultFile

NAMES = nw.readers.names()


@pytest.fixture(params=NAMES)
def case(request):
    return Case(request.param)


def check_sentence(problem, case):
    said = str(problem)
    assert isinstance(problem, ValueError | OSError), repr(problem)
    assert "\n" not in said, said
    assert len(said) < 700, said
    assert said.endswith((".", "?")), said
    assert case.path.name in said, said
    assert "the reader" not in said, said  # which would be a fault of the reader itself


def readout_or_sentence(case, content):
    """What came out, or None if it was refused in one sentence."""
    try:
        return case.read(content)
    except (ValueError, OSError) as problem:
        check_sentence(problem, case)
        return None


def test_every_reader_has_a_good_file():
    assert sorted(path.parent.name for path in FIXTURES.glob("*/case.json")) == NAMES


def test_a_good_file_becomes_rows_that_tell_takes(case):
    readout = case.read()
    assert readout.rows
    assert readout.reader == case.name
    for row in readout.rows:
        assert set(row.fields) <= set(ROW_FIELDS)
        assert row.place
    study = case.told(readout)
    assert study.n_measurements > 0
    assert set(study.options) == set(readout.options)


def test_no_error_bar_of_the_same_data_is_told_as_if_it_were_known(case):
    assert all("se" not in row.fields for row in case.read().rows)


@pytest.mark.filterwarnings("ignore::noisewise.study.intake.batch.KnownRowsWarning")
def test_a_file_that_is_told_again_changes_nothing(case):
    study = case.told(case.read())
    before = study.head
    assert len(study.tell_many(case.read())) == 0
    assert study.head == before


def test_a_file_is_recognised_by_its_look(case):
    assert nw.readers.likely(case.path) == [case.name]
    assert nw.readers.read(case.path, **case.choices).reader == case.name


def test_every_other_reader_refuses_it_and_names_the_right_one(case):
    for other in NAMES:
        if other == case.name:
            continue
        with pytest.raises(ValueError, match=f"looks like a file of {case.name}") as refused:
            nw.readers.read(case.path, other)
        check_sentence(refused.value, case)


def tried(case, readout):
    """What a study makes of it: None, or why it refuses it."""
    study = nw.create_study(":memory:", options=["an option"], eps=0.1, **case.study)
    try:
        study.tell_many(readout, unknown="add", dry_run=True)
    except (ValueError, KeyError, TypeError) as problem:
        return str(problem)
    return None


def test_a_file_that_is_wrong_somewhere_gets_one_sentence_or_can_be_told(case):
    read = 0
    for what, content in mutations(case.content):
        try:
            readout = readout_or_sentence(case, content)
            if readout is None:
                continue
            read += 1
            for row in readout.rows:
                numbers = [n for n in row.fields.values() if isinstance(n, float)]
                numbers += row.fields.get("values", [])
                assert all(math.isfinite(number) for number in numbers)
            assert "\n" not in (tried(case, readout) or "")
        except Exception as problem:
            problem.add_note(f"{case.name}: {what}")
            raise
    assert read > 0


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\n\n", b"\xef\xbb\xbf", b"\x00" * 100, bytes(range(256)) * 20, b"null", b"[]", b"{}", b"[[]]",
        b'"text"', b"17", b'{"results": null}', b'{"results": [], "results": []}', b"[" * 100_000,
        b'{"a":' * 50_000, b"1" * 10_000, b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, b"PK\x03\x04" + b"\x01" * 50,
        "größer".encode("latin-1"), b"option\nx\n", b"a,b\n1\n", b"<html></html>", b"Benchmark",
        b",,,\n,,,\n",
    ],
    ids=lambda content: repr(content[:12]),
)  # fmt: skip
def test_garbage_gets_one_sentence(case, content):
    with pytest.raises((ValueError, OSError)) as refused:
        case.read(content)
    check_sentence(refused.value, case)


def test_line_ends_and_marks_of_other_systems_change_nothing(case):
    if b"\x00" in case.content:
        pytest.skip("no text")
    rows = case.read().rows
    plain = case.content.replace(b"\r\n", b"\n")
    for content in (b"\xef\xbb\xbf" + plain, plain.replace(b"\n", b"\r\n"), plain.rstrip() + b"\n\n"):
        assert case.read(content).rows == rows


def test_a_gigantic_file_is_refused_before_it_is_read(case, tmp_path):
    path = tmp_path / case.path.name
    with path.open("wb") as file:
        file.truncate(400 * 1024**2)  # takes no room on the disk
    with pytest.raises(ValueError, match="at most 256 are read"):
        nw.readers.read(path, case.name, **case.choices)


def test_a_choice_that_it_does_not_have_is_refused(case):
    with pytest.raises(ValueError, match="has no choice 'colour'"):
        nw.readers.read(case.path, case.name, colour="red")


def test_a_file_that_is_not_there_is_refused(case, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        nw.readers.read(tmp_path / "no.json", case.name)


def test_standard_input_can_be_read(case):
    if case.name == "criterion":
        pytest.skip("its name is in the file beside it")
    file = ResultFile(None, case.content)
    assert [row.fields for row in nw.readers.read(file, case.name, **case.choices).rows] == [
        row.fields for row in case.read().rows
    ]
