"""Asking while measurements are under way."""

import pytest

import noisewise as nw


@pytest.mark.parametrize("model", ["independent", "linear", "linear+deviation"])
def test_while_standard_errors_are_waited_for_what_is_under_way_is_no_obstacle(model):
    table = {"id": ["A", "B", "C"]}
    features = {} if model == "independent" else {"x": [0.0, 0.5, 1.0]}
    size = {"deviation": 0.3} if model == "linear+deviation" else {}
    study = nw.create_study(options=table | features, model=model, eps=0.1, span=5.0, **size)
    for option, value in (("A", 1.0), ("B", 2.0), ("C", 1.5)):
        for repeat in (0.0, 0.1):
            study.tell(option=option, value=value + repeat)  # without error bars
    assert "degrees of freedom" in study.certificate().withheld[0]
    asked = [study.ask()[0] for _ in range(3)]
    assert len(study.pending) == 3
    assert not any("fall" in job.why for job in asked)  # there is no bound yet


def test_first_looks_go_to_different_options_also_where_sizes_are_to_be_estimated():
    table = {"id": list("ABCDEF"), "x": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]}
    study = nw.create_study(options=table, model="linear+deviation", deviation="estimate", span=5.0, eps=0.1)
    asked = study.ask(4, dry_run=True)
    assert len({job.option for job in asked}) == 4
    assert not any(": ," in job.why for job in asked)
