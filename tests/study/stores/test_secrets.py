"""Passwords and other secrets of an address are in no message, no repr and no log."""

import logging

import pytest

import noisewise as nw
from noisewise.study.stores.secrets import without_secrets


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hunter2@/nowhere?host={place}",
        "postgresql://me@/nowhere?host={place}&password=hunter2",
        "postgresql://me@/nowhere?password=hunter2&host={place}&sslpassword=hunter2",
        "mysql://root:hunter2@host/db",
        "postgresql+asyncpg://root:hunter2@host/db?password=hunter2",
    ],
)
def test_a_password_is_nowhere(address, tmp_path, caplog):
    with caplog.at_level(logging.DEBUG), pytest.raises((OSError, ValueError)) as caught:
        nw.load_study(address.format(place=tmp_path), timeout=1.0)
    chain, problem = [], caught.value
    while problem is not None:
        chain.append(f"{problem} {problem!r}")
        problem = problem.__cause__
    assert "hunter2" not in " ".join(chain)
    assert "hunter2" not in caplog.text


@pytest.mark.long("PostgreSQL")
def test_an_open_store_shows_its_address_without_secrets(postgres):
    address = f"{postgres.address}&password=hunter2"
    store = nw.open_store(address, create=True)
    assert "hunter2" not in repr(store)
    assert "host=" in repr(store)
    nw.open_store(address).names()
    store.close()


def test_texts_without_addresses_stay_as_they_are():
    for text in (
        "teas.db",
        "C:\\data\\teas.db",
        "sqlite:///teas.db",
        "postgresql://me@host/db?sslmode=require",
    ):
        assert without_secrets(text) == text
    assert without_secrets("postgresql://me:a@b@host/db?x=1") == "postgresql://me:***@host/db?x=***"
