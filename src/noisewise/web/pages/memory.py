"""What was computed for pages, kept until the log goes on."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from noisewise.study.study import Study
from noisewise.web.pages.views.course import CourseSoFar

#: Studies whose pages are remembered.
MOST = 64
Made = TypeVar("Made")


class PageMemory:
    """By study: what belongs to its present log, and the course of its bound, which outlives it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_name: OrderedDict[str, tuple[str, dict[str, Any], CourseSoFar]] = OrderedDict()

    def course(self, study: Study) -> CourseSoFar:
        """How the bound of a study fell, as far as it was computed."""
        return self._entry(study)[2]

    def of(self, study: Study, what: str, make: Callable[[], Made]) -> Made:
        """Something that follows from the log alone; made anew when that goes on."""
        made = self._entry(study)[1]
        if what not in made:
            made[what] = make()
        found: Made = made[what]
        return found

    def knows(self, study: Study, what: str) -> bool:
        """Whether something was made since the log went on."""
        return what in self._entry(study)[1]

    def _entry(self, study: Study) -> tuple[str, dict[str, Any], CourseSoFar]:
        with self._lock:
            head, name = study.head, study.name
            entry = self._by_name.get(name)
            if entry is None or entry[0] != head:
                entry = self._by_name[name] = (head, {}, CourseSoFar() if entry is None else entry[2])
            self._by_name.move_to_end(name)
            while len(self._by_name) > MOST:
                self._by_name.popitem(last=False)
            return entry
