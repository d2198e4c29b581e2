"""The state of a study: a function of its specification and its log, built by applying events in order."""

import itertools
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import numpy as np

from noisewise.core.model import Floats
from noisewise.study.measurements import NOBODY, Measurements
from noisewise.study.modelling import ModelChoice
from noisewise.study.specification import PolicyChoice, Specification
from noisewise.study.storage import Event
from noisewise.study.whitening import Whitening, whiten

OPEN, TOLD, FAILED, RELEASED = "open", "told", "failed", "released"


@dataclass(frozen=True)
class Job:
    """A suggestion: what to measure next, and why. It is yours until it expires."""

    id: str
    option: str
    why: str
    expires: datetime
    sigma: float | None = None
    by: str | None = None
    status: str = OPEN

    def __repr__(self) -> str:
        return f"Job({self.id}: measure {self.option}, until {self.expires:%Y-%m-%d %H:%M} UTC; {self.why})"


class State:
    """Everything that the log says, ready to be used."""

    def __init__(self, specification: Specification) -> None:
        catalogue = specification.catalogue
        self.specification = specification
        self.n_events = 0
        self.ids = list(catalogue.ids)
        self.index = {option: row for row, option in enumerate(self.ids)}
        self.costs = None if catalogue.costs is None else list(catalogue.costs)
        self.n_first = len(self.ids)
        self.whitening: Whitening | None = whiten(catalogue) if catalogue.features else None
        self._features: Floats | None = self.whitening.apply(catalogue.values) if self.whitening else None
        self.model = specification.first_model
        self.switched: int | None = None  # measurements that had been told when the model was last changed
        self.excluded: dict[int, str] = {}
        self.changed = False
        self.measurements = Measurements()
        self.told: list[dict[str, Any]] = []  # the present content of each measurement
        self.superseded: dict[int, list[dict[str, Any]]] = {}  # what it was before it was amended
        self.voided: dict[int, str] = {}
        self.keys: dict[str, int] = {}
        self.pairs: set[tuple[int, int]] = set()
        self.jobs: dict[str, Job] = {}
        self.policy: PolicyChoice = specification.policy
        self._by_name = np.empty(0, dtype=np.int64)

    def apply(self, event: Event) -> None:
        """Let one event happen."""
        happen = getattr(self, f"_on_{event.kind}", None)
        if happen is None:
            raise ValueError(
                f"event {event.number} of this study is of a kind that this noisewise does not know, "
                f"{event.kind!r}: upgrade noisewise. Nothing was changed."
            )
        happen(event.body, event)
        self.n_events = event.number

    @property
    def features(self) -> Floats | None:
        """The whitened features, (n, rank), if the present model uses them."""
        return self._features if self.model.uses_features else None

    def apply_all(self, events: list[Event]) -> None:
        """Let many events happen; runs of measurements are entered together."""
        for kind, run in itertools.groupby(events, key=attrgetter("kind")):
            together = list(run)
            if kind == "tell":
                self._tell_all([event.body for event in together])
            else:
                for event in together:
                    self.apply(event)
            self.n_events = together[-1].number

    def by_name(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The options in the order of their names, (n,): ties between them are broken by it."""
        if self._by_name.size != len(self.ids):
            self._by_name = np.array(sorted(range(len(self.ids)), key=self.ids.__getitem__), dtype=np.int64)
        return self._by_name

    def allowed(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which options are not excluded, (n,)."""
        mask = np.ones(len(self.ids), dtype=bool)
        mask[list(self.excluded)] = False
        return mask

    def open_jobs(self, now: float) -> list[Job]:
        """Suggestions that are under way."""
        return [job for job in self.jobs.values() if job.status == OPEN and job.expires.timestamp() > now]

    def _rows(self, body: dict[str, Any]) -> tuple[int, int]:
        minus = body.get("minus")
        return self.index[body["option"]], NOBODY if minus is None else self.index[minus]

    def _on_tell(self, body: dict[str, Any], event: Event) -> None:
        self._tell_all([body])

    def _tell_all(self, bodies: list[dict[str, Any]]) -> None:
        index = self.index
        plus = [index[body["option"]] for body in bodies]
        minus = [index[body["minus"]] if "minus" in body else NOBODY for body in bodies]
        self.measurements.extend(plus, minus, bodies)
        first = len(self.told) + 1
        self.told.extend(bodies)
        self.keys.update((body["key"], first + i) for i, body in enumerate(bodies) if "key" in body)
        self.pairs.update(
            (min(pair), max(pair)) for pair in zip(plus, minus, strict=True) if pair[1] != NOBODY
        )
        for body in bodies:
            if "job" in body:
                self._close(body["job"], TOLD)

    def _on_ask(self, body: dict[str, Any], event: Event) -> None:
        expires = datetime.fromtimestamp(body["expires"], UTC)
        parts = {name: body.get(name) for name in ("id", "option", "why", "sigma", "by")}
        self.jobs[body["id"]] = Job(**parts, expires=expires)  # type: ignore[arg-type]

    def _on_fail(self, body: dict[str, Any], event: Event) -> None:
        self._close(body["job"], FAILED)

    def _on_release(self, body: dict[str, Any], event: Event) -> None:
        self._close(body["job"], RELEASED)

    def _close(self, job: str, status: str) -> None:
        self.jobs[job] = replace(self.jobs[job], status=status)

    def _on_void(self, body: dict[str, Any], event: Event) -> None:
        self.measurements.void(body["number"])
        self.voided[body["number"]] = body["reason"]

    def _on_amend(self, body: dict[str, Any], event: Event) -> None:
        content = body["content"]
        plus, minus = self._rows(content)
        self.measurements.replace(body["number"], plus, minus, content)
        self.superseded.setdefault(body["number"], []).append(self.told[body["number"] - 1])
        self.told[body["number"] - 1] = content
        if minus != NOBODY:
            self.pairs.add((min(plus, minus), max(plus, minus)))

    def _on_exclude(self, body: dict[str, Any], event: Event) -> None:
        self.excluded[self.index[body["option"]]] = body["reason"]
        self.changed = True

    def _on_include(self, body: dict[str, Any], event: Event) -> None:
        del self.excluded[self.index[body["option"]]]

    def _on_add(self, body: dict[str, Any], event: Event) -> None:
        for option in body["ids"]:
            self.index[option] = len(self.ids)
            self.ids.append(option)
        if self.costs is not None:
            self.costs += body["costs"]
        if self.whitening is not None and self._features is not None:
            added = self.whitening.apply(np.array(body["values"], dtype=float))
            self._features = np.vstack([self._features, added])
        self.changed = True

    def _on_policy(self, body: dict[str, Any], event: Event) -> None:
        self.policy = PolicyChoice(**body["policy"])

    def _on_switch(self, body: dict[str, Any], event: Event) -> None:
        self.model = ModelChoice(**body["model"])
        self.switched = len(self.told)


def replay(specification: Specification, events: list[Event]) -> State:
    """The state after these events."""
    state = State(specification)
    state.apply_all(events)
    return state
