"""Tables as people have them: each with the rows it must be read as, or the sentence that refuses it."""

from typing import NamedTuple

import pytest

import noisewise as nw

AB = [("A", 1.5, 0.4), ("B", 2.5, 0.3)]
BIG = [("A", 1234.5, 0.4), ("B", 2345.5, 0.3)]


class Ugly(NamedTuple):
    name: str
    content: str | bytes
    expected: list | str  # rows, or a part of the sentence
    told: tuple[str, ...] = ()  # what must be among the guesses
    said: dict = {}  # noqa: RUF012 - never changed
    ending: str = ".csv"


def semicolons(*rows):
    return "\n".join(["option;value;se", *rows]) + "\n"


PLAIN = [
    Ugly("plain", "option,value,se\nA,1.5,0.4\nB,2.5,0.3\n", AB),
    Ugly("an ending nobody knows", "option\tvalue\tse\nA\t1.5\t0.4\nB\t2.5\t0.3", AB, ("tabs",), {}, ".lst"),
    Ugly("decimal commas", semicolons("A;1,5;0,4", "B;2,5;0,3"), AB, ("decimal commas",)),
    Ugly(
        "decimal commas in quotes", 'option,value,se\nA,"1,5","0,4"\nB,"2,5","0,3"', AB, ("decimal commas",)
    ),
    Ugly("Excel says the separator", "sep=;\n" + semicolons("A;1,5;0,4", "B;2,5;0,3"), AB, ("semicolons",)),
    Ugly(
        "commas in names of a text with semicolons",
        "option;value, GPa;se\nA;1,5;0,4\nB;2,5;0,3\n",
        AB,
        (),
        {"roles": {"option": "option", "value": "value, GPa", "se": "se"}},
    ),
]

THOUSANDS = [
    Ugly("English", 'option,value,se\nA,"1,234.5",0.4\nB,"2,345.5",0.3\n', BIG, ("between thousands",)),
    Ugly("German", semicolons("A;1.234,5;0,4", "B;2.345,5;0,3"), BIG, ("decimal commas", "thousands")),
    Ugly("Swiss", "option,value,se\nA,1'234.5,0.4\nB,2'345.5,0.3\n", BIG, ("between thousands",)),
    Ugly(
        "one cell of another settles it",
        'option,value,se\nA,"1,234","0,4"\n',
        [("A", 1.234, 0.4)],
        ("decimal commas",),
    ),
    Ugly(
        "a column that is not used settles it",
        'option,value,se,t\nA,"1,234",2,"0,25"\n',
        [("A", 1.234, 2.0)],
        ("decimal commas",),
        {"ignore": ["t"]},
    ),
    Ugly(
        "nothing settles it",
        'option,value,se\nA,"1,234",2\n',
        "row 1 (line 2): '1,234' in column 'value' is 1.234 if the comma is a decimal sign, and 1234 if it",
    ),
    Ugly(
        "a person settles it as decimal",
        'option,value,se\nA,"1,234",2\n',
        [("A", 1.234, 2.0)],
        ("decimal commas",),
        {"decimal": ","},
    ),
    Ugly("three digits in plain commas are decimals", "option,value,se\nA,1.234,2\n", [("A", 1.234, 2.0)]),
    Ugly(
        "both signs contradict", semicolons("A;1,5;0.4"), "must have one decimal sign; it has a point ('0.4'"
    ),
]

