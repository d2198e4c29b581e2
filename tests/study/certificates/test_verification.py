"""Certificates are compared with the log fact by fact; text that does not follow from the facts is named."""

import json

import pytest
from click.testing import CliRunner

import noisewise as nw
from noisewise.cli import app
from noisewise.study.certificates import assumptions
from noisewise.study.certificates.certificate import WORDS

RUNNER = CliRunner()
DIFFERS = "the facts of the certificate agree with the log, but its text does not say what follows"


def make(store=":memory:", **question):
    study = nw.create_study(store, options=["A", "B", "C"], **{"eps": 0.5, **question})
    study.tell_many(
        [
            {"option": name, "value": value, "se": 0.2}
            for name, value in zip("ABC", (1.0, 1.2, 0.0), strict=True)
        ]
    )
    return study


@pytest.fixture(scope="module")
def study():
    return make()


@pytest.fixture(scope="module")
def plain(study):
    return json.loads(study.certificate().to_json())


#: For every field values that differ from the true one in content or in type.
FORGED = {
    "schema": [1, 2, 4, 99, None, "5", 5.0, True],
    "option": ["A", None, "Z", 1],
    "bound": [0.0, 0.01, None, "0.3", True, 1e308],
    "estimate": [1.3, None, "1.2"],
    "confidence": [0.99, 0.9500000000001, 1, None, "0.95"],
    "goal": ["min", None, "zzz"],
    "eps": [5.0, 0.5000000001, None],
    "n_options": [2, 4, 3.0, True],
    "n_measurements": [2, 300, None],
    "candidates": [["B"], [], ["A", "B", "C"], ["B", "A"], "AB"],
    "data": ["0" * 32, "", None],
    "head": ["0" * 64, "", None],
    "verdict": ["bounded", "reached", "withheld", "", None],
    "reached": [True, None, 0, "false"],
    "largest_estimate": ["A", None],
    "largest_estimate_value": [1.3, None],
    "rank": [2, None, True],
    "n_compared": [2, 0],
    "spread": [0.1, None],
    "looks": ["once", None],
    "evidence": [[], ["counts"], None],
    "rests_on": [2, None],
    "withheld": [["a reason"]],
    "approximate": [["a reason"]],
}


def test_every_fact_is_forged_below(plain):
    assert set(FORGED) | set(WORDS) | {"study", "n_events"} == set(plain)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in FORGED for value in FORGED[name]])
def test_a_certificate_with_a_wrong_fact_is_refused(study, plain, name, value):
    if plain[name] == value and type(plain[name]) is type(value):
        value = not value  # `reached` as this study has it
    with pytest.raises(ValueError, match=r"^the certificate (says|has|was made)"):
        nw.verify_certificate(json.dumps(plain | {name: value}), study)


def test_missing_and_unknown_fields_are_refused(study, plain):
    for name in plain:
        if name != "n_events":
            without = {field: value for field, value in plain.items() if field != name}
            with pytest.raises(ValueError, match=f"lacks {name}|has schema None"):
                nw.verify_certificate(json.dumps(without), study)
    with pytest.raises(ValueError, match="fields that no certificate has: 'approved_by'"):
        nw.verify_certificate(json.dumps(plain | {"approved_by": "everybody"}), study)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_refused(study, plain, text):
    said = json.dumps(plain | {"bound": "here"}).replace('"here"', text)
    with pytest.raises(ValueError, match="must be a certificate as JSON"):
        nw.verify_certificate(said, study)


def test_a_field_that_occurs_twice_is_refused(study, plain):
    said = json.dumps(plain)
    with pytest.raises(ValueError, match="must be a certificate as JSON"):
        nw.verify_certificate('{"option": "A", ' + said[1:], study)


