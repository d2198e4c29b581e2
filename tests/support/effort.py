"""How much work tests do: enough for every change in `make test`, all of it in `make test-long`.

Statistical tests take fewer runs in the short suite, and products of settings fewer cells, where the stated
probability of a false alarm still holds and the same code runs. The long suite also runs the tests marked
`long`; the marker names the kind, so that the short suite can count what it leaves out.
"""

import os

import pytest

#: Whether this is the long suite.
LONG = os.environ.get("NOISEWISE_TESTS") == "long"


def effort(quick, long):
    """Return the first in the short suite and the second in the long one."""
    return long if LONG else quick


def long_beyond(count, values, kind):
    """Return the values as parameters of a test, those beyond the first ``count`` for the long suite only."""
    values = [value if isinstance(value, tuple) else (value,) for value in values]
    marks = [()] * count + [pytest.mark.long(kind)] * (len(values) - count)
    return [pytest.param(*value, marks=mark) for value, mark in zip(values, marks, strict=True)]
