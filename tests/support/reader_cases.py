"""The good file of every reader, as its ``case.json`` names it."""

import json
from pathlib import Path

from noisewise.readers import get
from noisewise.testing.damaged_files import changed_json as changed_json
from noisewise.testing.reader_contract import ReaderCase

FIXTURES = Path(__file__).parents[1] / "study" / "readers" / "fixtures"


def fixture(*names):
    return FIXTURES.joinpath(*names)


def case_of(name):
    """``{"file": "results.json", "choices": {}, "study": {"bounds": [0, 1]}}``, as `check_reader` has it."""
    said = json.loads((FIXTURES / name / "case.json").read_text(encoding="utf-8"))
    study = {"eps": 0.1, **said.get("study", {})}
    return ReaderCase(get(name), FIXTURES / name / said["file"], said.get("choices", {}), study)
