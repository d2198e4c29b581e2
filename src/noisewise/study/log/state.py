"""The state of a study: a function of its specification and its log, built by applying events in order."""

import copy
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import printable
from noisewise.study.log.bodies import (
    AddBody,
    AmendBody,
    AskBody,
    CloseBody,
    ExcludeBody,
    FlawError,
    PolicyBody,
    SkipBody,
    SwitchBody,
    TableBody,
    VoidBody,
    check_told,
    of_one,
    read,
)
from noisewise.study.log.events import Event, layout
from noisewise.study.log.items import ItemAnswers
from noisewise.study.log.jobs import FAILED, RELEASED, TOLD
from noisewise.study.log.jobs import OPEN as OPEN
from noisewise.study.log.jobs import WEEK as WEEK
from noisewise.study.log.jobs import Job as Job
from noisewise.study.log.jobs import job_of as job_of
from noisewise.study.log.measurements import NOBODY, Contents, Measurements, Told
from noisewise.study.log.model_choice import SIZES, ModelChoice, choose_model
from noisewise.study.log.specification import ANY_TIME, BLIND, SYMMETRIC, PolicyChoice, Specification
from noisewise.study.stores.protocol import DamagedError
from noisewise.study.telling.catalogue import Whitening
from noisewise.study.telling.error_bars import ITEMS, READINGS
from noisewise.study.telling.items import read_ranges

