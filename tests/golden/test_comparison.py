"""The comparison notices what it is there to notice."""

import json

import pytest
from tests.golden import __main__ as command
from tests.golden import comparison, kinds
from tests.golden.comparison import Change, compare, not_allowed, plain, read_changes

OLD = {
    "bound": 0.5,
    "option": "A",
    "half_widths": {"better": [0.1, 0.2], "worse": ["inf"]},
    "estimates": [3.0, 1e-17],
    "candidates": ["A", "B"],
    "nothing": [],
}


def with_(**changed):
    return compare("case", OLD, OLD | changed)


def test_rounding_is_not_a_difference():
    assert with_(bound=0.5 * (1.0 + 1e-12), estimates=[3.0 - 1e-13, -2e-16]).outcome == "equal"


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"estimates": [3.0, 1e-9]}, "estimates.1"),
        ({"estimates": [3.00000001, 1e-17]}, "estimates.0"),
        ({"option": "B"}, "option"),
        ({"candidates": ["A"]}, "candidates.1"),
        ({"candidates": ["B", "A"]}, "candidates.0"),
        ({"nothing": None}, "nothing"),
        ({"new": 1}, "new"),
        ({"bound": None}, "bound"),
        ({"bound": True}, "bound"),
    ],
)
def test_a_changed_missing_or_new_field_is_different(changed, path):
    found = with_(**changed)
    assert found.outcome == "different"
    assert found.differences[0].path == path


def test_a_field_that_is_gone_is_different():
    found = compare("case", OLD, {name: OLD[name] for name in OLD if name != "option"})
    assert found.outcome == "different"
    assert found.differences[0] == comparison.Difference("option", "A", comparison.MISSING)


def test_bounds_that_only_fall_are_smaller():
    assert with_(bound=0.5 - 1e-6).outcome == "smaller"
    assert with_(bound=0.4, half_widths={"better": [0.1, 0.15], "worse": [7.0]}).outcome == "smaller"


def test_bounds_that_only_rise_are_larger():
    assert with_(bound=0.5 * 1.000001).outcome == "larger"
    assert with_(bound="inf").outcome == "larger"


def test_bounds_that_rise_and_fall_are_different():
    assert with_(bound=0.4, half_widths={"better": [0.1, 0.3], "worse": ["inf"]}).outcome == "different"
    assert with_(bound=0.4, option="B").outcome == "different"


def test_numbers_that_json_does_not_have_are_text():
    assert plain({1: (float("inf"), float("-inf"), float("nan"))}) == {"1": ["inf", "-inf", "nan"]}
    with pytest.raises(TypeError, match="JSON"):
        plain({"what": object()})


def test_a_change_allows_only_what_it_names():
    found = with_(bound=0.6, option="B")
    by_case = Change("studies", "ca*", "a reason")
    assert not not_allowed("studies", found, [by_case])
    assert by_case.used
    for other in (
        Change("rules", "*", "a reason"),
        Change("studies", "other*", "a reason"),
        Change("studies", "*", "a reason", fields="estimates.*"),
    ):
        assert len(not_allowed("studies", found, [other])) == 2
        assert not other.used
    one = Change("studies", "*", "a reason", fields="bound")
    assert [left.path for left in not_allowed("studies", found, [one])] == ["option"]


def test_a_change_needs_a_reason(tmp_path):
    path = tmp_path / "changes.toml"
    path.write_text('[[change]]\nkind = "studies"\ncases = "*"\nreason = " "\n')
    with pytest.raises(ValueError, match="reason"):
        read_changes(path)


@pytest.fixture
def one_record(tmp_path, monkeypatch):
    """A kind with one case, whose record says what `write` is given."""
    monkeypatch.setattr(command, "all_kinds", lambda: ["made_up"])
    monkeypatch.setattr(
        command, "replay_all", lambda names, processes: [("made_up", kinds.replay("made_up", records))]
    )
    monkeypatch.setattr(kinds, "play", lambda kind, case: plain({"bound": 1.0 / case["of"]}))
    records = []

    def write(bound, changes=(), of=2):
        records[:] = [{"name": "one", "case": {"of": of}, "answer": {"bound": bound}}]
        monkeypatch.setattr(command, "read_changes", lambda: list(changes))

    return write


def test_compare_passes_where_nothing_differs(one_record, capsys):
    one_record(0.5)
    assert command.main(["compare"]) == 0
    assert "made_up: 1 equal, 0 smaller, 0 larger, 0 different" in capsys.readouterr().out


def test_compare_prints_and_refuses_what_differs(one_record, capsys):
    one_record(0.6)
    assert command.main(["compare", "made_up"]) == 1
    assert "one: smaller" in (said := capsys.readouterr().out)
    assert "bound: 0.6 -> 0.5" in said


def test_compare_accepts_a_change_that_is_named(one_record):
    one_record(0.6, [Change("made_up", "one", "a reason")])
    assert command.main(["compare"]) == 0


@pytest.mark.parametrize("kind", ["made_up", "unknown"])
def test_compare_refuses_an_entry_that_matches_nothing(one_record, capsys, kind):
    one_record(0.5, [Change(kind, "one", "a reason")])
    assert command.main(["compare"]) == 1
    assert "remove this entry" in capsys.readouterr().out


def test_a_case_that_crashes_is_different(one_record, capsys):
    one_record(0.5, of=0)
    assert command.main(["compare"]) == 1
    assert "one: different" in capsys.readouterr().out


def test_recording_twice_writes_the_same_bytes(tmp_path, monkeypatch):
    class Kind:
        @staticmethod
        def cases():
            yield "a", {"x": (1, 2.5)}
            yield "b", {"y": "µ"}

        @staticmethod
        def play(case):
            return {"said": list(case.values()), "bound": float("inf")}

    monkeypatch.setattr(kinds.importlib, "import_module", lambda name: Kind)
    assert kinds.record("made_up", tmp_path) == 2
    first = (tmp_path / "made_up.jsonl").read_bytes()
    kinds.record("made_up", tmp_path)
    assert (tmp_path / "made_up.jsonl").read_bytes() == first
    assert json.loads(first.splitlines()[0])["answer"] == {"said": [[1, 2.5]], "bound": "inf"}
