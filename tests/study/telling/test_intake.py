"""What comes in: text stays text, rows are whole, nothing counts twice unnoticed, keys mean what they say."""

import polars as pl
import pytest
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.tables.grid import write_delimited
from noisewise.study.tables.sheet import read_whole


def study_of(*names, **arguments):
    return nw.create_study(options=list(names), **{"eps": 0.1, **arguments})


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def told(study):
    return study.frame("measurements").select("option", "value", "se").rows()


def refused(study, call, message):
    before = study.events()
    with pytest.raises((ValueError, KeyError, TypeError), match=message):
        call()
    assert study.events() == before
    assert nw.load_study(study._log.storage, study.name).events() == before


# ---- text is text


def test_options_1_10_and_1_1_are_told_apart_in_a_csv(tmp_path):
    table = write(tmp_path / "o.csv", "id\n1.10\n1.1\n007\n7\n1e3\n1000\n03\n3\n")
    study = nw.create_study(options=table, eps=0.1)
    assert study.options == ["1.10", "1.1", "007", "7", "1e3", "1000", "03", "3"]
    rows = "".join(f"{name},{k},0.1\n" for k, name in enumerate(study.options))
    study.tell_many(write(tmp_path / "m.csv", f"option,value,se\n{rows}"))
    assert [row[:2] for row in told(study)] == [(name, float(k)) for k, name in enumerate(study.options)]


def test_keys_001_and_01_are_two_keys(tmp_path):
    study = study_of("A", "B")
    study.tell_many(write(tmp_path / "m.csv", "option,value,se,key\nA,1,0.1,001\nB,2,0.1,01\n"))
    assert study.frame("measurements")["key"].to_list() == ["001", "01"]
    assert study.n_measurements == 2


def test_whole_numbers_of_typed_tables_become_names_and_fractions_do_not():
    study = nw.create_study(options=pl.DataFrame({"id": [7, 8]}), eps=0.1)
    assert study.options == ["7", "8"]
    study.tell_many({"option": [7], "value": [1.0], "se": [0.1]})
    assert told(study) == [("7", 1.0, 0.1)]
    with pytest.raises(ValueError, match=r"column 'id'; it holds numbers such as 7\.0, which can be spelt"):
        nw.create_study(options=pl.DataFrame({"id": [7.0, 8.0]}), eps=0.1)
    refused(
        study,
        lambda: study.tell_many({"option": [7.0], "value": [1.0], "se": [0.1]}),
        r"names in column 'option'; it holds numbers such as 7\.0",
    )


def test_a_feature_is_a_number_if_all_of_its_cells_are_and_codes_are_none(tmp_path):
    text = "id,x,code,mixed\nA,1.5,007,1\nB,2,012,2\nC,-3e-1,100,many\n"
    study = nw.create_study(options=write(tmp_path / "o.csv", text), eps=0.1, features=["x", "code", "mixed"])
    catalogue = study.specification.catalogue
    assert [feature.levels for feature in catalogue.features] == [
        (), ("007", "012", "100"), ("1", "2", "many"),
    ]  # fmt: skip
    assert catalogue.values[:, 0].tolist() == [1.5, 2.0, -0.3]
    assert any("because 'many' (C) is not a number" in note for note in study.notes)


@pytest.mark.parametrize("number", ["1_000", "0x10", "1.2.3", "four", "1 00", "--3", "1e99999", "٣"])
def test_what_is_no_number_is_refused_with_its_row_and_column(tmp_path, number):
    study = study_of("A", "B")
    table = write(tmp_path / "m.tsv", f"option\tvalue\tse\nA\t1\t0.1\nB\t1\t{number}\n")
    refused(study, lambda: study.tell_many(table), r"row 2 \(B, line 3\): `se` must be a number; got '")
    table = write(tmp_path / "v.tsv", f"option\tvalue\tse\nA\t1\t0.1\nB\t{number}\t0.1\n")
    refused(study, lambda: study.tell_many(table), r"row 2 \(B, line 3\): `value` must be a number")
    table = write(tmp_path / "w.tsv", f"option\tvalues\nA\t1;2\nB\t1;{number}\n")
    refused(study, lambda: study.tell_many(table), r"row 2 \(B, line 3\): `values` must be a number")


