"""The report: computed once, told completely, the same for the same seed."""

import json
import re
import sys

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from noisewise.cli import app, main
from noisewise.paper import check_paper, external, report
from noisewise.paper.external import PUBLISHED_SOARE, SOARE
from noisewise.paper.measurements import (
    characteristic_time,
    floored_widths,
    recommended,
    tracked_design,
    widths,
    world_of,
)
from noisewise.paper.report import SECTIONS, compute, page
from noisewise.paper.section import (
    NOT_AS_PRINTED,
    Account,
    Effort,
    Piece,
    Section,
    interval,
    most_misses,
    share,
    slope_of_means,
    slope_of_runs,
)
from noisewise.paper.table2 import ROWS, _why
from noisewise.paper.table2 import describe as describe_table2

CALLS: list[float] = []


def doubled(number: float) -> dict[str, float]:
    """A cell that remembers that it was computed."""
    CALLS.append(number)
    return {"twice": 2.0 * number}


def small(passes=True):
    """A section with two cells, a table, a figure and a check."""

    def pieces(effort):
        return {f"{k}": Piece(doubled, {"number": k + effort.seed}) for k in range(effort.pick(2, 4))}

    def describe(effort, outcomes):
        account = Account()
        account.say("Words with `code` & more.")
        rows = [{"k": int(k), "twice": found["twice"]} for k, found in outcomes.items()]
        account.show("small", "A table.", rows)
        line = [
            {"policy": "a", "x": r["k"] + 1, "mean": r["twice"] + 1, "low": r["twice"] + 1, "high": 9.0}
            for r in rows
        ]
        account.draw("small-figure", "A figure.", line, "Small", x="x", x_title="x", y_title="y")
        account.check("twice is twice", passes, "as it should")
        return account

    return Section("small", "A small section", pieces, describe, ("small-figure",))


@pytest.fixture
def only_small(monkeypatch):
    CALLS.clear()
    monkeypatch.setattr(report, "SECTIONS", (small(),))


def sized(horizon, replications, seed):
    return {"horizon": horizon, "replications": replications, "seed": seed}


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_second_run_computes_nothing_and_writes_the_same(only_small, tmp_path):
    first = check_paper(out=tmp_path, on=1)
    written = files(tmp_path)
    assert sorted(CALLS) == [0, 1]
    again = check_paper(out=tmp_path, on=1)
    assert sorted(CALLS) == [0, 1]
    assert first.passed
    assert again.checks == first.checks
    assert files(tmp_path) == written
    check_paper(out=tmp_path, full=True, on=1)
    assert sorted(CALLS) == [0, 1, 2, 3]
    check_paper(out=tmp_path, seed=3, on=1)
    assert sorted(CALLS) == [0, 1, 2, 3, 4]  # 3 was there


def test_what_was_stopped_is_resumed(only_small, tmp_path, monkeypatch):
    def interrupted(number):
        if number == 1:
            raise KeyboardInterrupt
        return doubled(number)

    interrupted.__qualname__ = doubled.__qualname__
    interrupted.__name__ = doubled.__name__
    cells = {k: Piece(interrupted, {"number": k}) for k in range(2)}
    with pytest.raises(KeyboardInterrupt):
        compute(cells, tmp_path, 1)
    assert CALLS == [0]
    assert compute({k: Piece(doubled, {"number": k}) for k in range(2)}, tmp_path, 1)[1] == {"twice": 2}
    assert CALLS == [0, 1]


def test_a_damaged_file_is_computed_again(only_small, tmp_path):
    check_paper(out=tmp_path, on=1)
    for file in (tmp_path / report.FOLDER).iterdir():
        file.write_text('{"twice"')
    check_paper(out=tmp_path, on=1)
    assert sorted(CALLS) == [0, 0, 1, 1]


def test_what_is_written(only_small, tmp_path):
    check_paper(out=tmp_path, on=1)
    html = (tmp_path / "report.html").read_text("utf-8")
    assert "<p>Holds: 1.</p>" in html
    assert "Words with <code>code</code> &amp; more." in html
    assert html.count("data:image/svg+xml;base64,") == 1
    assert not re.search(r"(src|href)=\"(https?:)?//", html)  # nothing from a network
    assert (tmp_path / "figures" / "small-figure.svg").read_text().startswith("<svg")
    assert pl.read_parquet(tmp_path / "numbers" / "small.parquet")["twice"].to_list() == [0.0, 2.0]
    numbers = json.loads((tmp_path / "paper.json").read_text())
    assert numbers["schema"] == "noisewise.paper/1"
    assert numbers["sections"][0]["tables"]["small"][1] == {"k": 1, "twice": 2.0}
    assert numbers["sections"][0]["checks"][0]["passed"] is True


