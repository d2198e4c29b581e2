"""Specifications come from logs as well: whatever creation would not write is refused in one sentence."""

import copy
import json

import pytest

import noisewise as nw
from noisewise.study.log.specification import Specification

NAN, INFINITY = float("nan"), float("inf")
#: What no field takes.
NEVER = [True, False, [], {}, "", "zzz", NAN, INFINITY, -INFINITY, -1, 10**400, [None], {"a": 1}]
#: What some fields take of these, or may lack.
TAKES = {"items": [], "version": ["zzz"], "name": ["zzz"], "unit": ["zzz"]}
MAY_BE_NONE = {
    "eps", "noise_floor", "deviation", "extra_scatter", "budget", "looks", "bounds", "scatter",
    "noise", "items",
    "unit", "scale", "measure",
}  # fmt: skip
#: A study that states as much as goes together.
QUESTION = {
    "model": "linear+deviation:0.3", "eps": 0.5, "budget": 9, "unit": "kg", "measure": "ratings:0,9",
    "errors": nw.Errors(extra=0.1, floor=0.01, scatter="pooled"), "roles": {"cost": "price"},
}  # fmt: skip
TABLE = {
    "id": ["A", "B", "C"],
    "x": [0.0, 1.0, 2.0],
    "shape": ["round", "flat", "flat"],
    "price": [1.0, 2.0, 1.0],
}


@pytest.fixture(scope="module")
def plain():
    import polars as pl

    made = nw.create_study(options=pl.DataFrame(TABLE), **QUESTION)
    found = made.specification.to_plain() | {
        "looks": None, "noise": None, "items": None, "scale": None, "measure": None,
    }  # fmt: skip
    return json.loads(json.dumps(found))


def refused(plain):
    with pytest.raises(ValueError, match=r"^the specification of this study is not valid: ") as said:
        Specification.from_plain(plain)
    assert len(str(said.value)) < 600
    return str(said.value)


