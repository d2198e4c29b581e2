"""A store with studies in every state, made once and copied for tests that change it."""

import shutil

import pytest
from tests.support.page_worlds import filled_store


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "team.db"
    filled_store(path).close()
    return path


@pytest.fixture
def place(filled, tmp_path):
    return shutil.copy(filled, tmp_path / "team.db")
