"""The page of the evidence says what the code does: weights, shares of the error probability, kinds."""

import re
from pathlib import Path

import pytest

import noisewise.study.models.option_evidence  # noqa: F401 - it knows every kind
from noisewise.study.evidence import counts, known, levels
from noisewise.study.evidence.kind import Kind
from noisewise.study.models import boundary
from noisewise.study.models.boundary import Shares

PAGE = (Path(__file__).parents[3] / "docs" / "evidence.md").read_text("utf-8")


def share(row):
    """The first percentage in a row of the table of shares."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {row}")]
    return float(re.search(r"\| ([\d.]+) %", line)[1]) / 100.0


def test_shares_are_those_of_the_code_and_add_up_to_all():
    usual = Shares(0.05, n_first=5, n_now=5, changed=False)
    rows = {
        "comparisons (α above)": usual.comparing,
        "upper limits of scatter": boundary.LIMITS,
        "the cap on evidence": boundary.CAPPED,
        "options that blocks or differences connect": boundary.CONNECTED,
        "comparisons once options were excluded": boundary.CHANGED,
        "comparisons with options added later": boundary.ADDED,
    }
    assert {row: share(row) for row in rows} == pytest.approx(rows)
    assert sum(share(row) for row in rows) == pytest.approx(1.0)
    sizes = usual._replace(limits=boundary.LIMITS_OF_SIZES)
    said = f"{100.0 * sizes.limits:g} % where sizes are estimated, and {100.0 * sizes.comparing:g} % for comp"
    assert said in PAGE
    assert f"| {100.0 * usual.comparing:g} % | {100.0 * boundary.COMPARING:g} % |" in PAGE


def test_weights_and_ladders_are_those_of_the_code():
    assert "With a fixed weight w, here 2/3," in PAGE
    assert pytest.approx(2.0 / 3.0) == levels.CHOSEN
    assert ", ".join(f"{weight:g}" for weight in known.WEIGHTS) in " ".join(PAGE.split())
    assert known.SCALES.tolist() == [4.0, 0.4, 0.04, 4e-3, 4e-4, 4e-5, 4e-7, 4e-9, 4e-12]
    assert "`ρ·eps² = 4, 0.4, …, 4e-5, 4e-7, 4e-9, 4e-12`" in PAGE
    assert known.WEIGHTS.sum() == pytest.approx(1.0)
    assert (counts.TOP, counts.RATIO, counts.LEAST, counts.USUAL) == (3.0, 1.6, 0.9, 8.0)
    assert "θ = -3, -3/1.6, -3/1.6², … down to 0.9 `eps`" in PAGE
    assert "Tilts around 8 `eps` have the largest weights" in PAGE


def test_every_kind_of_evidence_is_in_the_first_table():
    table = PAGE[PAGE.index("| what you have |") : PAGE.index("A certificate names the kinds")]
    kinds, found = [], [Kind]
    while found:
        found = [kind for one in found for kind in one.__subclasses__()]
        kinds += [kind.name for kind in found if kind.__module__.startswith("noisewise.")]
    assert len(kinds) >= 5
    for name in [*kinds, "paired items", "contrasts", "features"]:
        assert f"| {name} (" in table, name
