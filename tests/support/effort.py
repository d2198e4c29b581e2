"""How much work tests do: enough for every change in `make test`, all of it in `make test-long`.

Statistical tests take fewer runs in the short suite, and products of settings fewer cells, where the stated
probability of a false alarm still holds and the same code runs. The long suite also runs the tests marked
`long`; the marker names the kind, so that the short suite can count what it leaves out.
"""

import os

#: Whether this is the long suite.
LONG = os.environ.get("NOISEWISE_TESTS") == "long"


def effort(quick, long):
    """Return the first in the short suite and the second in the long one."""
    return long if LONG else quick
