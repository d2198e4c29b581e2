"""NamedTuples as blocks of words: what compiled code and C read is what was put in."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import noisewise.core.native
from noisewise.core.compiler.structs import Struct, packed, type_of
from noisewise.core.model.dense import DenseModel, fold, new_dense

HEADER = Path(noisewise.core.native.__file__).parent / "source" / "arrays.h"
WORDS = {"Matrix": 3, "Floats": 2, "Ints": 2, "Mask": 2}


class Inner(NamedTuple):
    number: float
    rows: np.ndarray


class Outer(NamedTuple):
    flag: bool
    nothing: None
    inner: Inner
    count: int
    mask: np.ndarray
    table: np.ndarray
    out: np.ndarray


def outer():
    inner = Inner(-2.5, np.array([3, 4], np.int64))
    table = np.arange(6.0).reshape(2, 3)
    return Outer(True, None, inner, -7, np.array([True, False, True]), table, np.zeros(8))


class Pair(NamedTuple):
    one: object
    other: object


class Nothing(NamedTuple):
    pass


def some_model(n=40, dim=5):
    columns = np.ascontiguousarray(np.random.default_rng(0).standard_normal((dim, n)))
    model = new_dense(columns, 1.0)
    for action in range(3):
        fold(model, action, 0.5, 0.3)
    return model


def test_a_model_lies_in_memory_as_c_declares_it():
    text = HEADER.read_text()
    body = text[: text.index("} DenseModel;")].rsplit("typedef struct {", 1)[1]
    declared = re.findall(r"^\s*(\w+) (\w+);", body, re.MULTILINE)
    assert [name for _, name in declared] == list(DenseModel._fields)
    kind, words, address = packed(some_model())
    assert address == words.ctypes.data
    assert kind.size == words.size == sum(WORDS[word] for word, _ in declared)
    place = 0
    for word, name in declared:
        array = getattr(some_model(), name)
        assert kind.places[name][0] == place
        assert_array_equal(words[place + 1 : place + WORDS[word]], array.shape)
        place += WORDS[word]


def test_types_are_equal_where_layouts_and_names_are():
    assert type_of(outer()) is type_of(outer())
    assert isinstance(type_of(outer()), Struct)
    other = outer()._replace(count=1.5)
    assert type_of(other) is not type_of(outer())
    assert packed(other).kind is type_of(other)


def test_numbers_take_one_word_each_whatever_their_class():
    class Many(NamedTuple):
        one: object
        nothing: None
        others: tuple

    floats = (1.5, np.float64(-2.0), np.float32(0.25), np.nan)
    whole = (-3, np.int32(7), True, np.bool_(True), np.bool_(False), 2**62)
    words = packed(Many(floats[0], None, Pair(Pair(*floats[1:3]), Pair(*whole[:2])))).words
    assert words[:3].view(np.float64).tolist() == [1.5, -2.0, 0.25]
    assert words[3:].tolist() == [-3, 7]
    for number in whole:
        assert packed(number).words.tolist() == [int(number)]
    assert np.isnan(packed(floats[3]).words.view(np.float64)[0])
    assert packed(Nothing()).words.size == 1
    with pytest.raises(OverflowError):
        packed(2**63)


def test_an_array_out_of_line_is_refused_even_where_its_type_is_known():
    packed(Pair(np.zeros(4), 1))
    with pytest.raises(ValueError, match="arrays in C order"):
        packed(Pair(np.zeros(33, np.uint8)[1:].view(np.float64), 1))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((4, 6))[:, ::2], "arrays in C order; got one with shape"),
        (np.zeros(4, ">f8"), "arrays in C order"),
        ("text", "NamedTuples of numbers and arrays alone"),
    ],
)
def test_what_cannot_be_read_is_refused(table, message):
    with pytest.raises((ValueError, TypeError), match=message):
        packed(outer()._replace(table=table))
