"""The items of a study: one order that all options share, and what each option was told on them."""

import copy
import hashlib
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.study.log.jobs import Job
from noisewise.study.telling.error_bars import of_logarithms
from noisewise.study.telling.items import Places, pool_names, read_places, read_values, shuffled

if TYPE_CHECKING:
    from noisewise.study.log.specification import Specification
    from noisewise.study.log.state import State

#: Stands for an item that was not told, among answers that are 0 or 1.
MISSING = -1
#: By how much a value may lie outside its range for rounding.
ROUNDING = 1e-12
Values = NDArray[np.int8] | Floats


class ToldItems(NamedTuple):
    """The items of one measurement."""

    places: Places
    values: Floats  # moved to [0, 1]


class Answers:
    """What one option was told: a value in [0, 1] at each place, and how many from the first on."""

    def __init__(self) -> None:
        self._values: Values = np.full(16, MISSING, dtype=np.int8)
        self.count = 0
        self.prefix = 0  # items from the first place on without a gap: what comparisons use
        self.version = 0  # raised when an answer is changed or taken back

    def copy(self) -> "Answers":
        """The same answers, to try something on."""
        twin = Answers()
        twin._values, twin.count = self._values.copy(), self.count
        twin.prefix, twin.version = self.prefix, self.version
        return twin

    @property
    def values(self) -> Values:
        """The values before the first gap, (prefix,)."""
        return self._values[: self.prefix]

    @property
    def all_values(self) -> Values:
        """The values at all places up to the last one told, whatever stands for those that were not."""
        told = np.flatnonzero(self._told(self._values))
        return self._values[: 1 + int(told.max(initial=-1))]

    def has(self, places: Places) -> NDArray[np.bool_]:
        """Which places were told."""
        inside = places < self._values.size
        found = np.zeros(places.size, dtype=bool)
        found[inside] = self._told(self._values[places[inside]])
        return found

    def at(self, places: Places) -> Floats:
        """The values at places that were told."""
        return self._values[places].astype(np.float64)

    def missing(self, count: int) -> Places:
        """The first places that were not told."""
        gaps = np.flatnonzero(~self._told(self._values[self.prefix :]))[:count] + self.prefix
        beyond = max(self._values.size, self.prefix) + np.arange(count - gaps.size)
        return np.concatenate([gaps, beyond])

    def put(self, told: ToldItems) -> None:
        """Enter values at places that have none."""
        self._reserve(int(told.places[-1]) + 1, plain=bool(np.isin(told.values, (0.0, 1.0)).all()))
        self._values[told.places] = told.values
        self.count += told.places.size
        self._advance()

    def change(self, told: ToldItems) -> None:
        """Put other values in the place of those that were told."""
        self.take_back(told.places)
        self.put(told)

    def take_back(self, places: Places) -> None:
        """Let values count no more."""
        self._values[places] = MISSING if self._values.dtype == np.int8 else np.nan
        self.count -= places.size
        self.prefix = min(self.prefix, int(places[0]))
        self.version += 1

    def _advance(self) -> None:
        rest = self._told(self._values[self.prefix :])
        gap = int(np.argmin(rest)) if not rest.all() else rest.size
        self.prefix += gap

    def _reserve(self, size: int, *, plain: bool) -> None:
        whole = self._values.dtype == np.int8
        if whole and not plain:
            kept = self._values.astype(np.float64)
            kept[kept == MISSING] = np.nan
            self._values, whole = kept, False
        if size > self._values.size:
            grown = np.full(
                max(size, 2 * self._values.size), MISSING if whole else np.nan, self._values.dtype
            )
            grown[: self._values.size] = self._values
            self._values = grown

    @staticmethod
    def _told(values: Values) -> NDArray[np.bool_]:
        return np.asarray(values != MISSING if values.dtype == np.int8 else ~np.isnan(values))


