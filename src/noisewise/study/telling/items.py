"""Items as people hand them in and as a log keeps them: pools, orders, places and values.

A log keeps the values of many items as one text: ``"1101"`` if all are 0 or 1, else numbers with blanks
between them; and which items they belong to as places in the order that all options share, from 1, such as
``"1-50,101-120"``.
"""

import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count
from noisewise.core.text import check_text, check_texts, printable

Places = NDArray[np.int64]
#: The most items of a pool.
MOST_ITEMS = 10_000_000
#: Values are compared with the ends of their range up to rounding.
_RANGES = re.compile(r"\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*")


def check_pool(items: Any) -> list[str] | int | None:
    """The pool that a study is made with: names, a number n for "1" to "n", or None."""
    if items is None:
        return None
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        count = check_count("items", items) if not isinstance(items, str | bytes | Mapping) else 0
        if not 0 < count <= MOST_ITEMS:
            raise ValueError(
                f"the pool of items must be a list of names, or how many items there are, at most "
                f"{MOST_ITEMS:,}; "
                f"got {items!r}."
            )
        return count
    given = list(itertools.islice(items, MOST_ITEMS + 1))
    if not 0 < len(given) <= MOST_ITEMS:
        said = "none" if not given else "more"
        raise ValueError(f"the pool of items must be a list of 1 to {MOST_ITEMS:,} names; got {said}.")
    names = [
        name if type(name) is str and name.isascii() and name == name.strip() and name else item_name(name)
        for name in given
    ]
    check_texts("items", names)
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the pool of items must name each item once; got {printable(twice)!r} twice.")
    return names


def item_name(name: Any) -> str:
    """The name of an item; whole numbers, such as seeds, are named by their digits."""
    if isinstance(name, float | bool) or name is None:
        raise TypeError(f"an item must be named by a text or a whole number; got {name!r}.")
    return check_text("item", name)


def pool_names(pool: Sequence[str] | int) -> list[str]:
    """The names of a pool in the order of the list."""
    return [str(number) for number in range(1, pool + 1)] if isinstance(pool, int) else list(pool)


def shuffled(names: Iterable[str], seed: int) -> list[str]:
    """The names in a random order that seed and names decide, on any machine and in any version."""
    key = b"noisewise items " + str(seed).encode()

    def rank(name: str) -> bytes:
        return hashlib.blake2b(name.encode(), key=key[:64], digest_size=16).digest()

    return sorted(names, key=rank)


def write_places(places: Places) -> str:
    """Places (from 0, rising) as a text of ranges (from 1)."""
    starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    ends = np.append(starts[1:], places.size) - 1
    pairs = zip((places[starts] + 1).tolist(), (places[ends] + 1).tolist(), strict=True)
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in pairs)


def read_places(text: Any, count: int) -> Places:
    """Places from 0 of a text of ranges, which must be ``count`` rising ones."""
    places = read_ranges(text) - 1
    if places.size != count:
        raise ValueError(f"places {text[:60]!r} are not {count} rising ones")
    return places


def read_ranges(text: Any) -> Places:
    """Rising numbers from 1 of a text such as ``"1-50,101"``."""
    if type(text) is not str or not _RANGES.fullmatch(text):
        raise ValueError(f"places {str(text)[:60]!r} are not ranges such as 1-50")
    pairs = [tuple(map(int, part.split("-"))) for part in text.split(",")]
    ends = [(pair[0], pair[-1]) for pair in pairs]
    rising = all(first <= last for first, last in ends) and ends[0][0] >= 1
    rising = rising and all(one[1] < other[0] for one, other in itertools.pairwise(ends))
    if not rising or sum(last - first + 1 for first, last in ends) > MOST_ITEMS:
        raise ValueError(f"places {text[:60]!r} are not rising ones")
    return np.concatenate([np.arange(first, last + 1) for first, last in ends])


def write_values(values: Floats) -> str:
    """Values as a text."""
    if np.isin(values, (0.0, 1.0)).all():
        return (values.astype(np.uint8) + ord("0")).tobytes().decode("ascii")
    return " ".join([repr(int(value)) if value.is_integer() else repr(value) for value in values.tolist()])


def read_values(text: Any, count: int) -> Floats:
    """The ``count`` values of a text."""
    if type(text) is not str:
        raise ValueError(f"its items are {type(text).__name__}, not a text of values")
    if len(text) == count and not text.strip("01"):
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8).astype(np.float64) - ord("0")
    values = np.array([float(part) for part in text.split(" ")])
    if values.size != count:
        raise ValueError(f"it has {values.size} values for {count} items")
    return values
