"""The state of a study: a function of its specification and its log, built by applying events in order."""

import copy
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import printable
from noisewise.study.log.events import Event
from noisewise.study.log.items import ItemAnswers
from noisewise.study.log.jobs import FAILED, RELEASED, TOLD
from noisewise.study.log.jobs import OPEN as OPEN
from noisewise.study.log.jobs import WEEK as WEEK
from noisewise.study.log.jobs import Job as Job
from noisewise.study.log.jobs import job_of as job_of
from noisewise.study.log.measurements import NOBODY, Contents, Measurements
from noisewise.study.log.model_choice import SIZES, ModelChoice
from noisewise.study.log.specification import ANY_TIME, BLIND, SYMMETRIC, PolicyChoice, Specification
from noisewise.study.log.validation import CHUNK, find_flaw, flawed
from noisewise.study.stores.protocol import DamagedError
from noisewise.study.telling.catalogue import Whitening
from noisewise.study.telling.error_bars import ITEMS, READINGS
from noisewise.study.telling.items import read_ranges


class FirstMoment:
    """What was told at the first moment: by one call, such as the rows of one table, in any order.

    The kinds and labels of these measurements, as they were told at first, were known before any value. They
    may decide how scatter is treated and how the error probability is divided.
    """

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.rows = 0
        self.own = 0  # readings of one option that name neither instrument nor block
        self.event: int | None = None  # the number of the first
        self._moment = ("", 0.0)
        self._over = False

    def tell(self, events: Sequence[Event]) -> None:
        """Take in measurements; those of later moments change nothing."""
        for event in events:
            if self._over:
                return
            if self.event is not None and (event.append, event.at) != self._moment:
                self._over = True
                return
            self._moment = event.append, event.at
            self.event = self.event or event.number
            body = event.body if isinstance(event.body, dict) else {}
            kind = body.get("kind")
            self.rows += 1
            self.kinds.add(kind if isinstance(kind, str) else "")
            labelled = any(body.get(name) for name in ("instrument", "block", "minus"))
            self.own += kind == READINGS and not labelled


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
        self.whitening: Whitening | None = catalogue.whitening if catalogue.features else None
        self._features: Floats | None = self.whitening.apply(catalogue.values) if self.whitening else None
        self.model = specification.first_model
        self.switched: int | None = None  # measurements that had been told when the model was last changed
        self.stated: dict[str, int] = {}  # measurements that had been told when a size was stated
        self.excluded: dict[int, str] = {}
        self.changed = False
        self.measurements = Measurements(logs=specification.value_scale.log)
        self.items = ItemAnswers(specification)
        self.told = Contents()  # the present content of each measurement
        self.begun = FirstMoment()
        self.superseded: dict[int, list[dict[str, Any]]] = {}  # what it was before it was amended
        self.voided: dict[int, str] = {}
        self.corrections = 0  # how often a measurement was voided or amended
        self.skipped: set[int] = set()  # measurements that tables without keys brought again
        self.keys: dict[str, int] = {}  # of measurements that were not voided
        self.freed: dict[str, list[int]] = {}  # measurements that had a key when they were voided
        self.answers: dict[str, int] = {}  # the first measurement that answers each suggestion
        self.pairs: set[tuple[int, int]] = set()
        self.jobs: dict[str, Job] = {}
        self.last_job = 0  # the largest number of a suggestion in the log
        self._under_way: dict[str, Job] = {}  # of these, the ones that nothing became of yet
        self.together: dict[str, list[str]] = {}  # suggestions for one new block, by the first of them
        self.policy: PolicyChoice = specification.policy
        self.looks = specification.looks or ANY_TIME
        self.looked_for: dict[str, int] = {}  # events of suggestions made by policies that look at values
        self._by_name = np.empty(0, dtype=np.int64)
        #: Reaches of options as last computed, by whether for every pair; see `evidence.limits`.
        self.tables: dict[bool, Any] = {}
        self.centres: Any = None  # of options whose errors have any tails, see `evidence.heavy_tails`

    def apply(self, event: Event) -> None:
        """Apply one event; refuse one that cannot have happened."""
        happen = getattr(self, f"_on_{event.kind}", None)
        if happen is None:
            raise DamagedError(
                f"event {event.number} of this study is of a kind that this noisewise does not know, "
                f"{event.kind!r}: upgrade noisewise. Nothing was changed.",
                event.number,
            )
        if event.kind == "ask":
            self.last_job = max(self.last_job, _number_of(event.body))
        if event.kind == "tell":
            self._tell_all([event])
        elif (flaw := find_flaw(self, event.kind, event.body)) is not None:
            raise unusable(event, flaw)
        else:
            happen(event.body, event)
        self.n_events = event.number

    @property
    def begins_with_items(self) -> bool:
        """Whether the study has a pool of items, or the first measurement was of items."""
        declared = self.specification.items is not None or self.specification.noise == SYMMETRIC
        return declared or ITEMS in self.begun.kinds

    @property
    def features(self) -> Floats | None:
        """The whitened features, (n, rank), if the present model uses them."""
        return self._features if self.model.uses_features else None

    @property
    def added_features(self) -> bytes:
        """The features of options that were added, for a hash; empty without any."""
        return (
            b"" if self._features is None else np.ascontiguousarray(self._features[self.n_first :]).tobytes()
        )

    def apply_all(self, events: Sequence[Event], *, rehearsed: bool = False) -> None:
        """Let many events happen; runs of measurements are entered together.

        Args:
            events: In their order.
            rehearsed: Whether each was checked in this very state.
        """
        for first in range(0, len(events), CHUNK):
            some = events[first : first + CHUNK]
            # Behind an event of another kind, or an item, measurements meet another state.
            rehearsed = rehearsed and all(event.kind == "tell" and not _has_items(event) for event in some)
            for kind, run in itertools.groupby(some, key=attrgetter("kind")):
                if kind == "tell":
                    self._tell_all(list(run), sound=rehearsed)
                else:
                    for event in run:
                        self.apply(event)
            self.n_events = events[min(first + CHUNK, len(events)) - 1].number

    def with_model(self, model: ModelChoice) -> "State":
        """The same study with another model; neither may change after that."""
        twin = copy.copy(self)
        twin.model = model
        twin.tables, twin.centres = {}, None
        return twin

    def trial(self) -> "State":
        """A copy for trying out options, items and models that are added; measurements are shared."""
        twin = self.with_model(self.model)
        twin.ids, twin.index, twin.stated = list(self.ids), dict(self.index), dict(self.stated)
        twin.costs, twin.items = self.costs and list(self.costs), self.items.trial()
        return twin

    def of_population(self) -> "State":
        """The same study, its items being the first of a population without end."""
        twin = self.with_model(self.model)
        twin.items = self.items.of_population()
        return twin

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
        return [job for job in self._under_way.values() if job.expires.timestamp() > now]

    def _rows(self, body: dict[str, Any]) -> tuple[int, int]:
        minus = body.get("minus")
        return self.index[body["option"]], NOBODY if minus is None else self.index[minus]

    def _on_tell(self, body: dict[str, Any], event: Event) -> None:
        """Tellings are entered by `_tell_all`, also if they come alone."""

    def _tell_all(self, events: list[Event], *, sound: bool = False) -> None:
        for with_items, run in itertools.groupby(events, key=_has_items):
            # Each of those with items decides which come next.
            for some in [[event] for event in run] if with_items else [list(run)]:
                self._enter(some, sound=sound)

    def _enter(self, events: list[Event], *, sound: bool) -> None:
        bodies = [event.body for event in events]
        first = len(self.told) + 1
        if not sound:
            for place, why in flawed(self, bodies).items():
                raise unusable(events[place], why)
        index = self.index
        plus = [index[body["option"]] for body in bodies]
        minus = [index[body["minus"]] if "minus" in body else NOBODY for body in bodies]
        self.measurements.extend(plus, minus, bodies, [event.at for event in events])
        self.told.extend(bodies)
        self.begun.tell(events)
        self.keys.update((body["key"], first + i) for i, body in enumerate(bodies) if "key" in body)
        self.pairs.update(
            (min(pair), max(pair)) for pair in zip(plus, minus, strict=True) if pair[1] != NOBODY
        )
        for place, body in enumerate(bodies):
            if "job" in body:
                self.answers.setdefault(body["job"], first + place)
                if body["job"] in self.jobs:
                    self._close(body["job"], TOLD)
        if bodies[0]["kind"] == ITEMS:
            self.items.tell(plus[0], first, bodies[0])
        self.n_events = events[-1].number

    def _on_ask(self, body: dict[str, Any], event: Event) -> None:
        job = self.jobs[body["id"]] = self._under_way[body["id"]] = job_of(body)
        if self.policy.name not in BLIND:
            self.looked_for[job.id] = event.number
        if job.together is not None:
            self.together.setdefault(job.together, []).append(job.id)

    def _on_fail(self, body: dict[str, Any], event: Event) -> None:
        self._close(body["job"], FAILED)

    def _on_release(self, body: dict[str, Any], event: Event) -> None:
        self._close(body["job"], RELEASED)

    def _close(self, job: str, status: str) -> None:
        self.jobs[job] = replace(self.jobs[job], status=status)
        self._under_way.pop(job, None)

    def _on_void(self, body: dict[str, Any], event: Event) -> None:
        number = body["number"]
        self.corrections += 1
        if self.told[number - 1].get("kind") == ITEMS and self.measurements.is_live(number):
            self.items.void(self.index[self.told[number - 1]["option"]], self.told[number - 1])
        self.measurements.void(number)
        self.voided[number] = str(body.get("reason") or "without a reason")
        key = self.told[number - 1].get("key")
        # The key is free again: a right measurement may take the place of a wrong one.
        if key is not None and self.keys.get(key) == number:
            del self.keys[key]
            self.freed.setdefault(key, []).append(number)

    def _on_amend(self, body: dict[str, Any], event: Event) -> None:
        content, number = body["content"], body["number"]
        self.corrections += 1
        plus, minus = self._rows(content)
        self.measurements.replace(number, plus, minus, content)
        if content["kind"] == ITEMS:
            self.items.amend(plus, content)
        self.superseded.setdefault(number, []).append(self.told[number - 1])
        self.told[number - 1] = content
        if minus != NOBODY:
            self.pairs.add((min(plus, minus), max(plus, minus)))
        if content.get("key") and self.measurements.is_live(number):
            self.keys.setdefault(content["key"], number)

    def _on_skip(self, body: dict[str, Any], event: Event) -> None:
        self.skipped.update(read_ranges(body["measurements"]).tolist())

    def _on_exclude(self, body: dict[str, Any], event: Event) -> None:
        self.excluded[self.index[body["option"]]] = str(body.get("reason") or "without a reason")
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
        model = ModelChoice(**body["model"])
        for name in SIZES:
            if (size := getattr(model, name)) != getattr(self.model, name):
                first = getattr(self.specification.first_model, name)
                self.stated[name] = len(self.told) if isinstance(size, float) and size != first else 0
        if model != self.model or "looks" not in body:
            self.model, self.switched = model, len(self.told)
        if "looks" in body:
            self.looks = body["looks"]


def unusable(event: Event, why: str) -> DamagedError:
    """The refusal of an event that cannot have happened."""
    return DamagedError(
        f"event {event.number} ({event.kind}) cannot be used: {printable(why)}. The log was edited or is "
        "damaged: restore a backup, or export the log, correct the event and rebuild the study.",
        event.number,
    )


def _number_of(body: Any) -> int:
    """The number of a suggestion, as in "ask-17"; 0 if it has none."""
    id = body.get("id") if isinstance(body, dict) else None
    found = re.fullmatch(r"ask-([1-9][0-9]{0,17})", id) if isinstance(id, str) else None
    return int(found[1]) if found else 0


def _has_items(event: Event) -> bool:
    return isinstance(event.body, dict) and event.body.get("kind") == ITEMS


def replay(specification: Specification, events: list[Event]) -> State:
    """The state after these events."""
    state = State(specification)
    state.apply_all(events)
    return state