def test_a_failed_check_is_said_and_ends_with_exit_code_1(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "SECTIONS", (small(passes=False),))
    result = CliRunner().invoke(app, ["paper", "small", "--out", str(tmp_path), "--on", "1"])
    assert result.exit_code == 1
    assert "NOT CONFIRMED" in result.stdout
    assert "NOT CONFIRMED: 1." in (tmp_path / "report.html").read_text("utf-8")
    monkeypatch.setattr(report, "SECTIONS", (small(),))
    result = CliRunner().invoke(app, ["paper", "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["passed"] is True


def test_an_unknown_section_gets_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["noisewise", "paper", "tabel1", "--out", str(tmp_path / "no")])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "Did you mean 'table1'?" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_a_refutation_is_never_called_holds():
    account = Account()
    account.check("elimination as printed errs", True, "as seen", NOT_AS_PRINTED)
    account.check("elimination as printed errs", False, "not seen", NOT_AS_PRINTED)
    assert [check.label for check in account.checks] == ["does not hold as printed", "NOT CONFIRMED"]
    html = page(Effort(False), [(small(), account)])
    assert "NOT CONFIRMED: 1; does not hold as printed: 1." in html
    assert ">holds<" not in html


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_cells_can_be_kept_and_figures_have_names_of_their_own(section):
    for full in (False, True):
        cells = section.pieces(Effort(full))
        assert cells
        for cell in cells.values():
            assert json.loads(json.dumps(cell.arguments)) == cell.arguments
            assert cell.function.__module__.startswith("noisewise.paper.measurements")
    figures = [name for one in SECTIONS for name in one.figures]
    assert len(set(figures)) == len(figures)


def test_theorem_3_is_told_and_fails_if_somebody_beats_the_limit():
    from noisewise.paper.theorem3 import THEOREM_3
    from noisewise.theory.bounds import family_regret

    cells = THEOREM_3.pieces(Effort(False))
    for factor, passed in ((1.02, True), (0.9, False)):
        outcomes = {
            key: {
                "mean": factor * family_regret(cell.arguments["world"]["problem_options"]["scale"]),
                "error": 0.003,
                "runs": 100,
            }
            for key, cell in cells.items()
        }
        account = THEOREM_3.describe(Effort(False), outcomes)
        assert [check.passed for check in account.checks] == [passed, True]
    html = page(Effort(False), [(THEOREM_3, account)])
    assert "physical limit" in html
    assert html.count("<figure") == 2
    assert "NOT CONFIRMED: 1; holds: 1." in html


def test_exponents_of_vaee_are_the_papers():
    """Must hold (a), in small: six horizons, the four schedules, d = 5."""
    from noisewise.paper.table2 import HORIZONS, PRINTED

    for schedule, columns in PRINTED.items():
        runs = widths("vaee", {}, schedule, 5, 60, HORIZONS, sized(0, 2, 0))["widths"]
        found = slope_of_runs(np.array(HORIZONS, dtype=float), np.array(runs))
        assert found.within(columns[0][0], 0.06), schedule


def test_regrets_by_four_ways_to_recommend():
    found = recommended(
        "round_robin",
        {},
        world_of("sphere", {"n_actions": 5, "dim": 2}, "flat"),
        sized(200, 20, 0),
    )
    # Round robin plays everything alike: what is drawn from it is as bad as the average action.
    assert found["drawn from those played"]["mean"] > 5 * found["own"]["mean"]
    assert found["drawn from those played"]["error"] < 0.2
    assert set(found) == {"own", "drawn from those played", "most played", "last", "runs"}


def test_the_lemma_on_tracked_designs_is_measured():
    found = tracked_design(
        world_of("hypercube", {"dim": 3}, "log-uniform", low=1e-3, high=1.0),
        sized(200, 6, 0),
    )
    assert min(found["gathered"]) >= 1 - 1e-9
    assert all(bound > regret for bound, regret in zip(found["bound"], found["regret"], strict=True))


def test_the_characteristic_times_of_the_external_instances():
    assert characteristic_time("soare", SOARE) == pytest.approx(222.25, abs=0.1)
    shorter = characteristic_time("soare", SOARE | {"length": 1.0})
    assert shorter == pytest.approx(4 * characteristic_time("soare", SOARE), rel=1e-5)
    draws = [characteristic_time("tirinzoni-degenne", {"shape": shape}) for shape in (None, 0, 1)]
    assert draws == pytest.approx([2100, 2100, 2100], rel=0.01)


def stopped_after(mean):
    return {"mean": mean, "error": 0.01 * mean, "spread": mean, "wrong": 0, "unfinished": 0, "runs": 100}


@pytest.mark.parametrize(("factor", "failed"), [(1.0, 0), (0.8, 1), (1.3, 4)])
def test_what_is_told_about_the_first_external_table(factor, failed):
    """What is better is fine, but for round robin, which must agree; what is worse is not."""
    outcomes = {"length 1": stopped_after(2e4), "elimination/VAGE": stopped_after(3e5)}
    for row in external.SOARE_ROWS:
        most = row.most or PUBLISHED_SOARE["LinGame"]
        for delta, rounds in zip(external.DELTAS, most, strict=True):
            outcomes[f"{row.label}/{delta:g}"] = stopped_after(factor * rounds)
    account = external.describe(Effort(full=False), outcomes)
    assert [check.passed for check in account.checks].count(False) == failed


def test_floors_by_hand():
    """One action, three rounds of σ = 1/t: precision 1, then each round adds what its floor leaves."""
    assert floored_widths("fast-decaying", 1, [3], 0)["widths"] == [pytest.approx(15**-0.5)]
    assert floored_widths("fast-decaying", 1, [3], 1)["widths"] == [pytest.approx(8**-0.5)]  # 1, 2, 4, 8
    assert floored_widths("fast-decaying", 1, [3], 2)["widths"][0] > 8**-0.5


def test_where_table_2_differs_it_says_why():
    row = ROWS[3]
    assert _why(row, "flat", "simple", interval(-0.52, 0.01), -0.5, -0.5) == ""
    assert "upper bound" in _why(row, "front-loaded", "simple", interval(-1.2, 0.01), -0.5, -1.2)
    assert "logarithms" in _why(ROWS[1], "flat", "cumulative", interval(0.6, 0.01), 0.5, 0.5)
    outcomes = {}
    for one in ROWS:
        for schedule in ("fast-decaying", "flat", "moderate-spikes", "front-loaded"):
            for scale in one.scales:
                runs = [{"mean": 1.0 / (k + 1), "error": 0.01} for k in range(6)]
                outcomes[f"regret/{one.label}/{schedule}/{scale:g}"] = {"simple": runs, "cumulative": runs}
            for dim in (5, 10):
                outcomes[f"width/{one.label}/{dim}/{schedule}"] = {"widths": [[1, 1, 1, 1, 1, 0.9]] * 3}
    account = describe_table2(Effort(False), outcomes)
    assert not account.checks[0].passed  # widths that do not fall fail the check


def test_the_statistics():
    x = np.array([1.0, 10.0, 100.0])
    assert slope_of_means(x, x**-0.5, np.zeros(3)) == pytest.approx((-0.5, -0.5, -0.5))
    rng = np.random.default_rng(0)
    noisy = [
        slope_of_means(x, x**-0.5 * (1 + 0.01 * rng.standard_normal(3)), 0.01 * x**-0.5) for _ in range(400)
    ]
    covered = sum(one.low <= -0.5 <= one.high for one in noisy)
    assert 400 - covered <= most_misses(400, 0.05)
    assert most_misses(1000, 0.05) == 86
    assert most_misses(2000, 0.05) == 149
    assert share(0, 10).low == 0.0
    assert 0.25 < share(0, 10).high < 0.31
    assert interval(1.0, 0.5).within(1.0, 0.981)
    assert not interval(1.0, 0.5).within(1.0, 0.979)


def test_what_is_wanted_twice_is_computed_once(only_small, tmp_path):
    cells = {name: Piece(doubled, {"number": 7}) for name in "abc"}
    assert compute(cells, tmp_path, 2) == {name: {"twice": 14} for name in "abc"}
    assert CALLS == [7]


@pytest.mark.parametrize(("mean", "passed"), [(42_600.0, True), (48_300.0, False)])
def test_what_is_told_about_the_second_external_table(mean, passed):
    """LinGame took 45,340 rounds in the published table, with a standard error of 1,420."""
    account = Account()
    external.describe_rivals(
        Effort(full=True), account, {"elimination/LinGame": stopped_after(mean) | {"error": 0.03 * mean}}
    )
    (check,) = account.checks
    assert check.passed is passed
