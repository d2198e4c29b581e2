"""Whatever is changed in a log, a store or a certificate is noticed, and the first event is named."""

import hashlib
import json
import sqlite3

import pytest
from click.testing import CliRunner
from tests.support.effort import effort
from tests.support.flips import flip_bits

import noisewise as nw
from noisewise.cli.app import app
from noisewise.study.log.events import rows_of
from noisewise.study.log.export import lines_from, log_lines
from noisewise.study.stores.protocol import follow


@pytest.fixture
def path(tmp_path):
    """A store with six measurements, closed."""
    study = nw.create_study(tmp_path / "s.db", name="teas", options=["A", "B", "C"], eps=0.5)
    for i, option in enumerate("ABCABC"):
        study.tell(option=option, value=float(i), se=0.3, key=f"k{i}", note="calm")
    study._log.storage.close()
    return tmp_path / "s.db"


def spoil(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


LOG, STUDIES = "UPDATE noisewise_log SET", "UPDATE noisewise_studies SET"


def reworded(old, new, number):
    text = f"replace(CAST(record AS TEXT), '{old}', '{new}')"
    return f"{LOG} record = CAST({text} AS BLOB) WHERE number = {number}"


@pytest.mark.parametrize(
    ("statement", "event"),
    [
        (reworded("calm", "wind", 3), 3),
        (reworded('"k2"', '"k9"', 3), 3),
        (reworded('"at":', '"at":1', 5), 5),
        (reworded('"kind":"tell"', '"kind":"void"', 2), 2),
        (reworded("0.95", "0.59", 0), None),
        (f"{LOG} record = CAST(record AS TEXT) WHERE number = 2", 2),
        (f"{LOG} id = '' WHERE number = 4", 4),
        (f"{LOG} hash = zeroblob(32) WHERE number = 6", None),
        (f"{LOG} hash = zeroblob(32) WHERE number = 5", 5),
        (f"{LOG} number = -number WHERE number IN (1, 2)", 1),
        ("DELETE FROM noisewise_log WHERE number = 6", None),
        ("DELETE FROM noisewise_log WHERE number = 3", 3),
        ("DELETE FROM noisewise_log", None),
        (f"{STUDIES} name = 'coffees'", None),
        (f"{STUDIES} number = 5", None),
        ("UPDATE noisewise_store SET id = 'another'", None),
        ("DELETE FROM noisewise_studies", None),
        ("DELETE FROM noisewise_store", None),
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
    spoil(path, *(f"{LOG} number = {new} WHERE number = {old}" for old, new in ((3, 99), (4, 3), (99, 4))))
    (verdict,) = nw.verify_log(path)
    assert verdict.event == 3


def test_the_chain_is_what_the_documentation_says(path):
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT id, record, hash FROM noisewise_log ORDER BY number").fetchall()
    connection.close()
    head = hashlib.sha256(b"noisewise log 3").digest()
    for id, record, hash in rows:
        head = hashlib.sha256(head + f"{len(id)} {id} ".encode() + record).digest()
        assert hash == head
    assert nw.load_study(path).head == head.hex()
    lines = [json.loads(line) for line in log_lines(nw.open_store(path), "teas")]
    assert [json.loads(record) for _, record, _ in rows] == [line["record"] for line in lines[1:-1]]


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
    nw.rebuild_study(log_lines(study._log.storage, "teas"), memory)
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
    lines[5] = lines[5].replace("calm", "wind")
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    code, said = run("verify", tmp_path / "log.jsonl", "--json")
    assert (code, json.loads(said)["verdicts"][0]["event"]) == (1, 4)
    assert run("verify", tmp_path / "certificate.json", tmp_path / "log.jsonl")[0] == 1
    spoil(path, reworded('"at":', '"at":1', 5))
    code, said = run("verify", path, "--json")
    assert (code, json.loads(said)["verdicts"][0]["event"]) == (1, 5)


def test_an_export_needs_no_replay(tmp_path):
    store = nw.open_store(tmp_path / "s.db", create=True)
    study = nw.create_study(store, name="bricked", options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)
    with store.transaction("bricked") as transaction:
        last = transaction.read(1)[-1]
        transaction.append(rows_of([("poison", {"nobody": "knows this"})], last, at=0.0, id="x"))
    code, said = run("export", tmp_path / "s.db", "-o", tmp_path / "log.jsonl")
    assert code == 0, said
    for place in ("log.jsonl", "s.db"):  # whose hashes all fit
        code, said = run("verify", tmp_path / place)
        assert code == 1
        assert "event 2" in said
    nw.backup_store(tmp_path / "s.db", tmp_path / "copy.db")
    with pytest.raises(nw.DamagedError, match="event 2"):
        nw.load_study(tmp_path / "copy.db")


@pytest.mark.parametrize(
    ("old", "new"),
    [('"sigma":0.3', '"sigma":-1'), ('"value":1.0', '"value":1e999'), ('"option":"B"', '"option":"Z"')],
)
def test_a_forged_log_with_the_right_hashes_is_refused(path, tmp_path, old, new):
    """Hashes say that nothing was changed since; whoever forges a log computes them afresh."""
    rows, forged = nw.open_store(path).read("teas"), []
    for row in rows:
        record = row.record.replace(old.encode(), new.encode()) if row.number == 2 else row.record
        forged.append(follow(forged[-1] if forged else None, row.id, record))
    assert forged[-1] != rows[-1]
    with pytest.raises(ValueError, match="event 2"):
        nw.rebuild_study(lines_from("teas", forged), tmp_path / "forged.db")
    assert not (tmp_path / "forged.db").exists()
    store = nw.MemoryStorage()
    store.create("teas", forged)
    with pytest.raises(nw.DamagedError, match="event 2"):
        nw.load_study(store)


def test_a_bit_that_is_turned_over_is_noticed_or_has_no_effect(tmp_path):
    """Fewer than `python -m benchmarks faults` turns over; the same file, another seed."""
    outcomes = flip_bits(effort(20, 60), 7, tmp_path)
    assert set(outcomes) == {"refused", "without effect"}
    assert outcomes["refused"] > effort(3, 20)
