"""Tables of public tools are read as a person would read them, or the right question is asked."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import noisewise as nw

DATA = Path(__file__).parent / "data"
TRUTHS = json.loads((DATA / "truths.json").read_text(encoding="utf-8"))


def fits(reading, truth):
    roles = {role: set(names) for role, names in reading.roles.items() if role not in ("key", "where")}
    if {"lo", "hi"} <= roles.keys():
        roles["ci"] = roles.pop("lo") | roles.pop("hi")
    accepted = []
    for one in truth["accept"]:
        wanted = {role: set(names) for role, names in one.items() if role != "where"}
        wanted["value"] = wanted.pop("values", wanted.get("value", set()))
        accepted.append({role: names for role, names in wanted.items() if names})
    return any(same(roles, wanted) for wanted in accepted)


def same(roles, wanted):
    """Headers of several rows are joined; columns side by side are one column below each other."""
    if roles.keys() != wanted.keys():
        return False
    for role, names in wanted.items():
        mine = {" ".join(re.findall(r"\w+|[^\w\s]", name)).casefold() for name in roles[role]}
        theirs = {" ".join(re.findall(r"\w+|[^\w\s]", name)).casefold() for name in names}
        if mine != theirs and not all(any(a.endswith(b) or b.endswith(a) for b in theirs) for a in mine):
            return False
    return True


@pytest.mark.parametrize("name", sorted(TRUTHS))
def test_tables_of_public_tools_are_understood(name):
    truth = TRUTHS[name]
    if truth["ask"] == "refused":
        with pytest.raises(ValueError, match=r"\.$"):
            nw.read_table(DATA / name)
        return
    table = nw.read_table(DATA / name)
    right = [fits(reading, truth) for reading in table.readings]
    if truth["ask"] is None:
        assert any(right), str(table)
    else:
        assert table.kind == "asks"
        assert all(right), str(table)
    if table.kind == "read":
        assert len(table.options) == len(truth["options"])


def test_rows_are_in_the_words_of_tell():
    assert nw.read_table(DATA / "jmh.csv").rows[0].keys() == {"option", "value", "lo", "hi", "level"}
    rows = nw.read_table(DATA / "bcg.csv").rows
    assert rows[0].keys() == {"block", "option", "successes", "trials"}
    assert {row["option"] for row in rows} == {"treatment", "control"}


@pytest.mark.parametrize("name", ["k6.csv", "sensory.csv", "two-metrics.csv", "deepeval.csv"])
def test_flags_of_a_choice_give_that_reading(name):
    table = nw.read_table(DATA / name)
    for reading in table.readings:
        roles: dict[str, list[str]] = {}
        for role, names in reading.roles.items():
            if role != "where":
                roles[role] = list(names)
        again = nw.read_table(
            DATA / name, roles=roles, where=next(iter(reading.roles.get("where", ())), None)
        )
        assert again.kind == "read"
        assert again.rows == reading.rows


def test_a_missing_number_of_readings_is_asked_for_and_taken():
    assert nw.read_table(DATA / "permutation.csv").kind == "asks"
    table = nw.read_table(DATA / "permutation.csv", n=30)
    assert table.kind == "read"
    assert {row["n"] for row in table.rows} == {30}


def test_the_index_of_a_pandas_frame_is_read():
    frame = pd.DataFrame({"mean": [1.5, 2.25, 3.0], "sem": [0.1, 0.2, 0.1]}, index=["a", "b", "c"])
    assert nw.read_table(frame).options == ["a", "b", "c"]


def test_the_levels_of_an_index_are_columns():
    index = pd.MultiIndex.from_product([["x", "y"], ["d1", "d2", "d3"]], names=["variant", "day"])
    table = nw.read_table(pd.DataFrame({"score": [1.5, 2.5, 1.0, 2.0, 3.5, 1.25]}, index=index))
    assert table.rows[0] == {"option": "x", "block": "d1", "value": 1.5}


def test_arrays_of_readings_are_read():
    table = nw.read_table({"a": np.array([1.0, 2.5]), "b": np.array([2.0, 3.5])})
    assert table.rows[-1] == {"option": "b", "value": 3.5}


def test_a_zip_archive_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "results.csv"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("results.csv", "option,value\n" + "a,1.5\n" * 10_000)
    with pytest.raises(ValueError, match="zip archive"):
        nw.read_table(path)


def test_frames_and_mappings_are_read():
    frame = pl.DataFrame({"alloy": ["x", "x", "y", "y"], "strength": [1.5, 1.75, 2.5, 2.25]})
    assert nw.read_table(frame).rows[0] == {"option": "x", "value": 1.5}
    table = nw.read_table({"x": [1.5, 1.75, 1.25], "y": [2.5, 2.25]})
    assert table.rows[-1] == {"option": "y", "value": 2.25}
    named = nw.read_table({"option": ["1", "2"], "value": [1.5, 2.5]})
    assert named.only.roles == {"option": ("option",), "value": ("value",)}


@pytest.mark.parametrize("more", [[], [2.3]])
def test_a_study_begins_with_readings_by_option(more):
    study = nw.create_study(results={"x": [1.0, 1.2, 1.1], "y": [2.0, 2.1, 2.2, *more]}, eps=1, final=True)
    assert study.options == ["x", "y"]
    assert study.certificate().option == "y"
    assert study.certificate().bound == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "one line",
        "a,b\n",
        "a,b\n1,2\n",
        "{",
        "[1, 2]",
        "{}",
        '"',
        "a\0b",
        "|---|",
        "x,y\nu,v\nw,z\n",
    ],
)
def test_junk_gets_one_sentence(tmp_path, text):
    path = tmp_path / "junk.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"\.$") as refused:
        nw.read_table(path)
    assert "\n" not in str(refused.value)


def test_a_total_and_notes_are_left_out(tmp_path):
    path = tmp_path / "ads.csv"
    path.write_text(
        'Ad,Shown,Clicks\na,"1,000",10\nb,"2,000",30\nTotal,"3,000",40\n* preliminary figures of May\n'
    )
    table = nw.read_table(path)
    assert [row["trials"] for row in table.rows] == [1000, 2000]


def test_semicolons_and_commas_are_decimal_commas(tmp_path):
    path = tmp_path / "k.csv"
    path.write_text("Sorte;Mittelwert;Standardfehler\nA;16,078;0,487\nB;11,681;0,482\n")
    assert nw.read_table(path).rows[0] == {"option": "A", "value": 16.078, "se": 0.487}


def test_half_a_pair_is_never_read(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("study,treat1,treat2,TE,seTE\n1,a,b,0.1,0.2\n2,b,c,0.3,0.2\n3,a,c,0.2,0.1\n")
    assert {"plus", "minus"} <= nw.read_table(path).rows[0].keys()


@pytest.mark.parametrize(
    ("name", "pair"), [("tukey-r.csv", ("B", "A")), ("statsmodels-tukey.csv", ("mid", "low"))]
)
def test_differences_have_the_sign_of_the_tool_that_wrote_them(name, pair):
    row = nw.read_table(DATA / name).rows[0]
    assert (row["plus"], row["minus"]) == pair
    assert row["value"] > 0


def test_two_treatments_are_asked_about():
    table = nw.read_table(DATA / "toothgrowth.csv")
    assert table.kind == "asks"
    assert {reading.roles["option"] for reading in table.readings} >= {("supp", "dose"), ("supp",)}
    assert nw.read_table(DATA / "toothgrowth.csv", roles={"option": ["supp", "dose"]}).kind == "read"


def test_points_between_semicolons_separate_thousands_of_counts():
    row = nw.read_table(DATA / "kampagne.csv").rows[0]
    assert (row["successes"], row["trials"]) == (1321, 112345)


def test_an_error_in_points_beside_per_cent_is_a_share(tmp_path):
    path = tmp_path / "share.csv"
    path.write_text("Model,Accuracy,SE\nA,71.2%,0.8\nB,74.9%,0.7\n")
    assert nw.read_table(path).rows[0] == {"option": "A", "value": 0.712, "se": 0.008}


def test_times_in_different_units_are_converted_to_the_first(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("Method,Mean,StdErr\nA,1.5 ms,0.1 ms\nB,250 us,10 us\n")
    assert nw.read_table(path).rows[1] == {"option": "B", "value": 0.25, "se": 0.01}


def test_the_level_of_an_interval_is_between_its_ends():
    assert nw.read_table(DATA / "confint.csv").rows[0]["level"] == pytest.approx(0.95)


def test_readings_by_option_are_read_as_such():
    table = nw.read_table({"A": [1.2, 1.4, 1.1], "B": [2.2, 3.1], "C": [1, 2, 3]})
    assert table.kind == "read"
    assert len(table.rows) == 8
    assert table.rows[3] == {"option": "B", "value": 2.2}


def test_variances_beside_numbers_of_readings_are_noticed():
    sizes = (3, 5, 8, 13, 21, 4, 6, 30)
    rows = {"alloy": list("ABCDEFGH"), "hardness": [float(k) for k in range(8)], "n": list(sizes)}
    told = nw.read_table(pl.DataFrame(rows | {"se": [4.0 / n for n in sizes]}))
    assert "--map var=se" in str(told)
    assert not nw.read_table(pl.DataFrame(rows | {"se": [2.0 / n**0.5 for n in sizes]})).notes


#: What the cells and the other columns say, whatever the names: tables, and the roles they must be given.
CLASSES = {
    "a is away, not the first": (
        "HomeTeam,AwayTeam,FTR\nAjax,Celtic,H\nCeltic,Ajax,A\nAjax,Brugge,D\nBrugge,Celtic,A\n",
        {"plus": ["HomeTeam"], "minus": ["AwayTeam"], "winner": ["FTR"]},
    ),
    "std is part of a standard error": (
        "Gruppe;N;Mittelwert;Std.-Abweichung;Std.-Fehler\nA;16;39,2;3,4;0,85\nB;16;36,8;4,8;1,2\nC;16;34,1;4,0;1,0\n",
        {"option": ["Gruppe"], "value": ["Mittelwert"], "sd": ["Std.-Abweichung"], "n": ["N"]},
    ),
    "cells decide between sd and se": (
        "arm,n,mean,error,se\na,16,5.1,0.4,1.6\nb,25,4.2,0.5,2.5\nc,9,6.0,0.7,2.1\n",
        {"option": ["arm"], "value": ["mean"], "sd": ["se"], "n": ["n"]},
    ),
    "repeats with units, and their mean": (
        "Database;run 1 [ms];run 2 [ms];avg [ms]\nA;706;774;740\nB;304;634;469\nC;746;366;556\n",
        {"option": ["Database"], "value": ["run 1 [ms]", "run 2 [ms]"]},
    ),
    "a title, letters of groups, and a test below": (
        "Table 2. Yield of four treatments\nTreatment,Yield (t/ha)\n"
        "Control,3.12 c\nUrea,4.55 ab\nDAP,4.81 a\nCompost,4.1 b\n"
        "LSD (0.05),0.31\n",
        {"option": ["Treatment"], "value": ["Yield (t/ha)"]},
    ),
    "sizes at which all were measured are no numbers of readings": (
        "Method,N,Mean,SE\nConcat,100,7.1,0.1\nBuilder,100,3.2,0.1\nConcat,1000,74.3,1.2\nBuilder,1000,31.7,0.9\n",
        {"option": ["Method"], "value": ["Mean"], "se": ["SE"], "block": ["N"]},
    ),
    "insects that were counted": (
        "count,spray\n10,A\n7,A\n20,B\n14,B\n1,C\n3,C\n",
        {"option": ["spray"], "value": ["count"]},
    ),
    "newtons are no numbers of readings": (
        "Klebstoff;Scherfestigkeit [N/mm²]\nX;12,04\nX;18,26\nY;23,86\nY;21,62\nZ;11,1\nZ;10,9\n",
        {"option": ["Klebstoff"], "value": ["Scherfestigkeit [N/mm²]"]},
    ),
    "weeks side by side": (
        "variant,week1_users,week1_signups,week2_users,week2_signups\nA,1060,72,1055,77\nB,937,79,1096,90\n",
        {"option": ["variant"], "trials": ["users"], "successes": ["signups"], "block": ["header"]},
    ),
    "columns of options, and nothing else": (
        "gcc,clang\n1.02,2.05\n1.21,2.11\n1.13,2.2\n1.1,2.0\n",
        {"option": ["header"], "value": ["gcc", "clang"]},
    ),
    "the error of another column by its name": (
        "study,treat1,treat2,lnOR,selnOR\nS1,A,D,-1.01,0.24\nS2,C,B,0.47,0.21\nS3,A,B,-0.35,0.19\nS4,B,C,-0.42,0.2\n",
        {"block": ["study"], "plus": ["treat1"], "minus": ["treat2"], "value": ["lnOR"], "se": ["selnOR"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_cells_and_neighbours_decide(name, tmp_path):
    text, roles = CLASSES[name]
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    table = nw.read_table(tmp_path / "t.csv")
    wanted = {role: {*names} for role, names in roles.items()}
    found = {role: {*names} for role, names in table.only.roles.items()}
    if "header" in wanted.get("block", ()):  # columns side by side keep their whole names
        wanted, found = (
            {role: len(names) for role, names in one.items()}
            for one in (wanted, {"option": found["option"], **found})
        )
        assert found.keys() == wanted.keys()
    else:
        assert found == wanted


def test_away_wins_are_wins_of_the_second():
    text, _ = CLASSES["a is away, not the first"]
    rows = [
        dict(zip(("HomeTeam", "AwayTeam", "FTR"), line.split(","), strict=True)) for line in text.split()[1:]
    ]
    assert [row["value"] for row in nw.read_table(rows).rows] == [1.0, -1.0, 0.0, -1.0]


def test_counts_that_add_up_are_shares_of_their_total():
    rows = [("A", 205, 245, 50, 500), ("B", 322, 128, 50, 500), ("C", 238, 212, 50, 500)]
    names = ("Proposal", "In favour", "Against", "Undecided", "Respondents")
    table = nw.read_table([dict(zip(names, row, strict=True)) for row in rows])
    assert table.kind == "asks"
    assert {one.kind for one in table.readings} == {"counts"}


@pytest.mark.parametrize("name", ["score", "x"])
def test_the_only_numbers_are_results_even_where_all_options_share_them(name):
    table = nw.read_table({"prompt": [*"aaabbb"], name: [1, 2, 3, 2, 1, 3]})
    assert table.only.roles == {"option": ("prompt",), "value": (name,)}


def test_names_with_a_hyphen_are_no_pairs():
    mixes = [{"": f"mix-{k}", "1": 5.2 + k, "2": 5.5 + k, "3": 5.6 + k} for k in (1, 2, 3)]
    assert nw.read_table(mixes).readings[0].roles["option"] == ("",)
