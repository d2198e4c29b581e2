"""Out of one store and into another: same events, same certificate, same next suggestion."""

import json
import uuid

import pytest

import noisewise as nw
from noisewise.study.log.export import log_lines


@pytest.fixture
def study(open_storage):
    """A study with everything that can happen in one."""
    name = "everything σ"
    frame = {"id": ["A", "B", "C", "D"], "x": [0.1, 0.7, 1.3, 2.9], "cost": [1.0, 2.0, 1.0, 3.0]}
    store = open_storage()
    if name in store.names():
        store.rename(name, f"{name} {len(store.names())}")
    made = nw.create_study(store, name=name, options=frame, model="linear", eps=0.3)
    first, second, third = made.ask(3)
    made.tell(first, "12.34(5)", key="k1", block="Tue")
    made.fail(second, "cracked")
    made.release(third)
    made.tell(option="B", values=[1.0, 1.2, 1.1], instrument="beam")
    made.tell(plus="A", minus="C", value=-0.3, se=0.1, note="side by side")
    made.amend("k1", "misread", value=12.4)
    made.void("m-2", "wrong sample")
    made.tell(option="C", value=11.0, se=0.2)
    made.tell(made.ask(block="Wed σ")[0], 11.1, se=0.2)
    made.ask(2)
    made.ask(probe="difference", block="Thu")
    made.exclude("D", "sold out")
    made.add_options({"id": ["E"], "x": [1.9], "cost": [2.0]})
    made.set_policy("widest")
    made.switch("linear+deviation", deviation=0.2, extra_scatter=0.1, reason="features miss something")
    made.tell(option="C", value=11.3, se=0.2)
    return made


def answers(study):
    return (
        [event._replace(at=0.0) for event in study.events()],
        json.loads(study.certificate().to_json()) | {"study": ""},
        [job.option for job in study.ask(3, dry_run=True)],
        study.frame("measurements").rows(),
        [(job.what, job.where, job.together, job.status) for job in study._log.state.jobs.values()],
    )


def test_export_and_rebuild(study, tmp_path):
    study.export(tmp_path / "log.jsonl")
    name = nw.rebuild_study(tmp_path / "log.jsonl", tmp_path / "again.db")
    again = nw.load_study(tmp_path / "again.db", name)
    assert answers(again) == answers(study)
    assert again.events() == study.events()
    again.export(tmp_path / "twice.jsonl")
    assert (tmp_path / "twice.jsonl").read_bytes() == (tmp_path / "log.jsonl").read_bytes()
    store = nw.MemoryStorage()
    assert nw.rebuild_study(log_lines(study._log.storage, study.name), store, "renamed") == "renamed"
    assert answers(nw.load_study(store)) == answers(study)


def test_a_backup_is_taken_while_others_write(study, tmp_path):
    names = nw.backup_store(study._log.storage, tmp_path / "backup.db")
    assert study.name in names
    before = answers(study)
    study.tell(option="A", value=12.0, se=0.5)
    assert answers(nw.load_study(tmp_path / "backup.db", study.name)) == before
    with pytest.raises(FileExistsError, match="exists and stays as it is"):
        nw.backup_store(study._log.storage, tmp_path / "backup.db")


def test_a_certificate_is_checked_after_a_move_and_a_new_name(study, tmp_path):
    certificate = study.certificate()
    study.export(tmp_path / "log.jsonl")
    nw.rebuild_study(tmp_path / "log.jsonl", tmp_path / "again.db", "other")
    store = nw.open_store(tmp_path / "again.db")
    store.rename("other", "final")
    moved = nw.load_study(store)
    assert moved.name == moved.certificate().study == "final"
    assert nw.verify_certificate(certificate, moved).bound == certificate.bound
    moved.tell(option="A", value=0.0, se=0.01)
    nw.verify_certificate(certificate, moved)  # what came later does not matter


def test_a_renamed_study_keeps_its_workers(open_database):
    study = nw.create_study(open_database(), name="before", options=["A", "B"], eps=0.1)
    new = f"after {uuid.uuid4().hex}"
    open_database().rename("before", new)
    study.tell(option="A", value=1.0, se=0.1)
    assert nw.load_study(open_database(), new).n_measurements == 1


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda lines: lines[:-2], "the log is cut short: it must have 3 events and a last line"),
        (lambda lines: lines[:-1], "the log is cut short: it must have 3 events"),
        (lambda lines: [*lines[:-1], lines[-1][:20]], "line 6 of the log is cut short or not"),
        (lambda lines: [*lines[:2], *lines[3:]], "the log is cut short"),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "line 3 of the log must be event 1"),
        (lambda lines: lines[1:], "must be an exported log"),
        (lambda lines: [], "line 1 of the log is cut short"),
        (lambda lines: [*lines[:2], '{"a":' * 100_000, *lines[3:]], "line 3 of the log is cut short or not"),
        (
            lambda lines: [lines[0].replace('"schema":3', '"schema":9', 1), *lines[1:]],
            "the version that wrote it",
        ),
        (
            lambda lines: [lines[0], lines[1].replace('"B"', '"X"', 1), *lines[2:]],
            "event 0 does not fit the chain",
        ),
        (lambda lines: [*lines[:3], lines[3].replace('"at":', '"at":1'), *lines[4:]], "event 2 does not fit"),
        (
            lambda lines: [*lines[:4], lines[4].replace('"value":1.0', '"value":1.1'), lines[5]],
            "event 3 does",
        ),
        (lambda lines: [*lines[:5], lines[5].replace('"head":"', '"head":"0')], "the head of the log is not"),
    ],
)
def test_a_spoilt_log_is_refused_and_nothing_is_written(spoil, sentence, tmp_path):
    study = nw.create_study(options=["A", "B"], eps=0.1)
    for option in "ABA":
        study.tell(option=option, value=1.0, se=0.1)
    study.export(tmp_path / "log.jsonl")
    lines = spoil((tmp_path / "log.jsonl").read_text().splitlines())
    (tmp_path / "log.jsonl").write_text("".join(line + "\n" for line in lines))
    with pytest.raises(ValueError, match=sentence):
        nw.rebuild_study(tmp_path / "log.jsonl", tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()
