"""What a command printed, as a result, and what is refused."""
# ruff: noqa: E501 - tables of texts and sentences

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.cli.run_command import SAYABLE, read_printed
from noisewise.study.running.crews import NoResultError


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("12.3", 12.3),
        ("  -1e-3\n\n", -0.001),
        ("12.3(4)", (12.3, pytest.approx(0.4))),
        ("12.34(15)\n", (12.34, pytest.approx(0.15))),
        ("1234(12)e-2", (pytest.approx(12.34), pytest.approx(0.12))),
        ("12.3 ± 0.4", (12.3, 0.4)),
        ("12.3+-0.4", (12.3, 0.4)),
        ("12.3 +/- 0.4", (12.3, 0.4)),
        ("loading\nepoch 1: 0.3\n42\ndone.\n0.91\n", 0.91),
        ("10 %\r20 %\r0.91", 0.91),
        ("\ufeff0.5\r\n", 0.5),
        ('{"value": 1, "se": 0.1}', {"value": 1, "se": 0.1}),
        ('log {\nmore }\n{\n  "values": [1,\n 2],\n  "note": "a}"\n}\n', {"values": [1, 2], "note": "a}"}),
        ('{"level": "info", "msg": "x"}\n{"value": 2}', {"value": 2}),
        ('0.5\n{"successes": 4, "trials": 5}', {"successes": 4, "trials": 5}),
    ],
)
def test_the_end_of_the_output_is_the_result(text, result):
    assert read_printed(text) == result


def test_values_of_the_items_that_were_asked_for_may_stand_alone():
    assert read_printed('{"q1": 1, "value": 0}', ["q1", "value"]) == {"items": {"q1": 1, "value": 0}}
    assert read_printed('{"items": {"q1": 1}}', ["q1"]) == {"items": {"q1": 1}}
    assert read_printed('{"value": 1}', ["q1"]) == {"value": 1}


WAYS = 'print a number, 12.3(4), 12.3 ± 0.4, or JSON such as {"value": 12.3, "se": 0.4} at the end'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", f"its output is empty: {WAYS}"),
        (" \n\n", f"its output is empty: {WAYS}"),
        ("accuracy: 0.9", f"the last line of its output is 'accuracy: 0.9', which is not a number alone: {WAYS}"),
        ("0.9\nDone.", "the last line of its output is 'Done.', which is not a number alone"),
        ("12,3", "which is not a number alone: write numbers with a point: 12.3"),
        ("1,234", "write it without a comma, 1234 or 1.234, whichever is meant"),
        ("12.3 0.4", "which is not a number alone"),
        ("12.3 ms", "which is not a number alone"),
        ("12.3 ± 3 %", "which is not a number alone"),
        ("0x10", "which is not a number alone"),
        ("1_000", "which is not a number alone"),
        ("12.3(4", "which is not a number alone"),
        ("� 7", "which is not UTF-8"),
        ("[1, 2]", "the last line of its output is '[1, 2]', a list: print {\"values\": [...]} if these are readings"),
        ("1\n2\n3", "its output ends with several numbers, '2' and '3': for readings print JSON, "
         '{"values": [...]}; else print the result alone'),
        ("1 ± 1\n\n2(1)", "its output ends with several numbers"),
        ("}", "its output ends like JSON and is none (no line begins with {)"),
        ('{"value": }', "its output ends like JSON and is none (Expecting value"),
        ('{"value": 1, "value": 2}', "('value' appears twice in it)"),
        ('{"value": 1}\n{"value": 2}', "its output has 2 results, '{\"value\":"),
        ('{"value": 1, "key": "x"}', f"it said 'key', which the run says itself: leave it out ({', '.join(SAYABLE)})"),
        ('{"value": 1, "by": "x"}', "it said 'by'"),
        ('{"a":' * 100_000 + "}" * 100_000, "its output ends like JSON and is none"),
        ("\x1b[31mred", "x1b[31mred'"),
    ],
)  # fmt: skip
def test_what_is_no_result_or_several_is_refused_in_one_sentence(text, said):
    with pytest.raises(NoResultError, match=re.escape(said)):
        read_printed(text)


@given(
    st.integers(-(10**9), 10**9), st.integers(0, 8), st.integers(1, 10**6), st.sampled_from(["", "e3", "e-7", "E+2"])
)  # fmt: skip
def test_the_error_in_the_last_digits_is_that_of_the_last_digits(digits, decimals, error, power):
    """12.34(5) is 12.34 with a standard error of 0.05."""
    sign, whole = ("-" if digits < 0 else ""), str(abs(digits)).zfill(decimals + 1)
    number = whole if not decimals else f"{whole[:-decimals]}.{whole[-decimals:]}"
    value, se = read_printed(f"log\n{sign}{number}({error}){power}\n")
    scale = 10.0 ** (int(power[1:] or 0) - decimals)
    assert value == pytest.approx(digits * scale, rel=1e-12, abs=0)
    assert se == pytest.approx(error * scale, rel=1e-12)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e300, exclude_min=True))
def test_a_number_comes_back_to_the_last_digit(value, se):
    assert read_printed(f"{value!r}\n") == value
    assert read_printed(f"{value!r} ± {se!r}") == (value, se)
    assert read_printed(json.dumps({"value": value, "se": se}, indent=2)) == {"value": value, "se": se}


@given(st.text())
def test_whatever_is_printed_is_a_result_or_one_sentence(text):
    try:
        found = read_printed(text)
    except NoResultError:
        return
    parts = found if isinstance(found, tuple) else (found,)
    assert isinstance(found, dict) or all(isinstance(part, float) for part in parts)


def test_what_is_not_a_number_by_name_is_left_to_the_study_to_refuse():
    assert math.isnan(read_printed("nan"))
