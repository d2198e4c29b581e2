"""All models by name: every module of `noisewise.study.models.kinds` is loaded and registers its class."""

import importlib
import pkgutil

from noisewise.study.log.model_choice import add_model
from noisewise.study.log.state import State
from noisewise.study.models import kinds
from noisewise.study.models.study_model import StudyModel

_CLASSES: dict[str, type[StudyModel]] = {}


def register(model: type[StudyModel]) -> None:
    """Make a model known by its name."""
    _CLASSES[model.facts.name] = model
    add_model(model.facts)


def model_of(state: State) -> StudyModel:
    """The present model of a study."""
    return _CLASSES[state.model.facts.name](state)


def _load_all() -> None:
    for found in pkgutil.iter_modules(kinds.__path__):
        register(importlib.import_module(f"{kinds.__name__}.{found.name}").MODEL)


_load_all()