class ItemAnswers:
    """The order, and the answers of every option.

    A study that was made with a pool has its order from the beginning: the pool, shuffled by the study's
    seed. Without one, the order is that in which items were first told, and it has no end.
    """

    def __init__(self, specification: "Specification") -> None:
        pool = specification.items
        self.pool = None if pool is None else len(pool) if isinstance(pool, list) else pool
        self.names = [] if pool is None else shuffled(pool_names(pool), specification.seed)
        self.place = {name: place for place, name in enumerate(self.names)}
        self.low, self.high = specification.range_of_items
        self._scale = specification.value_scale
        self._answers: dict[int, Answers] = {}
        self._numbers: dict[int, list[int]] = {}  # the measurements of each option
        self._places: dict[int, tuple[str, int]] = {}  # of each measurement, as it was told, and how many
        self._n_live = 0
        #: What was computed from pairs of options, by whom it concerns.
        self.kept: dict[Any, Any] = {}
        self._population: ItemAnswers | None = None

    def trial(self) -> "ItemAnswers":
        """A copy for trying out more answers."""
        twin = copy.copy(self)
        twin.names, twin.place, twin._places = list(self.names), dict(self.place), dict(self._places)
        twin._answers = {option: answers.copy() for option, answers in self._answers.items()}
        twin._numbers = {option: list(numbers) for option, numbers in self._numbers.items()}
        twin.kept, twin._population = {}, None
        return twin

    def of_population(self) -> "ItemAnswers":
        """The same answers to items without end, of which the pool was drawn at random."""
        if self._population is None:
            self._population = copy.copy(self)
            self._population.pool, self._population.kept = None, {}
        self._population.names, self._population._n_live = self.names, self._n_live
        return self._population

    def __bool__(self) -> bool:
        """Whether any item was told."""
        return any(one.count for one in self._answers.values())

    @property
    def n_measurements(self) -> int:
        """How many measurements of items count."""
        return self._n_live

    @property
    def options(self) -> list[int]:
        """The options that were told items."""
        return [option for option, answers in self._answers.items() if answers.count]

    def of(self, option: int) -> Answers:
        """The answers of one option."""
        return self._answers.setdefault(option, Answers())

    def numbers(self, option: int) -> list[int]:
        """The measurements that told an option's items, voided ones among them."""
        return self._numbers.get(option, [])

    def prefixes(self, numbers: Iterable[int]) -> dict[int, int]:
        """How many items from the first on each option was told by these measurements alone."""
        counted = set(numbers)
        found = {}
        for option, own in self._numbers.items():
            told = [read_places(*self._places[number]) for number in own if number in counted]
            places = np.sort(np.concatenate(told)) if told else np.empty(0, dtype=np.int64)
            gaps = np.flatnonzero(places != np.arange(places.size))
            found[option] = int(gaps[0]) if gaps.size else places.size
        return found

    def fingerprint(self) -> bytes:
        """A hash of the order and of every answer, with the numbers of the options."""
        digest = hashlib.sha256("\n".join(self.names).encode())
        for option in sorted(self.options):
            digest.update(
                str(option).encode() + self._answers[option].all_values.astype(np.float64).tobytes()
            )
        return digest.digest()

    def unit(self, values: Floats) -> Floats:
        """Values moved to [0, 1], on the scale that is computed with."""
        if self._scale.log:
            values, low = np.log(np.clip(values, self.low, self.high)), math.log(self.low)
            return np.asarray(np.clip((values - low) / self.width, 0.0, 1.0))
        return np.asarray(np.clip((values - self.low) / self.width, 0.0, 1.0))

    @property
    def width(self) -> float:
        """How far the ends of the range are apart, on the scale that is computed with."""
        return self._scale.entered(self.high) - self._scale.entered(self.low)

    def back(self, unit: float) -> float:
        """A value moved to [0, 1] in the user's unit again."""
        if self._scale.log:
            return self.low * math.exp(unit * self.width)
        return self.low + unit * self.width

    def mean(self, values: Floats) -> tuple[float, float, float]:
        """The mean of values, their sum of squares around it, and the width of the range, as told."""
        if self._scale.log:
            value, scatter = of_logarithms(values)
            return value, scatter, self.width * value
        value = float(np.mean(values))
        return value, float(np.sum((values - value) ** 2)), self.width

    def read(self, body: dict[str, Any]) -> ToldItems:
        """The items of an event's body."""
        count = body["readings"]
        return ToldItems(read_places(body["places"], count), self.unit(read_values(body["items"], count)))

    def tell(self, option: int, number: int, body: dict[str, Any]) -> None:
        """Enter a measurement."""
        for name in body.get("names", ()):
            self.place[name] = len(self.names)
            self.names.append(name)
        self.of(option).put(self.read(body))
        self._numbers.setdefault(option, []).append(number)
        self._n_live += 1
        self._places[number] = body["places"], body["readings"]

    def void(self, option: int, body: dict[str, Any]) -> None:
        """Let the items of a measurement count no more; their names keep their places."""
        self._n_live -= 1
        self.of(option).take_back(self.read(body).places)

    def amend(self, option: int, body: dict[str, Any]) -> None:
        """Correct values of a measurement."""
        self.of(option).change(self.read(body))