QUESTIONS = {
    "a linear study": QUESTION,
    "one look": {"eps": 0.5, "final": True},
    "heavy tails": {"eps": 0.5, "errors": "tails=heavy", "goal": "min"},
    "rounds": {"eps": "2%", "measure": "rounds", "scale": "log", "goal": "min"},
    "items": {"eps": 0.1, "measure": nw.Items(["q1", "q2"]), "seed": 2**63 - 1},
    "a number of items": {"eps": 0.1, "measure": "items:7"},
    "a log scale": {"eps": "2%", "scale": "log", "errors": "floor=1%,extra=3%"},
    "estimated sizes": {"eps": 0.5, "model": "linear+deviation", "errors": "extra=estimate"},
    "counts": {"eps": 0.1, "measure": "counts"},
    "own scatter": {"eps": 0.5, "errors": "scatter=own", "confidence": 0.5},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_creation_writes_is_read_back(name):
    import polars as pl

    study = nw.create_study(options=pl.DataFrame(TABLE), **QUESTIONS[name])
    written = study.specification.to_plain()
    again = Specification.from_plain(json.loads(json.dumps(written)))
    assert again.to_plain() == written
    assert Specification.from_plain(written).to_plain() == written


@pytest.mark.parametrize("value", NEVER, ids=lambda value: repr(value)[:12])
def test_no_field_takes_what_creation_would_not_write(plain, value):
    for name in plain:
        if not any(value is taken or value == taken for taken in TAKES.get(name, [])):
            refused({**plain, name: value})


def test_only_optional_fields_can_be_missing_or_null(plain):
    Specification.from_plain({name: value for name, value in plain.items() if value is not None})
    for name in set(plain) - MAY_BE_NONE:
        refused({**plain, name: None})
    for name in set(plain) - MAY_BE_NONE:
        assert name in refused({field: value for field, value in plain.items() if field != name})


def test_unknown_fields_are_refused(plain):
    assert "unknown field 'zzz'" in refused({**plain, "zzz": 1})
    assert "Did you mean 'confidence'?" in refused({**plain, "confidense": 0.95})
    for part in ("policy", "catalogue"):
        assert f"`{part}` has the unknown field 'zzz'" in refused({**plain, part: {**plain[part], "zzz": 1}})
    for other in (None, [], "x", 3, [plain]):
        refused(other)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"confidence": -1}, "`confidence` must lie strictly between 0 and 1"),
        ({"confidence": 1.0}, "`confidence` must lie strictly between 0 and 1"),
        ({"goal": "largest"}, "`goal` must be one of 'max', 'min'"),
        ({"noise": "cauchy"}, "`tails` must be one of 'heavy', 'symmetric'"),
        ({"noise": "normal"}, "`tails` must be one of"),
        ({"looks": "twice"}, "`looks` must be one of 'once'"),
        ({"scatter": "mine"}, "`scatter` must be one of"),
        ({"blocks": "none"}, "unknown field 'blocks'"),
        ({"items": 10**9}, "how many items there are, at most 10,000,000"),
        ({"items": ["q", "q"]}, "must name each item once"),
        ({"items": ["q", "r"]}, "must not be items in the linear+deviation model"),
        ({"model": "cubic"}, "`model` must be one of"),
        ({"scale": "linear"}, "`scale` must be one of 'log'"),
        ({"eps": 0}, "`eps` must be a finite number above 0"),
        ({"eps": "0.5"}, "`eps` must be a number"),
        ({"deviation": "0.3"}, "`deviation` must be as a new study has it, 0.3"),
        ({"deviation": None}, "`deviation` must be as a new study has it, 'estimate'"),
        ({"seed": 0.5}, "`seed` must be a whole number"),
        ({"bounds": [9.0, 0.0]}, "with low below high"),
        ({"bounds": [0.0, 5.0, 9.0]}, "must be a pair"),
        ({"noise": "heavy"}, "needs options that share nothing"),
        ({"scatter": "own"}, "needs options that share nothing"),
        ({"looks": "once"}, 'does not go with `final=True`'),
        ({"scale": "log"}, "must be above 0 with `scale"),
        ({"schema": 2}, "it has schema 2; this noisewise reads 1"),
        ({"schema": 1.0}, "it has schema 1.0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(plain, changed, said):
    assert said in refused({**plain, **changed})


@pytest.mark.parametrize(
    ("part", "changed"),
    [
        ("policy", {"name": ""}), ("policy", {"name": 3}), ("policy", {"options": []}),
        ("policy", {"version": None}), ("catalogue", {"ids": []}), ("catalogue", {"ids": ["A", "A", "B"]}),
        ("catalogue", {"ids": ["A", 2, "C"]}), ("catalogue", {"ids": "ABC"}),
        ("catalogue", {"ids": ["A", "B"]}), ("catalogue", {"values": [[0.0]]}),
        ("catalogue", {"values": [[0.0, NAN]] * 3}), ("catalogue", {"values": [[0.0, INFINITY]] * 3}),
        ("catalogue", {"values": "x"}), ("catalogue", {"values": None}), ("catalogue", {"costs": [1.0, 2.0]}),
        ("catalogue", {"costs": [1.0, -2.0, 1.0]}), ("catalogue", {"costs": [1.0, NAN, 1.0]}),
        ("catalogue", {"costs": "abc"}), ("catalogue", {"features": []}), ("catalogue", {"features": [3]}),
        ("catalogue", {"features": [{"name": "x"}]}), ("catalogue", {"notes": [3]}),
        ("catalogue", {"sha256": "0" * 64}), ("catalogue", {"sha256": None}),
    ],
)  # fmt: skip
def test_policy_and_catalogue_are_checked_as_well(plain, part, changed):
    refused({**plain, part: {**plain[part], **changed}})


def log_of(study):
    return list(map(json.loads, nw.study.log.export.log_lines(study._log.storage, study.name)))


@pytest.fixture
def lines():
    study = nw.create_study(options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)
    return log_of(study)


@pytest.mark.parametrize("name", ["events", "name", "specification", "format", "schema"])
@pytest.mark.parametrize("value", [None, 3.5, "x", [], True, -1, "missing"], ids=repr)
def test_a_log_with_a_malformed_first_line_is_refused(lines, name, value):
    if (name, value) == ("name", "x"):
        return
    first = copy.deepcopy(lines[0]) | {name: value}
    if value == "missing":
        del first[name]
    texts = [json.dumps(row) for row in (first, *lines[1:])]
    storage = nw.MemoryStorage()
    with pytest.raises(ValueError, match=r"log|specification"):
        nw.rebuild_study(texts, storage)
    assert storage.names() == []
    (verdict,) = nw.verify_log(texts)
    assert not verdict.fits
    assert "KeyError" not in str(verdict)


def test_an_invalid_specification_is_refused_wherever_a_log_comes_in(lines, tmp_path):
    from noisewise.study.log.events import events_in, first_row, rows_of
    from noisewise.study.log.export import lines_from, read_log

    rows = read_log(iter([json.dumps(line, separators=(",", ":")) for line in lines])).rows
    first = first_row(lines[1]["record"] | {"confidence": -1})
    (event,) = events_in(rows)
    texts = list(lines_from("study", [first, *rows_of([("tell", event.body)], first, at=event.at, id="x")]))
    with pytest.raises(ValueError, match="specification of this study is not valid: `confidence`"):
        nw.rebuild_study(texts, tmp_path / "new.db")
    (verdict,) = nw.verify_log(texts)
    assert "specification of this study is not valid: `confidence`" in str(verdict)
    storage = nw.open_store(tmp_path / "old.db", create=True)
    storage.create("study", [first])
    storage.close()
    with pytest.raises(ValueError, match="specification of this study is not valid: `confidence`"):
        nw.load_study(tmp_path / "old.db")
    with pytest.raises(ValueError, match="specification of this study is not valid: `confidence`"):
        nw.restore_store(tmp_path / "old.db", tmp_path / "target.db")
    assert not (tmp_path / "target.db").exists()
