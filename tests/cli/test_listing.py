"""``list``: where each study of a store stands, at a glance and as JSON."""

import pytest
from tests.support.commands import plain, run

import noisewise as nw
from noisewise.operations import look as listing


@pytest.fixture
def store(tmp_path):
    """One study that may stop, one that may not, one that contradicts itself, one without results."""
    path = tmp_path / "s.db"
    for name, values in {
        "done": {"A": [1.0], "B": [5.0]},
        "open": {"A": [1.0], "B": [1.1]},
        "odd": {"A": [1.0, 9.0, -7.0], "B": [5.0, 50.0]},
        "new": {},
    }.items():
        study = nw.create_study(path, name=name, options=["A", "B"], eps=0.5)
        for option, told in values.items():
            for value in told:
                study.tell(option=option, value=value, se=0.1 if name != "open" else 1.0)
    return path


def test_each_study_shows_its_state_leader_bound_and_count(store):
    states = {row["name"]: row for row in plain("list", store)["states"]}
    assert [states[name]["state"] for name in ("done", "open", "odd", "new")] == [
        "ready", "not yet", "withheld", "no results",
    ]  # fmt: skip
    assert (states["done"]["leader"], states["done"]["measurements"]) == ("B", 2)
    certificate = nw.load_study(store, "open").certificate()
    assert (states["open"]["leader"], states["open"]["bound"]) == (certificate.option, certificate.bound)
    # Nothing is claimed where the certificate is withheld.
    assert (states["odd"]["leader"], states["odd"]["bound"]) == (None, None)
    assert states["new"]["last_change"] is None
    assert states["done"]["last_change"].endswith("Z")


def test_certificates_are_left_out_on_demand_and_when_they_take_long(store, monkeypatch):
    quick = plain("list", store, "--quick")
    assert [row["state"] for row in quick["states"]] == [None] * 4
    assert sorted(row["measurements"] for row in quick["states"]) == [0, 2, 2, 5]
    monkeypatch.setattr(listing, "PATIENCE", -1.0)
    said = run("list", store).stdout
    assert "4 without a certificate, which takes long" in said
    assert said.count("…") >= 12
    assert "which takes long" not in run("list", store, "--quick").stdout


def test_a_study_that_cannot_be_read_does_not_hide_the_others(store, monkeypatch):
    load = nw.load_study

    def broken(place, name=None, **more):
        if name == "open":
            raise ValueError("it is damaged.")
        return load(place, name, **more)

    monkeypatch.setattr(nw, "load_study", broken)
    states = {row["name"]: row for row in plain("list", store)["states"]}
    assert (states["open"]["state"], states["open"]["problem"]) == ("unreadable", "it is damaged.")
    assert states["done"]["state"] == "ready"
    assert "unreadable" in run("list", store).stdout