CELLS = [
    Ugly("per cent", "option,value,se\nA,12.5%,1%\n", [("A", 0.125, 0.01)], ("per cent as hundredths",)),
    Ugly(
        "per cent here and not there",
        "option,value,se\nA,12.5%,1%\nB,0.13,1%\n",
        "row 2 (line 3): column 'value' holds '0.13' without a per cent sign, and '12.5%' with one",
    ),
    Ugly(
        "per cent of the value only",
        "option,value,se\nA,12.5%,0.4\n",
        "column 'value' has per cent signs and 'se' has none: write both alike",
    ),
    Ugly("minus of typographers", "option,value,se\nA,−1.5,0.4\n", [("A", -1.5, 0.4)]),
    Ugly("errors in the cell", semicolons("A;12,3 ± 0,4;"), [("A", 12.3, 0.4)]),
    Ugly("readings", 'option;values\nA;"1,5;2,5"\n', [("A", 2.0, pytest.approx(0.5))], ("decimal commas",)),
    Ugly("a unit in a cell", "option,value,se\nA,12.5 ms,1\n", "Put the unit 'ms' into the header"),
    Ugly("money", "option,value,se\nA,$12,1\n", "Put the unit '$' into the header"),
    Ugly("a limit", "option,value,se\nA,<0.1,1\n", "It is a limit or a guess, not a measurement"),
    Ugly("no value", "option,value,se\nA,,1\n", "If there is no result, leave its error bar empty as well."),
    Ugly("division by zero", "option,value,se\nA,1,#DIV/0!\n", "the error of a spreadsheet's formula"),
    Ugly("a date", "option,value,se\nA,02-Jan,1\n", "It looks like a date: did a spreadsheet make it"),
    Ugly(
        "brackets for minus",
        "option,value,se\nA,(5.1),1\n",
        "If brackets mean minus, write a minus sign",
    ),
    Ugly("ids with zeros", "option,value,se\n03,1,1\n3,2,1\n", [("03", 1.0, 1.0), ("3", 2.0, 1.0)]),
    Ugly(
        "lines below a cell over two",
        'option,value,se,t\nA,1.5,0.4,"one\ntwo"\nB,x,0.3,\n',
        "row 2 (B, line 4): `value` must be a number",
        (),
        {"ignore": ["t"]},
    ),
]

BYTES = [
    Ugly(
        "UTF-16, the other way round",
        b"\xfe\xff" + "option,value,se\nA,1,1\n".encode("utf-16-be"),
        [("A", 1.0, 1.0)],
        ("UTF-16",),
    ),
    Ugly(
        "two encodings", b"option,value,se\nJos\xc3\xa9,1,1\nJos\xe9,1,1\n", "another encoding than the rest"
    ),
    Ugly("a byte 0", b"option,value,se\nA\x00,1,1\n", "line 2 of 'ugly.csv' holds a byte 0"),
    Ugly("a picture", b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "'ugly.csv' is a picture"),
    Ugly("a web page", b"<html><table></table></html>", "'ugly.xls' is a web page", (), {}, ".xls"),
    Ugly("a text called workbook", "option,value\nA,1\n", "'ugly.xlsx' is not a workbook", (), {}, ".xlsx"),
    Ugly("nothing", b"", "'ugly.csv' is empty"),
]

SHAPES = [
    Ugly(
        "a title with separators",
        "Hardness,,\noption,value,se\nA,1.5,0.4\nB,2.5,0.3\n",
        AB,
        ("1 line above",),
    ),
    Ugly(
        "a preamble",
        "Operator,Jane\nDevice,X\noption,value,se\nA,1.5,0.4\nB,2.5,0.3\n",
        AB,
        ("2 lines above",),
    ),
    Ugly("comments", "# made by x\n# y, z\noption,value,se\nA,1.5,0.4\nB,2.5,0.3\n", AB, ("2 lines above",)),
    Ugly("a header behind #", "#option,value,se\nA,1.5,0.4\nB,2.5,0.3\n", AB, ("begins with #",)),
    Ugly(
        "row numbers of data frames", ",option,value,se\n0,A,1.5,0.4\n1,B,2.5,0.3\n", AB, ("counts the rows",)
    ),
    Ugly("empty rows and columns", "option,,value,se,\n\nA,,1.5,0.4,\n,,,,\nB,,2.5,0.3,\n,,,,\n", AB),
    Ugly(
        "a column without a name",
        "option,value,se,\nA,1.5,0.4,x\n",
        "row 1 (line 2) has a cell in a column w",
    ),
    Ugly("a header twice", "option,value,value\nA,1,1\n", "'value' appears twice (columns 2 and 3)"),
    Ugly(
        "a row too short",
        "option,value,se\nA,1.5,0.4\nB,2.5\n",
        "row 2 (line 3) of 'ugly.csv' has 2 cells where",
    ),
    Ugly("a row too long", "option,value,se\nA,1.5,0.4\nB,2,5,0.3\n", "written with a decimal comma?"),
    Ugly(
        "blanks between columns",
        "option value se\nA 1.5 0.4\nB 2.5 0.3\n",
        [("A", 1.5, 0.4), ("B", 2.5, 0.3)],
        (),
        {},
        ".txt",
    ),
    Ugly("no header", "A,1.5,0.4\nB,2.5,0.3\n", "it needs a header"),
    Ugly(
        "a quote that never ends", 'option,value,se\n"A,1.5,0.4\n', "in line 2 of 'ugly.csv' is never closed"
    ),
    Ugly("no rows", "option,value,se\n", []),
]

