"""Whatever is changed in a log, a store or a certificate is noticed, and the first event is named."""

import json
import sqlite3

import pytest
from click.testing import CliRunner
from tests.support.effort import effort
from tests.support.flips import flip_bits

import noisewise as nw
from noisewise.cli.app import app
from noisewise.study.log.export import log_lines
from noisewise.study.stores.chain import link, start_of


@pytest.fixture
def path(tmp_path):
    """A store with six measurements, closed."""
    study = nw.create_study(tmp_path / "s.db", name="teas", options=["A", "B", "C"], eps=0.5)
    for i, option in enumerate("ABCABC"):
        study.tell(option=option, value=float(i), se=0.3, key=f"k{i}", note="calm")
    study._storage.close()
    return tmp_path / "s.db"


def spoil(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


EVENTS, STUDIES = "UPDATE noisewise_events SET", "UPDATE noisewise_studies SET"


@pytest.mark.parametrize(
    ("statement", "event"),
    [
        (f"{EVENTS} body = replace(body, 'calm', 'wind') WHERE number = 3", 3),
        (f"{EVENTS} body = replace(body, '\"k2\"', '\"k9\"') WHERE number = 3", 3),
        (f"{EVENTS} at = at + 1 WHERE number = 5", 5),
        (f"{EVENTS} kind = 'void' WHERE number = 2", 2),
        (f"{EVENTS} append = '' WHERE number = 4", 4),
        (f"{EVENTS} hash = zeroblob(32) WHERE number = 6", 6),
        (f"{EVENTS} number = -number WHERE number IN (1, 2)", None),
        ("DELETE FROM noisewise_events WHERE number = 6", None),
        ("DELETE FROM noisewise_events", None),
        (f"{STUDIES} name = 'coffees'", None),
        (f"{STUDIES} specification = replace(specification, '0.95', '0.59')", None),
        ("UPDATE noisewise_heads SET number = 5", None),
        ("UPDATE noisewise_schema SET id = 'another'", None),
        ("DELETE FROM noisewise_heads", None),
    ],
)
def test_a_store_that_was_edited_is_refused(path, statement, event):
    spoil(path, statement)
    with pytest.raises((nw.DamagedError, nw.StoreChangedError)) as caught:
        nw.load_study(path).certificate()
    assert "\n" not in str(caught.value)
    (verdict,) = nw.verify_log(path)
    assert not verdict.fits
    assert verdict.event == event


def test_two_events_that_changed_places_are_noticed(path):
    spoil(path, *(f"{EVENTS} number = {new} WHERE number = {old}" for old, new in ((5, 99), (6, 5), (99, 6))))
    (verdict,) = nw.verify_log(path)
    assert verdict.event == 5


def test_the_chain_is_what_the_documentation_says(path):
    store = nw.open_store(path)
    text = store._entry("teas")[1]
    head = start_of(text)
    for event in store.read("teas"):
        body = json.dumps(event.body, separators=(",", ":"))
        head = link(head, event.number, event.at, event.kind, event.append, body)
        assert event.hash == head.hex()
    assert nw.load_study(path).head == head.hex()


def test_renaming_exporting_rebuilding_and_copying_keep_the_head(path, tmp_path):
    study = nw.load_study(path)
    head, certificate = study.head, study.certificate()
    assert certificate.head == head
    study.export(tmp_path / "log.jsonl")
    assert json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])["head"] == head
    nw.rebuild_study(tmp_path / "log.jsonl", tmp_path / "again.db", "other")
    nw.backup_store(tmp_path / "again.db", tmp_path / "copy.db")
    nw.open_store(tmp_path / "copy.db").rename("other", "third")
    for place in (path, tmp_path / "again.db", tmp_path / "copy.db"):
        assert nw.load_study(place).head == head
        (verdict,) = nw.verify_log(certificate.to_json(), place)
        assert verdict.fits
    memory = nw.MemoryStorage()
    nw.rebuild_study(log_lines(study._storage, "teas"), memory)
    assert nw.load_study(memory).head == head


def test_a_certificate_of_another_history_is_refused(path, tmp_path):
    certificate = json.loads(nw.load_study(path).certificate().to_json())
    # The same measurements, told at other times: only the chain tells them apart.
    other = nw.create_study(tmp_path / "o.db", name="teas", options=["A", "B", "C"], eps=0.5)
    for i, option in enumerate("ABCABC"):
        other.tell(option=option, value=float(i), se=0.3, key=f"k{i}", note="wind")
    with pytest.raises(ValueError, match="made from another log: event 6 has the hash"):
        nw.verify_certificate(json.dumps(certificate), other)
    without = {name: value for name, value in certificate.items() if name != "head"}
    with pytest.raises(ValueError, match="the certificate lacks head"):
        nw.verify_certificate(json.dumps(without), other)


def run(*arguments):
    ended = CliRunner().invoke(app, [str(one) for one in arguments])
    return ended.exit_code, ended.stdout


def test_the_command_names_the_first_event_that_does_not_fit(path, tmp_path):
    code, said = run("verify", path, "--json")
    assert (code, json.loads(said)["fits"]) == (0, True)
    assert json.loads(run("status", path, "--json")[1])["head"] == nw.load_study(path).head
    run("export", path, "-o", tmp_path / "log.jsonl")
    run("certify", path, "-o", tmp_path / "certificate.json")
    assert run("verify", tmp_path / "log.jsonl")[0] == 0
    assert run("verify", tmp_path / "certificate.json", path)[0] == 0
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    lines[4] = lines[4].replace("calm", "wind")
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    code, said = run("verify", tmp_path / "log.jsonl", "--json")
    assert (code, json.loads(said)["verdicts"][0]["event"]) == (1, 4)
    assert run("verify", tmp_path / "certificate.json", tmp_path / "log.jsonl")[0] == 1
    spoil(path, f"{EVENTS} at = at + 1 WHERE number = 5")
    code, said = run("verify", path, "--json")
    assert (code, json.loads(said)["verdicts"][0]["event"]) == (1, 5)


def test_an_export_needs_no_replay(tmp_path):
    store = nw.open_store(tmp_path / "s.db", create=True)
    study = nw.create_study(store, name="bricked", options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)
    bad = nw.study.Event(2, 0.0, "poison", {"nobody": "knows this"})
    store.append("bricked", 1, [bad])
    code, said = run("export", tmp_path / "s.db", "-o", tmp_path / "log.jsonl")
    assert code == 0, said
    for place in ("log.jsonl", "s.db"):  # whose hashes all fit
        code, said = run("verify", tmp_path / place)
        assert code == 1
        assert "event 2" in said


def test_a_bit_that_is_turned_over_is_noticed_or_has_no_effect(tmp_path):
    """Fewer than `python -m benchmarks flips` turns over; the same file, another seed."""
    outcomes = flip_bits(effort(20, 60), 7, tmp_path)
    assert set(outcomes) == {"refused", "without effect"}
    assert outcomes["refused"] > effort(3, 20)
