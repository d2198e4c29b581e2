"""Studies whose time comes from a clock of the test."""

from collections.abc import Callable
from typing import Any

from noisewise.study.creation import begin_study
from noisewise.study.study import Study


def study_at(
    clock: Callable[[], float], store: Any = ":memory:", *, name: str = "study", **asked: Any
) -> Study:
    """A new study; all else is as in `create_study`."""
    return begin_study(store, name, clock, **asked)