MAP = {"option": "alloy", "value": "HV"}
COLUMNS = [
    Ugly("capitals", "Option,Value,SE\nA,1.5,0.4\nB,2.5,0.3\n", AB, ("option from 'Option'", "se from 'SE'")),
    Ugly("units", "option,value (ms),se (ms)\nA,1.5,0.4\nB,2.5,0.3\n", AB, ("value in ms",)),
    Ugly(
        "units in a map",
        "alloy,HV [GPa],HV_se [GPa]\nA,1.5,0.4\nB,2.5,0.3\n",
        AB,
        ("value in GPa",),
        {"roles": MAP | {"se": "HV_se"}},
    ),
    Ugly("two units", "option,value (ms),se (s)\nA,1.5,0.4\n", "'value (ms)' is in ms and 'se (s)' in s"),
    Ugly(
        "two columns may be meant",
        "alloy,HV (mean),HV (max)\nA,1,2\n",
        "'HV' may be 'HV (mean)' or 'HV (max)'",
        (),
        {"roles": MAP},
    ),
    Ugly(
        "its error is not used",
        "alloy,HV,HV_se\nA,1.5,0.4\n",
        "'se': 'HV_se'}` to use it, or `ignore=['HV_se']`",
        (),
        {"roles": MAP},
    ),
    Ugly(
        "sd without n is not used",
        "alloy,HV,stdev\nA,1.5,0.4\n",
        "'sd': 'stdev'",
        (),
        {"roles": MAP},
    ),
    Ugly(
        "an interval in one cell",
        "alloy,HV,95% CI\nA,1.5,1-2\n",
        "'ci': '95% CI'",
        (),
        {"roles": MAP},
    ),
    Ugly("in German", "alloy;HV;Unsicherheit\nA;1,5;0,4\n", "'se': 'Unsicherheit'", (), {"roles": MAP}),
    Ugly(
        "the error of another column",
        "alloy,HV,rho,rho_se\nA,1.5,7,0.4\n",
        [("A", 1.5, None)],
        (),
        {"roles": MAP},
    ),
    Ugly(
        "left out on purpose",
        "alloy,HV,HV_se\nA,1.5,0.4\n",
        [("A", 1.5, None)],
        (),
        {"roles": MAP, "ignore": ["HV_se"]},
    ),
    Ugly(
        "an error rate is no error bar",
        "alloy,HV,error_rate\nA,1.5,0.4\n",
        [("A", 1.5, None)],
        (),
        {"roles": MAP},
    ),
    Ugly(
        "a blank error bar",
        "option,value,se\nA,1.5,0.4\nB,2.5,\nC,3.5,\n",
        "row 2 (B, line 3): no error bar in se (nor in row 3 (line 4)). Fill it in",
    ),
    Ugly(
        "blank error bars, allowed",
        "option,value,se\nA,1.5,0.4\nB,2.5,\n",
        [("A", 1.5, 0.4), ("B", 2.5, None)],
        (),
        {"allow_missing_se": True},
    ),
    Ugly(
        "a column that means nothing",
        "option,value,se,weather\nA,1,1,wet\nB,2,1,dry\n",
        [("A", 1.0, 1.0), ("B", 2.0, 1.0)],
    ),
    Ugly("names of its own", "alloy,HV,HV_se\nA,1,1\nB,2,1\n", [("A", 1.0, 1.0), ("B", 2.0, 1.0)]),
    Ugly(
        "a key of two columns",
        "option,value,se,plate,well\nA,1,1,p,7\n",
        [("A", 1.0, 1.0)],
        (),
        {"roles": {"value": "value", "se": "se", "key": "{plate}:{well}"}},
    ),
    Ugly(
        "a column nobody has",
        "alloy,HV\nA,1\n",
        "which has 'alloy', 'HV'; got 'HX'",
        (),
        {"roles": {"option": "alloy", "value": "HX"}},
    ),
]