#: Items of one suggestion, unless another number is asked for.
BATCH = 50


def next_places(state: "State", option: int, count: int, under_way: list[Job]) -> Places:
    """The first places that were not told for an option and are not being measured, at most ``count``.

    Places beyond the names known so far are those of items that are yet to be drawn; a pool has none.
    """
    items = state.items
    jobs = [job for job in under_way if job.option == state.ids[option]]
    asked = _asked(state, jobs)
    places = items.of(option).missing(count + len(asked))
    places = places[~np.isin(places, asked)][:count]
    return places if items.pool is None else places[places < items.pool]


def _asked(state: "State", jobs: Iterable[Job]) -> list[int]:
    """The places that suggestions are for."""
    items, asked = state.items, []
    for job in jobs:
        asked += [items.place[name] for name in job.items]
        asked += range(job.fresh_from - 1, job.fresh_from - 1 + job.fresh)
    return asked


def why_not_next(
    state: "State", option: str, places: Places, job: str | None, answers: Answers | None = None
) -> str | None:
    """Why an option cannot be told items at these places now; None if it can.

    Told are the next ones, or those that a suggestion named: what was chosen before anybody saw an answer.

    Args:
        state: The study before.
        option: Its name.
        places: Rising.
        job: The suggestion that they answer.
        answers: What the option was told, if that is more than the study knows.
    """
    items = state.items
    answers = items.of(state.index[option]) if answers is None else answers
    before = answers.has(places)
    if before.any():
        place = int(places[np.argmax(before)])
        number = told_in(state, option, place)
        return (
            f"item {items.names[place]!r} was told for {option} before, in m-{number}: an item counts once "
            f"for each option; amend m-{number} if it was wrong"
        )
    expected = answers.missing(places.size)
    if np.array_equal(places, expected):
        return None
    asked = _asked(state, (one for one in state.jobs.values() if one.option == option))
    rest = places[~np.isin(places, asked)]
    if any(one.id == job and one.fresh for one in state.jobs.values()):
        rest = rest[rest < len(items.names)]  # others drew theirs in the meantime
    others = answers.missing(rest.size + len(asked))
    if np.array_equal(rest, others[~np.isin(others, asked)][: rest.size]):
        return None
    wrong = int(np.flatnonzero(places != expected)[0])
    due = int(expected[wrong])
    which = f"{items.names[due]!r}, at place {due + 1}" if due < len(items.names) else f"place {due + 1}"
    return (
        f"{option} goes on with item {which} of the order that all options share; items are told in that "
        "order, because those that are picked out, by looking or otherwise, would spoil the comparison"
    )


def told_in(state: "State", option: str, place: int) -> int:
    """The measurement that told an option's item."""
    for number in reversed(state.items.numbers(state.index[option])):
        if state.measurements.is_live(number):
            places = state.items.read(state.told[number - 1]).places
            if place in places:
                return number
    raise KeyError(place)


def items_flaw(state: "State", body: dict[str, Any], number: int | None) -> str | None:
    """Why the items of a measurement cannot be used; ``number``: of the measurement that they correct."""
    items = state.items
    if state.model.uses_features:
        return f"it has items, and the {state.model.model} model does not compare options item by item"
    if len(state.told) and not state.begins_with_items:
        return "it has items, and the study began with other measurements"
    if state.specification.value_scale.log and items.low <= 0.0:
        return "it has items, and nothing says that they are above 0 (bounds), where logarithms are taken"
    if any(name in body for name in ("minus", "block", "instrument")):
        return "items are of one option, and in no block"
    if "readings" not in body:
        return "it does not say how many items it has"
    told = items.read(body)
    raw = read_values(body["items"], body["readings"])
    slack = ROUNDING * max(abs(items.low), abs(items.high))
    if not ((raw >= items.low - slack) & (raw <= items.high + slack)).all():
        return f"the values of its items do not all lie from {items.low:g} to {items.high:g}"
    if number is not None:
        return None
    new = body.get("names", [])
    if not isinstance(new, list) or not all(type(name) is str and name for name in new):
        return "the names of its new items are no texts"
    if new and (items.pool is not None or len(set(new)) < len(new) or not items.place.keys().isdisjoint(new)):
        return "it names items anew that this study has"
    beyond = told.places[told.places >= len(items.names)]
    if not np.array_equal(beyond, len(items.names) + np.arange(len(new))):
        return "it has items without a name"
    return why_not_next(state, body["option"], told.places, body.get("job"))
