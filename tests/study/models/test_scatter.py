"""Standard errors where none were told: they do not depend on the unit of the values."""

import pytest
from tests.support.studies_in_time import study_at

import noisewise as nw

NAMES = ["A", "B", "C", "D"]
VALUES = [("B", 0.4), ("A", 1.3), ("C", -0.7), ("B", 0.9), ("D", 0.1), ("C", 0.2)]
#: Error bars of which nothing, or little, is known at first.
TOLD = {
    "values alone": {},
    "equal readings": {"sd": 0.0, "n": 2},
    "readings": {"sd": 0.3, "n": 2},
    "in a block": {"block": "Tue"},
    "of an instrument": {"instrument": "scale", "sd": 0.0, "n": 2},
}
QUESTIONS = {
    "eps": {"eps": 0.5},
    "pooled": {"eps": 0.5, "errors": nw.Errors(scatter="pooled")},
    "own": {"eps": 0.5, "errors": nw.Errors(scatter="own")},
    "estimated": {"eps": 0.5, "errors": nw.Errors(extra="estimate")},
    "vage": {"eps": 0.5, "policy": "vage"},
}


def answers(unit, question, error_bar):
    """What a study says after each measurement, its numbers in the unit of the values."""

    def scaled(stated):
        return {name: x * unit if name in ("eps", "sd", "value") else x for name, x in stated.items()}

    study = study_at(lambda: 1.7e9, options=NAMES, **scaled(question))
    found, errors = [], []
    for name, value in VALUES:
        study.tell(option=name, **scaled({"value": value, **error_bar}))
        certificate, asked = study.certificate(), study.ask(2, dry_run=True)
        found.append((certificate.option, certificate.verdict, [job.option for job in asked]))
        errors += [-1.0 if se is None else se / unit for se in study.frame("options")["se"]]
    return found, errors


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("error_bar", TOLD)
def test_leader_suggestions_and_error_bars_do_not_depend_on_the_unit(question, error_bar):
    right, errors = answers(1.0, QUESTIONS[question], TOLD[error_bar])
    for unit in (2.0**12, 2.0**-12):
        found, others = answers(unit, QUESTIONS[question], TOLD[error_bar])
        assert found == right
        assert others == pytest.approx(errors, rel=1e-5)
