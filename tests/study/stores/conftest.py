"""Stores to test with; PostgreSQL runs in the long suite, where its server is installed."""

import os

import pytest
from tests.support.postgres import NoPostgresError, running_server

import noisewise as nw


@pytest.fixture(scope="session")
def postgres():
    """A server of our own."""
    try:
        context = running_server()
        server = context.__enter__()
    except NoPostgresError as reason:
        if os.environ.get("NOISEWISE_NEEDS_POSTGRES"):
            raise
        pytest.skip(f"no PostgreSQL server: {reason}")
    yield server
    context.__exit__(None, None, None)


DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.long("PostgreSQL"))]


def handles(request, tmp_path):
    """A function that opens handles to one store of the kind that a fixture's parameter names."""
    if request.param == "memory":
        store = nw.MemoryStorage()
        yield lambda: store
        return
    address = tmp_path / "studies.db"
    if request.param == "postgresql":
        address = request.getfixturevalue("postgres").address
    opened = []

    def open_one(**options):
        opened.append(nw.open_store(address, create=True, **options))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture(params=["memory", *DATABASES])
def open_storage(request, tmp_path):
    """Opens handles to one store, of each kind."""
    yield from handles(request, tmp_path)


@pytest.fixture(params=DATABASES)
def open_database(request, tmp_path):
    """Opens handles to one store, of each kind that is a database."""
    yield from handles(request, tmp_path)