#: Measurements that are entered together.
TOGETHER = 20_000


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

    def tell(self, told: Told, events: Sequence[tuple[Event, int]]) -> None:
        """Take in measurements; those of later moments change nothing.

        Args:
            told: What they say, in columns.
            events: Their events, and how many of them each recorded.
        """
        rows = 0
        for event, count in events:
            self._over = self._over or (self.event is not None and (event.append, event.at) != self._moment)
            if self._over:
                break
            self._moment, rows = (event.append, event.at), rows + count
            self.event = self.event or event.number
        kinds = told["kind"][:rows]
        self.rows += rows
        self.kinds.update(kinds)
        if not {"instrument", "block", "minus"} & told.keys():
            self.own += kinds.count(READINGS)


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
        self.apply_all([event])

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

    def apply_all(self, events: Iterable[Event]) -> None:
        """Apply events in their order; runs of measurements that say the same things are entered together.

        A state that refused an event may have got some of those before it.
        """
        for names, some in itertools.groupby(events, key=lambda event: layout(event.kind, event.body)):
            while run := list(itertools.islice(some, TOGETHER if names else 1)):
                try:
                    if names:
                        columns = zip(*(event.body.values() for event in run), strict=True)
                        told = dict(zip(names, columns, strict=True))
                        self._tell(told, [(event, 1) for event in run])
                    else:
                        self._happen(run[0])
                except FlawError as flaw:
                    raise UnusableError(run[flaw.place if names else 0], str(flaw)) from None

    def _happen(self, event: Event) -> None:
        happens = _HAPPENS.get(event.kind)
        if happens is None:
            raise FlawError("this noisewise does not know events of its kind; upgrade noisewise")
        kind, happen = happens
        if event.kind == "ask":
            self.last_job = max(self.last_job, _number_of(event.body))
        happen(self, event.body if kind is None else read(event.body, kind), event)
        self.n_events = event.number

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

    def _tell_one(self, body: dict[str, Any], event: Event) -> None:
        self._tell(of_one(body), [(event, 1)])

    def _tell_table(self, body: TableBody, event: Event) -> None:
        columns = body.columns
        self._tell(columns, [(event, len(next(iter(columns.values()), [])))])

    def _tell(self, told: Told, events: Sequence[tuple[Event, int]]) -> None:
        check_told(self, told)
        first, index = len(self.told) + 1, self.index
        plus = [index[option] for option in told["option"]]
        minus = [index[option] for option in told["minus"]] if "minus" in told else [NOBODY] * len(plus)
        at = [event.at for event, count in events for _ in range(count)]
        number = [event.number for event, count in events for _ in range(count)]
        self.measurements.extend(plus, minus, told, at, number)
        self.told.extend(told)
        self.begun.tell(told, events)
        self.keys.update((key, first + place) for place, key in enumerate(told.get("key", ())))
        if "minus" in told:
            self.pairs.update(map(_pair, plus, minus))
        for place, job in enumerate(told.get("job", ())):
            self.answers.setdefault(job, first + place)
            if job in self.jobs:
                self._close(job, TOLD)
        if told["kind"][0] == ITEMS:
            self.items.tell(plus[0], first, self.told[first - 1])
        self.n_events = events[-1][0].number

    def _ask(self, asked: AskBody, event: Event) -> None:
        self._row(asked.option)
        if asked.id in self.jobs:
            raise FlawError(f"{asked.id!r} was asked before")
        if asked.minus is not None and (asked.minus == asked.option or self._row(asked.minus) < 0):
            raise FlawError("it asks for the difference of an option to itself")
        if not all(name in self.items.place for name in asked.items):
            raise FlawError("it names items that this study does not have")
        job = self.jobs[asked.id] = self._under_way[asked.id] = job_of(event.body)
        if self.policy.name not in BLIND:
            self.looked_for[job.id] = event.number
        if job.together is not None:
            self.together.setdefault(job.together, []).append(job.id)

    def _fail(self, closed: CloseBody, event: Event) -> None:
        if closed.job not in self.jobs:
            raise FlawError(f"there is no suggestion {closed.job!r}")
        self._close(closed.job, FAILED if event.kind == "fail" else RELEASED)

    def _close(self, job: str, status: str) -> None:
        self.jobs[job] = replace(self.jobs[job], status=status)
        self._under_way.pop(job, None)

    def _row(self, option: str) -> int:
        if option not in self.index:
            raise FlawError(f"{option!r} is not in the catalogue")
        return self.index[option]

    def _content(self, number: int) -> dict[str, Any]:
        if number > len(self.told):
            raise FlawError(f"there is no measurement m-{number}")
        return self.told[number - 1]

    def _void(self, void: VoidBody, event: Event) -> None:
        number, content = void.number, self._content(void.number)
        self.corrections += 1
        if content["kind"] == ITEMS and self.measurements.is_live(number):
            self.items.void(self.index[content["option"]], content)
        self.measurements.void(number)
        self.voided[number] = void.reason or "without a reason"
        key = content.get("key")
        # The key is free again: a right measurement may take the place of a wrong one.
        if key is not None and self.keys.get(key) == number:
            del self.keys[key]
            self.freed.setdefault(key, []).append(number)

    def _amend(self, amend: AmendBody, event: Event) -> None:
        content, number, old = amend.content, amend.number, self._content(amend.number)
        if ITEMS in (old["kind"], content.get("kind")):
            parts = ("option", "kind", "places", "readings")
            same = all(old.get(name) == content.get(name) for name in parts)
            if not (same and self.measurements.is_live(number)):
                raise FlawError(f"m-{number} would be about other items than it was")
        check_told(self, of_one(content), number)
        self.corrections += 1
        plus = self.index[content["option"]]
        minus = self.index[content["minus"]] if "minus" in content else NOBODY
        self.measurements.replace(number, plus, minus, of_one(content))
        if content["kind"] == ITEMS:
            self.items.amend(plus, content)
        self.superseded.setdefault(number, []).append(old)
        self.told[number - 1] = content
        if minus != NOBODY:
            self.pairs.add(_pair(plus, minus))
        if content.get("key") and self.measurements.is_live(number):
            self.keys.setdefault(content["key"], number)

    def _skip(self, skip: SkipBody, event: Event) -> None:
        try:
            numbers = read_ranges(skip.measurements)
        except ValueError as problem:
            raise FlawError(printable(problem)) from None
        if numbers[-1] > len(self.told):
            raise FlawError("it names measurements that there are not")
        self.skipped.update(numbers.tolist())

    def _exclude(self, exclude: ExcludeBody, event: Event) -> None:
        self.excluded[self._row(exclude.option)] = exclude.reason or "without a reason"
        self.changed = True

    def _include(self, include: ExcludeBody, event: Event) -> None:
        if self._row(include.option) not in self.excluded:
            raise FlawError(f"{include.option!r} was not excluded")
        del self.excluded[self.index[include.option]]

    def _add(self, add: AddBody, event: Event) -> None:
        taken = next((name for name in add.ids if name in self.index), None)
        if taken is not None or len(set(add.ids)) < len(add.ids):
            raise FlawError(f"{taken or add.ids[0]!r} is in the catalogue already")
        if self.costs is not None and len(add.costs or ()) != len(add.ids):
            raise FlawError("its options have no costs")
        if self.whitening is not None and self._features is not None:
            right = {len(row) for row in add.values} == {self.whitening.centre.size}
            if not right or len(add.values) != len(add.ids) or not np.isfinite(add.values).all():
                raise FlawError("its options do not have the features of this study")
            added = self.whitening.apply(np.array(add.values, dtype=float))
            self._features = np.vstack([self._features, added])
        for option in add.ids:
            self.index[option] = len(self.ids)
            self.ids.append(option)
        if self.costs is not None:
            self.costs += add.costs or []
        self.changed = True

    def _policy(self, policy: PolicyBody, event: Event) -> None:
        self.policy = policy.policy

    def _switch(self, switch: SwitchBody, event: Event) -> None:
        model = switch.model
        try:
            choose_model(model.model, model.deviation, model.extra_scatter)
        except (ValueError, TypeError) as problem:
            raise FlawError(printable(problem)) from None
        if model.uses_features and (self.items or self.whitening is None):
            lacks = "does not compare options item by item" if self.items else "needs features"
            raise FlawError(f"the {model.model} model {lacks}")
        for name in SIZES:
            if (size := getattr(model, name)) != getattr(self.model, name):
                first = getattr(self.specification.first_model, name)
                self.stated[name] = len(self.told) if isinstance(size, float) and size != first else 0
        if model != self.model or switch.looks is None:
            self.model, self.switched = model, len(self.told)
        self.looks = switch.looks or self.looks


