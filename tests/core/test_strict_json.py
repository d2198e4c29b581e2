"""JSON is read without duplicate names, in time linear in its size."""

import json

import pytest

from noisewise.core import strict_json
from noisewise.core.strict_json import DuplicateNameError, parse_json


class CountedName(str):
    """A name that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        CountedName.compared += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 3}', '[{"x": {"a": 1, "a": 1}}]'])
def test_a_duplicate_name_is_refused(text):
    with pytest.raises(DuplicateNameError, match=r"^a$"):
        parse_json(text)


def test_everything_else_is_read_as_json_reads_it():
    text = '{"a": [1, 2.5, null, true], "b": {"a": "x"}, "c": {}}'
    assert parse_json(text) == json.loads(text)
    with pytest.raises(json.JSONDecodeError):
        parse_json("{")


def test_a_duplicate_among_many_names_takes_linear_time():
    names = [CountedName(f"n{k}") for k in range(5000)]
    names.append(CountedName("n4999"))
    CountedName.compared = 0
    with pytest.raises(DuplicateNameError):
        strict_json._unique([(name, 0) for name in names])
    assert CountedName.compared < 10 * len(names)
