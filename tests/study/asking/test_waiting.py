"""Asking while error bars are waited for: nothing is certified yet, and suggestions are made all the same."""

import pytest

import noisewise as nw


@pytest.mark.parametrize("told", [{"value": 1.0}, {"values": [1.0, 1.2]}])
@pytest.mark.parametrize("where", [{}, {"block": "Tue"}])
def test_several_are_asked_for_after_a_measurement_without_an_error_bar(told, where):
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    study.tell(option="A", **told)
    study.tell(option="B", value=1.0)
    jobs = [*study.ask(2, **where), *study.ask(**where)]
    # The first result of C is waited for; the others go elsewhere.
    assert [job.option for job in jobs].count("C") == 1
    assert nw.load_study(study._storage).ask(dry_run=True)[0].option in "ABC"
