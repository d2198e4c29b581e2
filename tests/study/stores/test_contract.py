"""Every store keeps every promise, and the suite notices one that does not."""

import pytest

import noisewise as nw
from noisewise.testing import STORAGE_CHECKS, check_storage


@pytest.mark.parametrize("check", STORAGE_CHECKS, ids=lambda check: check.__name__)
def test_the_store_keeps_its_promise(open_storage, check):
    check(open_storage)


def test_postgresql_keeps_every_promise(postgres):
    """In one test, so that a run starts one server."""
    opened = []

    def open_one(**options):
        opened.append(nw.open_store(postgres.address, create=True, **options))
        return opened[-1]

    check_storage(open_one)
    for store in opened:
        store.close()


class Forgetful(nw.MemoryStorage):
    """Loses the second of two events."""

    def append(self, name, after, events):
        super().append(name, after, events[:1])


class Careless(nw.MemoryStorage):
    """Does not look whether the place is taken."""

    def append(self, name, after, events):
        super().append(name, len(self._logs[name]), [e._replace(number=len(self._logs[name]) + 1 + i) for i, e in enumerate(events)])  # fmt: skip  # noqa: E501


class Rounding(nw.MemoryStorage):
    """Keeps fifteen digits."""

    def create(self, name, specification):
        def rounded(x):
            if isinstance(x, list):
                return [rounded(y) for y in x]
            return round(x, 10) if isinstance(x, float) else x

        super().create(name, {key: rounded(value) for key, value in specification.items()})


@pytest.mark.parametrize("store", [Forgetful(), Careless(), Rounding()], ids=lambda s: type(s).__name__)
def test_the_suite_notices(store):
    with pytest.raises((AssertionError, KeyError)):
        check_storage(lambda: store)