def test_a_comma_between_thousands_is_not_taken_for_a_decimal_one():
    study = study_of("A")
    refused(
        study, lambda: study.tell(option="A", value="1,000", se=1.0), r"1000 or 1\.000, whichever is meant"
    )
    refused(study, lambda: study.tell(option="A", value="-2,500,000", se=1.0), r"without commas: -2500000\.")


# ---- what a spreadsheet would run


def test_formulas_are_written_as_texts_and_read_back(tmp_path):
    names = ["=1+1", "+1", "-5", "@x", "'=quoted", "''-twice", "'plain", "A"]
    frame = pl.DataFrame({"name": names, "value": [-1.0, 2.0, -3.0, 4.0, 5.0, 6.0, 7.0, 8.0]})
    text = write_delimited(frame)
    assert text.splitlines()[1:4] == ["'=1+1,-1.0", "'+1,2.0", "'-5,-3.0"]
    again = read_whole("t", text.encode()).frame
    assert again["name"].to_list() == names
    assert again["value"].cast(pl.Float64).to_list() == frame["value"].to_list()


# ---- error bars that are not there


def test_a_blank_se_cell_is_refused_and_none_says_it_on_purpose(tmp_path):
    study = study_of("A", "B")
    table = write(tmp_path / "m.csv", "option,value,se\nA,1,0.1\nB,2,\n")
    refused(
        study,
        lambda: study.tell_many(table),
        r"row 2 \(B, line 3\): no error bar in se\. Fill it in, delete the row, or write none",
    )
    refused(
        study,
        lambda: study.tell_many({"option": ["A", "B"], "value": [1.0, 2.0], "se": [0.1, None]}),
        r"row 2 \(B\): no error bar in se",
    )
    study.tell_many(write(tmp_path / "n.csv", "option,value,se\nA,1,0.1\nB,2,none\nA,1.25(5),\n"))
    assert told(study) == [("A", 1.0, 0.1), ("B", 2.0, None), ("A", 1.25, pytest.approx(0.05))]
    study.tell_many({"option": ["A"], "value": [3.0]})  # a table without the column says nothing of it
    assert told(study)[-1] == ("A", 3.0, None)


def test_shares_are_no_differences():
    study = study_of("A", "B")
    refused(
        study,
        lambda: study.tell(plus="A", minus="B", successes=50, trials=100),
        r"`successes=` out of `trials=` are of one option; a share is not a difference",
    )
    refused(
        study,
        lambda: study.tell_many({"plus": ["A"], "minus": ["B"], "successes": [5], "trials": [10]}),
        r"row 1 \(A\): `successes=` out of `trials=` are of one option",
    )


# ---- nothing counts twice unnoticed


def test_a_filled_sheet_told_twice_is_harmless_and_a_corrected_one_is_not():
    study = study_of("A", "B")
    jobs = study.ask(2)
    sheet = {"job": [job.id for job in jobs], "option": [job.option for job in jobs], "value": [1.0, 2.0],
             "se": [0.1, 0.1]}  # fmt: skip
    assert len(study.tell_many(sheet, match=True)) == 2
    again = study.tell_many(sheet, match=True)
    assert (len(again), again.known, study.n_measurements) == (0, 2, 2)
    refused(
        study,
        lambda: study.tell_many({**sheet, "value": [1.0, 2.5]}, match=True),
        rf"row 2 \({jobs[1].id}\): m-2 was told as \w = 2\.0 .*, and the row says \w = 2\.5 ± 0\.1\.",
    )
    assert study.tell(jobs[0], 1.0, se=0.1).number == 1  # a retry of a worker, too


# ---- keys


def test_the_same_key_with_another_instrument_is_refused():
    study = study_of("A", "B")
    study.tell(option="A", value=1.0, se=0.1, key="k", instrument="one")
    refused(
        study,
        lambda: study.tell(option="A", value=1.0, se=0.1, key="k", instrument="two"),
        r"key k already told with instrument='one'; you sent 'two'",
    )
    refused(
        study,
        lambda: study.tell(option="A", value=1.0, se=0.1, key="k", instrument="one", cost=3.0),
        r"told with no cost; you sent 3\.0",
    )


