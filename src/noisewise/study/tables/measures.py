"""What came out, and how exactly: the value columns of a table with the errors that belong to them."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from noisewise.study.tables.columns import (
    Column,
    Layout,
    Numbers,
    between,
    determines,
    follows,
    is_ratio,
    made,
)
from noisewise.study.tables.layout import ERRORS, RESULT

NEITHER = (
    "size",
    "rank",
    "ident",
    "ignored",
    "item",
    "study",
    "block",
    "replicate",
    "extreme",
    "quartile",
    "key",
)
#: Columns of numbers that are compared with each other.
MOST_NUMBERS = 60
Roles = dict[str, list[Column]]


@dataclass
class Measure:
    """One way to say what came out, and how exactly."""

    roles: Roles
    score: float
    because: list[str] = field(default_factory=list)
    ask: str = ""  # what only people know: "error" (which kind), "n"

    @property
    def value(self) -> Column:
        """The column of the result."""
        return self.roles.get("value", self.roles.get("successes", []))[0]

    @property
    def is_bare(self) -> bool:
        """Whether there is neither an error bar nor a number of trials."""
        return self.roles.keys() <= {"value", "n"}

    @property
    def is_general(self) -> bool:
        """Whether the name of the value says that it is the result, and not one of several metrics."""
        return "successes" in self.roles or (self.value.says("value") and not self.value.says("metric"))


def measures(table: Layout, names: list[Column]) -> list[Measure]:
    """The results that a table can hold, the best first; none that a cell contradicts."""
    columns = [c for c in table.columns if c not in names and c.kind == "number" and c.there.size]
    columns = columns[:MOST_NUMBERS]
    found, rates = _counts(columns)
    exported = any(
        c.name.startswith("_") or "state" in c.said.values() or "run id" in c.said.values()
        for c in table.columns
    )
    values = [c for c in columns if c not in rates and not c.constant and _may_be_value(c, exported)]
    if any(c.says("value") and not c.says("before") for c in values):
        values = [c for c in values if c.says("value") or not c.says("quantile", "extreme", "quartile")]
    for c in values:
        found += _with_error(c, values, columns)
    return sorted(_independent(found), key=lambda one: -one.score)


def _independent(found: list[Measure]) -> list[Measure]:
    """Leave out results that only repeat a better one in other units."""
    kept: list[Measure] = []
    for one in sorted(found, key=lambda one: -one.score):
        better = (o.value for o in kept if o.value is not one.value and not o.value.whole)
        if not ("value" in one.roles and one.is_bare and any(follows(one.value, v) for v in better)):
            kept.append(one)
    return kept


def _may_be_value(c: Column, exported: bool) -> bool:
    if c.says(*ERRORS, "rank", "key") or c.of is not None or c.name.startswith("_"):
        return False
    if c.says(*NEITHER, "setting") and not c.says(*RESULT):
        return False
    if c.says("size") and not c.says("value", "rate"):
        return c.says("metric") and not c.whole
    if exported and c.says("ignored"):
        return False
    return not (c.numbers_rows and not c.says("value", "metric"))


def _counts(columns: list[Column]) -> tuple[list[Measure], list[Column]]:
    """Successes out of trials, which they never exceed, and the rates that follow from them."""
    found, known = [], []
    whole = [
        c
        for c in columns
        if c.whole and c.there.min() >= 0 and c.there.max() > 1 and not c.says("rank", "replicate")
    ]
    for hits, tries in itertools.permutations(whole[:12], 2):
        rows = np.array([hits.numbers, tries.numbers])
        rows = rows[:, ~np.isnan(rows).any(axis=0)]
        if not rows.size or (rows[0] > rows[1]).any() or (rows[0] == rows[1]).all():
            continue
        rates = [c for c in columns if c not in (hits, tries) and is_ratio(c, hits, tries)]
        # Visitors that converted, seeds that germinated: a participle counts what happened.
        named = hits.says("successes") or (
            not hits.says("size", "value", "metric") and _is_participle(hits.name)
        )
        counted = (tries.says("size") or (tries.constant and len(columns) <= 4)) and not tries.says(
            "successes"
        )
        unknown = not (hits.said or tries.said) and len(columns) <= 3
        score = 2.5 * named + 1.5 * counted + 3.0 * bool(rates) - 0.5 * (hits.says("size") and not named)
        score -= 1.5 * ("failure" in hits.name.casefold() or "error" in hits.name.casefold())
        if unknown or (score >= 2.5 and (named or rates)):
            why = [
                f"{hits.name!r} never exceeds {tries.name!r}",
                *(f"{c.name!r} is their ratio" for c in rates),
            ]
            found.append(Measure({"successes": [hits], "trials": [tries]}, 1.5 + score, why))
            known += rates if score >= 4.0 else []
    return found, known


def _is_participle(name: str) -> bool:
    return any(
        re.fullmatch(r"[a-z]{3,}ed", word) and word != "speed"
        for word in name.casefold().replace("_", " ").split()
    )


def _with_error(c: Column, values: list[Column], columns: list[Column]) -> list[Measure]:
    """A column as the value, with the error bar that belongs to it."""
    score = 1.0 + 2.0 * c.says("value") + 1.0 * c.says("metric", "quantile") + 0.3 * (not c.whole)
    score -= 2.0 * c.says("before") + 1.0 * c.was_set
    score -= 1.0 * (c.says("setting") and not c.says("value"))
    own = [e for e in columns if e.says(*ERRORS) and _belongs(e, c, values, columns)]
    own.sort(key=lambda e: len(e.stem & c.stem))
    mine = {role: e for e in own for role in e.said if role in ERRORS}
    size = _size(columns, next(iter(mine.values()), c))
    value: Roles = {"value": [c]}

    def measure(roles: Roles, more: float, why: str, ask: str = "") -> Measure:
        needs_n = "sd" in roles and not size
        n = {"n": size} if "sd" in roles and size else {}
        return Measure(value | roles | n, score + more, [why] if why else [], ask or ("n" if needs_n else ""))

    def interval(
        low: Column,
        high: Column,
        minus: Callable[[Numbers, Numbers], Numbers],
        plus: Callable[[Numbers, Numbers], Numbers],
    ) -> Roles:
        assert low.numbers is not None
        assert high.numbers is not None
        assert c.numbers is not None
        return {
            "lo": [made([low], minus(c.numbers, low.numbers))],
            "hi": [made([high], plus(c.numbers, high.numbers))],
        }

    def is_half(e: Column) -> bool:
        return bool(re.search(r"\d ?%", e.name)) or (e.says("moe") and "se" not in e.said)

    errors = {
        role: e for role, e in mine.items() if not e.there.size or e.there.min() >= 0 or role in ("lo", "hi")
    }
    halves = [e for role, e in errors.items() if role in ("moe", "unclear", "se") and is_half(e)]
    if "sd" in errors and (size or "se" not in errors):
        return [measure({"sd": [errors["sd"]]}, 3.0, f"{errors['sd'].name!r} says a standard deviation")]
    for role in ("se", "var"):
        if role in errors and errors[role] not in halves:
            return [measure({role: [errors[role]]}, 3.0, f"{errors[role].name!r} says its error")]
    if "lo" in errors and "hi" in errors and between(errors["lo"], c, errors["hi"]):
        return [
            measure(
                {"lo": [errors["lo"]], "hi": [errors["hi"]]},
                4.0,
                "it always lies within the interval beside it",
            )
        ]
    if "up" in errors and "down" in errors:
        ends = interval(errors["down"], errors["up"], np.subtract, np.add)
        return [measure(ends, 4.0, f"{errors['up'].name!r} says how far up and down")]
    if halves:  # an error that names a level
        return [
            measure(
                interval(halves[0], halves[0], np.subtract, np.add),
                3.0,
                f"{halves[0].name!r} is half of an interval",
            )
        ]
    if "rsd" in errors:
        return [
            measure(
                {"sd": [_relative(errors["rsd"], c)]},
                3.0,
                f"{errors['rsd'].name!r} is the standard deviation as a share of the mean",
            )
        ]
    if "unclear" in errors:
        why = "nothing says whether the error is a standard error or a standard deviation"
        return [measure({role: [errors["unclear"]]}, 3.0, why, "error") for role in ("se", "sd")]
    quartiles = [e for e in columns if e.says("quartile") and e.of in (c, None)]
    for e in quartiles:
        if (
            "iqr" in e.said.values()
            and e.of is None
            and (c.says("quantile") or _belongs(e, c, values, columns))
            and e.numbers is not None
        ):
            return [
                measure(
                    {"sd": [made([e], e.numbers / 1.35)]}, 2.5, "an IQR is of single readings: sd = IQR/1.35"
                )
            ]
    for low, high in itertools.permutations(quartiles, 2):
        if between(low, c, high) and low.numbers is not None and high.numbers is not None:
            sd = made([low, high], (high.numbers - low.numbers) / 1.35)
            return [measure({"sd": [sd]}, 3.0, "quartiles are of single readings: sd = (q3 - q1)/1.35")]
    bare = [measure({}, 0.0, "")]
    around = [
        (low, high)
        for low in columns
        for high in columns
        if low.says("lo") and high.says("hi") and between(low, c, high)
    ]
    if around and not errors and around[0][0].of is None:
        low, high = around[0]
        return [measure({"lo": [low], "hi": [high]}, 2.5, "it always lies within an interval")]
    if not errors and len(columns) < 8:
        bare += _unnamed_interval(c, columns, score) or _unnamed_spread(c, columns, score, size)
    return bare


def _unnamed_interval(c: Column, columns: list[Column], score: float) -> list[Measure]:
    """Two columns without known names that enclose a value in every row."""
    free = [e for e in columns if e is not c and not e.said and not e.whole]
    found = []
    for low, high in itertools.permutations(free, 2):
        if (
            between(low, c, high)
            and (len(low.cells) > 4 or low.stem & high.stem)
            and low.there.max() < high.there.max()
            and len(c.cells) > 3
        ):
            why = f"{c.name!r} lies between {low.name!r} and {high.name!r} in every row"
            found.append(Measure({"value": [c], "lo": [low], "hi": [high]}, score + 2.0, [why]))
    return found[:1]


def _unnamed_spread(c: Column, columns: list[Column], score: float, size: list[Column]) -> list[Measure]:
    """The column to the right of a value, without a known name: it may be an error if it is much smaller."""
    at = columns.index(c) + 1
    e = columns[at] if at < len(columns) else None
    if (
        e is None
        or e.said
        or e.numbers is None
        or e.there.min() < 0
        or e.constant
        or c.numbers is None
        or c.was_set
        or e.whole
    ):
        return []
    both = ~np.isnan(e.numbers) & ~np.isnan(c.numbers) & (c.numbers != 0)
    share = float(np.median(abs(e.numbers[both] / c.numbers[both]))) if both.any() else 1.0
    if not 0 < share < 0.3 or (abs(c.there).min() < e.there).all():
        return []
    why = f"{e.name!r} is small beside {c.name!r}, and may be its error"
    more = {"n": size} if size else {}
    return [
        Measure({"value": [c], role: [e]} | (more if role == "sd" else {}), score + 1.5, [why], "error")
        for role in ("se", "sd")
    ]


def _relative(error: Column, value: Column) -> Column:
    assert error.numbers is not None
    assert value.numbers is not None
    percent = "%" not in "".join(error.levels[:3]) and (error.there.max(initial=0) > 1 or "%" in error.name)
    return made([error], error.numbers * abs(value.numbers) / (100.0 if percent else 1.0))


def _belongs(error: Column, value: Column, values: list[Column], columns: list[Column]) -> bool:
    """Whether an error column is that of a value: by the cell, by the words they share, or by its place."""
    if error.of is not None:
        return value is error.of
    most = max((len(error.stem & v.stem) for v in columns if not v.says("size", *ERRORS)), default=0)
    if most:
        return len(error.stem & value.stem) == most
    same = [
        v for v in values if v.stem == error.stem and v.says("value", "rate")
    ]  # mean and sd, and no other word
    left = [c for c in itertools.takewhile(lambda c: c is not error, columns) if not c.says("size", *ERRORS)]
    beside = [v for v in left[-1:] if v in values]
    called = [v for v in values if v.says("value")]
    found = same or beside or called or [v for v in values if v in left] or values
    return bool(found) and value is found[-1]


def _size(columns: list[Column], beside: Column) -> list[Column]:
    """The column of the number of readings: one that shares the most words, and then the nearest."""
    sizes = [
        c for c in columns if c.whole and c.says("size") and not c.says("successes") and c.there.min() >= 0
    ]
    order = {id(c): at for at, c in enumerate(columns)}
    return sorted(
        sizes, key=lambda c: (-len(c.stem & beside.stem), abs(order[id(c)] - order.get(id(beside), 0)))
    )[:1]


def without_summaries(found: list[Measure], option: Column) -> list[Measure]:
    """Leave out means that repeat in all rows of an option, if there are single readings as well."""
    if option.unique:
        return found
    varies = [one for one in found if not determines(option, one.value)]
    if not varies:
        return found
    plain = []
    for one in varies:
        repeated = [
            c
            for role, cs in one.roles.items()
            if role in ("sd", "se", "var", "lo", "hi")
            for c in cs
            if determines(option, c) and not c.constant
        ]
        lone = {"value": one.roles["value"]} if repeated and "value" in one.roles else None
        plain.append(
            one if lone is None else replace(one, roles=lone, score=one.score - 3.0, ask="", because=[])
        )
    return plain