def test_n_events_that_the_log_does_not_have_are_refused(study, plain):
    for count in (2, 0):
        with pytest.raises(ValueError, match="made from another log"):
            nw.verify_certificate(json.dumps(plain | {"n_events": count}), study)
    for count in (4, 10**30):
        with pytest.raises(ValueError, match=rf"made after {count} events; the log has 3\."):
            nw.verify_certificate(json.dumps(plain | {"n_events": count}), study)
    for count in (-1, 3.0, True, None, "3"):
        with pytest.raises(ValueError, match="must be a certificate as JSON"):
            nw.verify_certificate(json.dumps(plain | {"n_events": count}), study)


@pytest.mark.parametrize("name", WORDS)
def test_text_that_does_not_follow_from_the_facts_is_named(study, plain, name):
    other = "A is the best." if isinstance(plain[name], str) else ["only this"]
    if not plain[name]:
        return  # whether there is any such text is a fact: see above
    with pytest.warns(UserWarning, match=rf"{DIFFERS} from them \({name}\)") as told:
        found = nw.verify_certificate(json.dumps(plain | {name: other}), study)
    assert found.sentence == plain["sentence"]
    assert plain["sentence"] in str(told[0].message)


def test_a_version_that_words_an_assumption_differently_still_agrees_about_the_facts(
    study, plain, monkeypatch
):
    monkeypatch.setattr(assumptions, "about_time", lambda analysis, check: ["nothing changes"])
    monkeypatch.setattr(assumptions, "TOPICS", (*assumptions.TOPICS[:2], assumptions.about_time))
    with pytest.warns(UserWarning, match=DIFFERS):
        assert nw.verify_certificate(json.dumps(plain), study).bound == plain["bound"]


def test_numbers_may_differ_by_rounding_only(study, plain):
    near, far = plain["bound"] * (1.0 + 1e-12), plain["bound"] * (1.0 - 1e-6)
    nw.verify_certificate(json.dumps(plain | {"bound": near}), study)
    with pytest.raises(ValueError, match="the certificate says bound="):
        nw.verify_certificate(json.dumps(plain | {"bound": far}), study)


def test_certificates_of_other_studies_and_truncated_logs_are_refused(tmp_path):
    study, other = make(), make(eps=0.4)
    certificate = study.certificate()
    with pytest.raises(ValueError, match="made from another log"):
        nw.verify_certificate(certificate, other)
    study.tell(option="A", value=1.1, se=0.2)
    study.export(tmp_path / "log.jsonl")
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    first = json.loads(lines[0]) | {"events": 3}
    last = {**json.loads(lines[-1]), "end": 3, "head": json.loads(lines[4])["hash"]}
    truncated = nw.MemoryStorage()
    nw.rebuild_study([json.dumps(first), *lines[1:5], json.dumps(last)], truncated)
    short = nw.load_study(truncated)
    assert nw.verify_certificate(certificate, short).bound == certificate.bound
    with pytest.raises(ValueError, match=r"made after 4 events; the log has 3\."):
        nw.verify_certificate(study.certificate(), short)


def run(*arguments):
    ended = RUNNER.invoke(app, [str(one) for one in arguments])
    return ended.exit_code, " ".join(ended.stdout.split())


def test_the_commands_say_what_agrees_and_since_when_the_log_has_grown(tmp_path):
    path, file = tmp_path / "s.db", tmp_path / "certificate.json"
    study = make(path)
    plain = json.loads(study.certificate().to_json())
    study.tell(option="A", value=1.1, se=0.2)
    file.write_text(json.dumps(plain))
    for command in (("verify", file, path), ("certify", path, "--verify", file)):
        code, said = run(*command)
        assert code == 0
        assert "as of event 3 of 4" in said
        assert plain["sentence"] in said
    file.write_text(json.dumps(plain | {"sentence": "A is the best of 3."}))
    for command in (("verify", file, path), ("certify", path, "--verify", file)):
        code, said = run(*command)
        assert code == 1
        assert "its text does not say what follows from them (sentence)" in said
        assert plain["sentence"] in said
        assert "A is the best of 3." not in said
        assert run(*command, "--json")[0] == 1
    file.write_text(json.dumps(plain | {"verdict": "reached", "rule": 1}))
    for command in (("verify", file, path), ("certify", path, "--verify", file)):
        assert run(*command)[0] == 1