def test_voiding_frees_the_key_for_another_content():
    study = study_of("A", "B")
    study.tell(option="A", value=1.0, key="k")  # without its error bar, by mistake
    study.void("k", "the error bar is missing")
    assert study.tell(option="A", value=1.0, se=0.1, key="k").id == "m-2"
    assert study.n_measurements == 1
    again = nw.load_study(study._log.storage, study.name)
    assert again._log.state.keys == {"k": 2}
    assert again.certificate().to_json() == study.certificate().to_json()
    refused(study, lambda: study.void("m-1", "again"), "m-1 was voided before")


def test_a_key_told_again_after_void_does_not_report_success():
    study = study_of("A", "B")
    study.tell(option="A", value=1.0, se=0.1, key="k")
    study.void("k", "wrong sample")
    refused(
        study,
        lambda: study.tell(option="A", value=1.0, se=0.1, key="k"),
        r"m-1 was told with this key and content and voided \(wrong sample\): told again it still does not",
    )
    taken = study.tell_many({"option": ["A"], "value": [1.0], "se": [0.1], "key": ["k"]})
    assert (len(taken), taken.known, len(taken.voided)) == (0, 0, 1)


def test_all_corrected_rows_are_named():
    study = study_of("A", "B")
    table = {"option": ["A"] * 8, "value": [float(k) for k in range(8)], "se": [0.1] * 8,
             "key": [f"k{k}" for k in range(8)]}  # fmt: skip
    study.tell_many(table)
    refused(
        study,
        lambda: study.tell_many({**table, "value": [v + (v > 0) for v in table["value"]]}),
        r"row 2 \(key k1\): m-2 was told as A = 1\.0 .* A = 2\.0 .*row 6 \(key k5\).*and 2 more like these",
    )


# ---- whole or nothing, and other messages


def test_releasing_an_unknown_suggestion_releases_none():
    study = study_of("A", "B")
    study.ask(2)
    refused(study, lambda: study.release(["ask-1", "ask-999"]), "got 'ask-999'")
    assert len(study.pending) == 2
    study.release(study.pending)
    assert study.pending == []


TRAPS = [
    "a\nb",
    "a\x1b[31m",
    "a\u202eb",
    "a\u200bb",
    "caf\udce9",
    "a\ufeff",
    "x" * 20_000,
    "\x9b",
    "a\u2028b",
]


@pytest.mark.parametrize("text", TRAPS[:: effort(4, 1)])
@pytest.mark.parametrize("field", ["block", "instrument", "key", "by", "note"])
def test_texts_that_cannot_be_seen_are_refused_wherever_they_come_in(field, text):
    study = study_of("A", "B")
    refused(study, lambda: study.tell(option="A", value=1.0, se=0.1, **{field: text}), f"`{field}` must")


@pytest.mark.parametrize("text", TRAPS)
def test_reasons_and_names_are_texts_like_others(text):
    study = study_of("A", "B")
    study.tell(option="A", value=1.0, se=0.1)
    study.ask()
    for call in (
        lambda: study.void("m-1", text),
        lambda: study.exclude("A", text),
        lambda: study.release("ask-1", text),
        lambda: study.switch(extra_scatter=0.1, reason=text),
        lambda: study.ask(by=text),
        lambda: study.add_options([text]),
    ):
        refused(study, call, "must")
    with pytest.raises(ValueError, match="must"):
        study_of(text, "B")
    with pytest.raises(ValueError, match="must"):
        study_of("A", "B", name=text)


def test_words_of_other_scripts_and_emoji_are_texts():
    names = ["naïve", "Ω", "日本", "👩\u200d🔬", "می\u200cخواهم", "שלום"]
    study = study_of(*names)
    for name in names:
        study.tell(option=name, value=1.0, se=0.1, block=name, key=name)
    assert study.options == names


# ---- large tables
