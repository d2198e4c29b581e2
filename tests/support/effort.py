"""How much tests do: enough for every change in `make test`, all of it in `make test-long`.

Statistical tests take fewer runs, and products of settings fewer cells, where the stated probability of a
false alarm holds all the same and the same code is gone through. What is found later that way is a smaller
error: the long run, which also has the tests marked `long`, looks for it every night.
"""

import os

#: Whether this is the long run.
LONG = os.environ.get("NOISEWISE_TESTS") == "long"


def effort(quick, long):
    """One of two numbers, or lists, of whatever a test goes through."""
    return long if LONG else quick
