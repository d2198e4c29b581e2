"""Every store keeps every promise, and the suite notices one that does not."""

from contextlib import contextmanager

import pytest

import noisewise as nw
from noisewise.testing import STORAGE_CHECKS, check_storage


@pytest.mark.parametrize("check", STORAGE_CHECKS, ids=lambda check: check.__name__)
def test_the_store_keeps_its_promise(open_storage, check):
    check(open_storage)


class Forgetful(nw.MemoryStorage):
    """Loses the second of two rows."""

    @contextmanager
    def transaction(self, name):
        with super().transaction(name) as transaction:
            yield transaction
            del transaction.added[1:]


class Careless(nw.MemoryStorage):
    """Keeps what was appended before an error."""

    @contextmanager
    def transaction(self, name):
        with super().transaction(name) as transaction:
            try:
                yield transaction
            except ZeroDivisionError:
                self._log(name).extend(transaction.added)
                raise


class Rounding(nw.MemoryStorage):
    """Keeps fifteen digits."""

    def create(self, name, rows):
        super().create(name, [row._replace(record=row.record.replace(b"0000004", b"")) for row in rows])


@pytest.mark.parametrize("store", [Forgetful(), Careless(), Rounding()], ids=lambda s: type(s).__name__)
def test_the_suite_notices(store):
    with pytest.raises((AssertionError, KeyError)):
        check_storage(lambda: store)
