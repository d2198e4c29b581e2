"""Logs of Inspect: scores as Inspect reduces them, in archives that may be damaged or hostile."""

import io
import json
import random
import zipfile

import pyarrow
import pytest
from tests.support.reader_cases import FIXTURES, changed_json

import noisewise as nw
from noisewise.readers import ResultFile, read
from noisewise.study.readers import archive
from noisewise.study.readers.archive import Archive, unpacked

LOGS = FIXTURES / "inspect"


def values(readout):
    return {row.fields["item"]: row.fields["value"] for row in readout.rows}


def parts(path):
    """The JSON members of an archive, unpacked."""
    with Archive(ResultFile(path)) as opened:
        return {name: opened.json(name).value for name in opened.names}


def packed(members, compression=zipfile.ZIP_DEFLATED):
    """An archive as older versions of Inspect wrote it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as made:
        for name, content in members.items():
            made.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return ResultFile(None, out.getvalue(), "log.eval")


def metric(members, name, of=0):
    return members["header.json"]["results"]["scores"][of]["metrics"][name]["value"]


def test_the_mean_of_items_is_the_accuracy_that_inspect_reports():
    for model in ("small", "large"):
        found = values(read(LOGS / f"{model}.eval"))
        assert sum(found.values()) / len(found) == metric(parts(LOGS / f"{model}.eval"), "accuracy")


def test_logs_of_two_models_are_compared_on_their_samples():
    study = nw.create_study(options=["mockllm/small", "mockllm/large"], eps=0.3)
    study.import_from([LOGS / "small.eval", LOGS / "large.eval"])
    assert study.frame("items").height == 16
    before = study.head
    study.import_from([LOGS / "small.eval", LOGS / "large.eval"])
    assert study.head == before


def test_archives_packed_otherwise_and_logs_in_json_say_the_same():
    members = parts(LOGS / "small.eval")
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        assert values(read(packed(members, compression), "inspect")) == values(read(LOGS / "small.eval"))
    assert values(read(LOGS / "log.json")) == {"digits/q1": 1.0, "digits/q2": 0.0, "digits/q3": 1.0}


def test_without_summaries_and_reductions_the_samples_themselves_are_read():
    members = parts(LOGS / "epochs.eval")
    del members["summaries.json"], members["reductions.json"]
    assert values(read(packed(members), "inspect")) == values(read(LOGS / "epochs.eval", reducer="mean"))


def test_epochs_are_reduced_as_inspect_does_it_and_are_no_more_items():
    with pytest.raises(ValueError, match=r"choose one with `reducer=`: 'at_least_2', 'mean'"):
        read(LOGS / "epochs.eval")
    for at, reducer in enumerate(("mean", "at_least_2")):
        found = values(read(LOGS / "epochs.eval", reducer=reducer))
        assert len(found) == 4
        assert sum(found.values()) / 4 == pytest.approx(metric(parts(LOGS / "epochs.eval"), "accuracy", at))


def test_partial_answers_count_half_and_scorers_with_several_values_are_chosen():
    with pytest.raises(ValueError, match=r"'graded', 'length', 'rubric/fluent', 'rubric/true'"):
        read(LOGS / "scorers.eval")
    graded = values(read(LOGS / "scorers.eval", metric="graded"))
    assert sorted(graded.values()) == [0.5, 0.5, 1, 1, 1, 1, 1, 1]
    with pytest.raises(ValueError, match=r"0\.5 is neither a success nor a failure"):
        read(LOGS / "scorers.eval", metric="graded", how="counts")
    assert sum(values(read(LOGS / "scorers.eval", metric="rubric/true")).values()) == 6


@pytest.mark.parametrize(("log", "why"), [("unscored", "judge refused"), ("errors", "out of memory")])
def test_samples_without_a_score_are_refused_unless_it_is_said_what_they_are(log, why):
    path = LOGS / f"{log}.eval"
    with pytest.raises(ValueError, match=f"has no score .*{why}.*`missing=0` records it so"):
        read(path)
    assert len(read(path, missing=0).rows) == 8
    (row,) = read(path, how="counts", missing="drop").rows
    assert row.fields["trials"] == 7


def test_an_evaluation_that_broke_off_is_refused():
    with pytest.raises(
        ValueError, match=r"status is 'error': RuntimeError\('out of memory'\).*status=\"any\""
    ):
        read(LOGS / "failed.eval")
    assert read(LOGS / "failed.eval", status="any", missing=0).rows
    members = parts(LOGS / "small.eval")
    members["header.json"]["invalidated"] = True
    with pytest.raises(ValueError, match=r"samples of it were invalidated"):
        read(packed(members), "inspect")


@pytest.mark.parametrize("version", [1, 3])
def test_another_version_is_refused(version):
    members = parts(LOGS / "small.eval")
    members["header.json"]["version"] = version
    with pytest.raises(ValueError, match=f"version is {version}; logs of version 2 are read"):
        read(packed(members), "inspect")


def test_a_log_without_a_model_needs_a_name_for_it():
    members = parts(LOGS / "small.eval")
    members["header.json"]["eval"]["model"] = "none/none"
    with pytest.raises(ValueError, match=r"names no model, and so nothing to compare: say `option="):
        read(packed(members), "inspect")
    assert read(packed(members), "inspect", option="mine").options == ["mine"]


@pytest.mark.parametrize("name", ["header.json", "summaries.json", "reductions.json"])
def test_whatever_is_wrong_inside_an_archive_gets_one_sentence(name):
    members = parts(LOGS / "small.eval")
    refused = 0
    for what, wrong in changed_json(members[name], random.Random(3)):
        try:
            read(packed({**members, name: wrong}), "inspect")
        except ValueError as problem:
            refused += 1
            said = str(problem)
            assert "\n" not in said, what
            assert "log.eval" in said, what
            assert "the reader" not in said, (what, said)
    assert refused > 0


# Archives


def test_an_evaluation_under_way_and_other_archives_are_refused():
    members = parts(LOGS / "small.eval")
    begun = {name: part for name, part in members.items() if name.startswith("_journal")}
    with pytest.raises(ValueError, match=r"its evaluation has not ended"):
        read(packed(begun), "inspect")
    with pytest.raises(ValueError, match=r"without header\.json, and so no log of Inspect"):
        read(packed({"a.txt": b"text"}), "inspect")


def test_without_zstandard_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(archive, "_installed", lambda module: None)
    with pytest.raises(
        ValueError, match=r"packed with Zstandard.*pip install 'noisewise\[inspect\]'.*inspect log convert"
    ):
        read(LOGS / "small.eval")


def test_frames_of_zstandard_one_after_the_other_are_all_unpacked():
    frames = b"".join(pyarrow.compress(text, "zstd", asbytes=True) for text in (b"first ", b"second"))
    assert unpacked(frames, 12) == b"first second"


def test_what_would_fill_the_memory_is_not_unpacked(monkeypatch):
    members = parts(LOGS / "small.eval")
    monkeypatch.setattr(archive, "MOST_BYTES", 4096)
    with pytest.raises(ValueError, match=r"'summaries\.json' in it has 1 MB, and at most"):
        read(packed({**members, "summaries.json": b" " * 2**20}), "inspect")


def test_members_that_are_too_large_together_are_not_unpacked(monkeypatch):
    monkeypatch.setattr(archive, "MOST_UNPACKED", 1000)
    with pytest.raises(ValueError, match="its members have more than 0 MB when they are unpacked"):
        read(LOGS / "small.eval", "inspect")


def test_ways_of_packing_that_unpack_in_pieces_of_any_size_are_refused():
    for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(ValueError, match=r"'header\.json' in it is packed in a way that is not read"):
            read(packed(parts(LOGS / "small.eval"), compression), "inspect")


def test_a_member_larger_than_it_says_is_damaged():
    bomb = pyarrow.compress(b"\0" * 10**7, "zstd", asbytes=True)
    assert len(unpacked(bomb, 100)) == 101
    content = bytearray(packed({"header.json": b"{}" + b" " * 50}, zipfile.ZIP_STORED).bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 10] = archive.ZSTANDARD
    with pytest.raises(ValueError, match=r"cannot be unpacked: the archive is damaged"):
        read(ResultFile(None, bytes(content), "log.eval"), "inspect")


def test_names_in_an_archive_are_never_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    members = parts(LOGS / "small.eval")
    hostile = {
        **members,
        "../../outside.json": b"{}",
        "/etc/outside.json": b"{}",
        "samples/../../x.json": b"{",
    }
    assert values(read(packed(hostile), "inspect")) == values(read(LOGS / "small.eval"))
    assert list(tmp_path.iterdir()) == []