#: What an event of each kind says, and what it does.
_HAPPENS: dict[str, tuple[Any, Callable[[State, Any, Event], None]]] = {
    "tell": (None, State._tell_one),
    "table": (TableBody, State._tell_table),
    "ask": (AskBody, State._ask),
    "fail": (CloseBody, State._fail),
    "release": (CloseBody, State._fail),
    "void": (VoidBody, State._void),
    "amend": (AmendBody, State._amend),
    "exclude": (ExcludeBody, State._exclude),
    "include": (ExcludeBody, State._include),
    "add": (AddBody, State._add),
    "policy": (PolicyBody, State._policy),
    "switch": (SwitchBody, State._switch),
    "skip": (SkipBody, State._skip),
}


class UnusableError(DamagedError):
    """An event that cannot have happened."""

    def __init__(self, event: Event, why: str) -> None:
        self.why = printable(why)
        super().__init__(
            f"event {event.number} ({event.kind}) cannot be used: {self.why}. The log was edited or is "
            "damaged: restore a backup, or export the log, correct the event and rebuild the study.",
            event.number,
        )


def _pair(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


def _number_of(body: Any) -> int:
    """The number of a suggestion, as in "ask-17"; 0 if it has none."""
    id = body.get("id") if isinstance(body, dict) else None
    found = re.fullmatch(r"ask-([1-9][0-9]{0,17})", id) if isinstance(id, str) else None
    return int(found[1]) if found else 0


def replay(specification: Specification, events: list[Event]) -> State:
    """The state after these events."""
    state = State(specification)
    state.apply_all(events)
    return state