MORE = [
    Ugly("a line of units", "option,value,se\n,ms,ms\nA,1.5,0.4\n", "row 1 (line 2): 'ms' is above numbers"),
    Ugly("a dash for minus", "option,value,se\nA,–1.5,0.4\n", "If the dash means minus"),
    Ugly(
        "a column for every repeat",
        "alloy;r1;r2\nA;1,5;2,5\n",
        [("A", 2.0, pytest.approx(0.5))],
        ("decimal commas",),
        {"roles": {"option": "alloy", "values": "{r1};{r2}"}},
    ),
    Ugly(
        "shares of trials",
        "option;successes;trials\nA;1 200;2 400\n",
        [("A", 0.5, pytest.approx(0.0102, rel=1e-2))],
    ),
    Ugly("intervals", "option;value;lo;hi\nA;1,5;1,0;2,0\n", [("A", 1.5, pytest.approx(0.2551, rel=1e-3))]),
    Ugly("a variance in per cent", "option,value,var\nA,12%,1%\n", "must hold plain numbers to be var"),
    Ugly(
        "shortened keys",
        "option,value,se,key\nA,1,1,1.23457E+11\n",
        "a long number that a spreadsheet shortened",
    ),
    Ugly("names of nothing", '"",""\n1,2\n', "it needs a header"),
    Ugly("compressed", b"\x1f\x8b\x08" + b"\0" * 9, "'ugly.csv' is compressed"),
]

UGLY = [*PLAIN, *THOUSANDS, *CELLS, *BYTES, *SHAPES, *COLUMNS, *MORE]


def study_for(expected):
    names = {row[0] for row in expected} if isinstance(expected, list) else set()
    return nw.create_study(options=sorted(names | {"A", "B", "C"}), eps=1.0)


def rows_of(study):
    return study.frame("measurements").select("option", "value", "se").rows()


@pytest.mark.parametrize("ugly", UGLY, ids=lambda ugly: ugly.name)
def test_a_table_is_read_right_or_refused_with_its_sentence(tmp_path, ugly):
    path = tmp_path / f"ugly{ugly.ending}"
    content = ugly.content.encode() if isinstance(ugly.content, str) else ugly.content
    path.write_bytes(content)
    study = study_for(ugly.expected)
    if isinstance(ugly.expected, str):
        with pytest.raises((ValueError, KeyError, TypeError)) as refusal:
            study.tell_many(path, **ugly.said)
        assert ugly.expected in str(refusal.value.args[0])
        assert study.n_measurements == 0
        return
    tried = study.tell_many(path, dry_run=True, **ugly.said)
    assert study.n_measurements == 0
    taken = study.tell_many(path, **ugly.said)
    assert rows_of(study) == ugly.expected
    assert len(tried) == len(taken)
    guesses = "; ".join(taken.understood.guesses)
    assert guesses == "; ".join(tried.understood.guesses)
    assert [part for part in ugly.told if part not in guesses] == []


def test_a_plain_table_has_nothing_to_guess(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("option,value,se,key\nA,1.5,0.4,a\nB,2,3e-1,b\n")
    taken = nw.create_study(options=["A", "B"], eps=1.0).tell_many(path)
    assert taken.understood.guesses == []
    assert taken.understood.sentence == ""
