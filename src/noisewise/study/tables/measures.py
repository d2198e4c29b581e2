"""What came out, and how exactly: the value columns of a table with the errors that belong to them."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from noisewise.study.tables.columns import (
    ERRORS,
    NEITHER,
    RESULT,
    SOME,
    Column,
    Layout,
    alike,
    together,
    word_list,
    words_of,
)  # fmt: skip

#: Columns of numbers that are compared with each other.
MOST_NUMBERS = 60
Roles = dict[str, list[Column]]
#: The columns of an error bar by role, points, and what speaks for it.
Error = tuple[dict[str, Column], float, str]
_SIZES = ("sd", "se", "var", "lo", "hi")


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
    def counts_failures(self) -> bool:
        """Whether failures are counted, which may be beside the point where other things were measured."""
        return bool(re.search("(?i)failure|error", self.value.name)) and "successes" in self.roles

    @property
    def is_general(self) -> bool:
        """Whether the name of the value says that it is the result, and not one of several metrics."""
        return "successes" in self.roles or (
            self.value.says("value") and not self.value.says("metric", "rate")
        )


def measures(table: Layout, names: list[Column]) -> list[Measure]:
    """The results that a table can hold, the best first; none that a cell contradicts."""
    columns = [c for c in table.columns if c not in names and c.kind == "number" and c.there.size]
    columns = columns[:MOST_NUMBERS]
    found, rates = _counts(columns)
    exported = any(c.name.startswith("_") or {"state", "run id"} & {*c.said.values()} for c in table.columns)
    values = [c for c in columns if c not in rates and not c.constant and _may_be_value(c, exported)]
    if exported:
        values = [c for c in values if c.said.get("metric") != "duration"] or values
    few = [c for c in columns if c.n_levels <= 0.4 * len(c.cells)]
    varied = [c for c in few if any(c.crosses(o) for o in few if o is not c)]  # settings of a design
    for a, b in itertools.combinations([c for c in columns if not c.says("value", "successes", *ERRORS)], 2):
        unnamed = not (a.says(*RESULT) and b.says(*RESULT))
        if unnamed and a.n_levels * b.n_levels == len(a.cells) > 5 and a.crosses(b):
            varied += [a, b]
    values = [c for c in values if c not in varied] or values
    if any(c.says("value", "metric") for c in values):  # what repeats was set
        values = [c for c in values if c.says(*RESULT) or c.n_levels > 0.5 * len(c.cells) or c.is_binary]
    if any(c.says("value") and not c.says("before") for c in values):
        values = [c for c in values if c.says("value") or not c.says("quantile", "extreme", "quartile")]
    shares = [c for one in found if one.score >= 4.5 for columns in one.roles.values() for c in columns]
    for c in values:
        others = _with_error(c, values, columns)
        found += [replace(one, score=one.score - 2.0 * (one.is_bare and c in shares)) for one in others]
    counted = [c for c in columns if c.whole and {*c.said} == {"size"} and not c.constant]
    if not found and len(counted) == 1:  # insects that were counted, not readings
        found = [Measure({"value": counted}, 1.0)]
    kept: list[Measure] = []
    for one in sorted(found, key=lambda one: -one.score):  # none that repeats a better one in other units
        better = [o.value for o in kept if o.value is not one.value and not o.value.whole]
        if "successes" in one.roles or not one.is_bare or not any(one.value.follows(v) for v in better):
            kept.append(one)
    return kept


def _may_be_value(c: Column, exported: bool) -> bool:
    if c.says(*ERRORS, "rank", "key") or c.inner or c.name.startswith("_"):
        return False
    if c.says("size") and not c.says("value", "rate"):
        return c.says("metric") and not c.whole
    neither = c.says(*NEITHER, "setting") and not c.says(*RESULT)
    counts = c.numbers_rows and not c.says("value", "metric")
    return not neither and not counts and not (exported and c.says("ignored"))


def _counts(columns: list[Column]) -> tuple[list[Measure], list[Column]]:
    """Successes out of trials, which they never exceed, and the rates that follow from them."""
    found, known = [], []
    whole = [c for c in columns if c.whole and c.there.min() >= 0 and c.there.max() > 1]
    whole = [c for c in whole if not c.says("rank", "replicate")][:12]
    for hits, tries in itertools.permutations(whole, 2):
        pair = "{}:{}".format(*("_".join(words_of(c.name)) for c in (hits, tries)))
        if pair in word_list("opposites"):  # wins and losses are the trials together
            both = Column.made([hits, tries], hits.values + tries.values)
            why = [f"{hits.name!r} and {tries.name!r} together are all trials"]
            found.append(Measure({"successes": [hits], "trials": [both]}, 7.0, why))
        rows = together(hits, tries)
        if not rows.size or (rows[0] > rows[1]).any() or (rows[0] == rows[1]).all():
            continue
        rates = [c for c in columns if c not in (hits, tries) and c.is_ratio(hits, tries)]
        # Visitors that converted, seeds that germinated: a participle counts what happened.
        right = hits.said.get("metric") in ("correct", "passed", "success", "pass")
        named = (
            hits.says("successes")
            or (right and tries.says("size"))
            or (
                not hits.says("size", "value", "metric")
                and any(re.fullmatch(r"(?!speed)[a-z]{3,}ed", word) for word in words_of(hits.name))
            )
        )
        counted = tries.says("size") or (tries.constant and len(columns) <= 4)
        score = 2.5 * named + 1.5 * (counted and not tries.says("successes")) + 3.0 * bool(rates)
        score -= 0.5 * (hits.says("size") and not named) + 1.5 * bool(
            re.search("(?i)failure|error", hits.name)
        )
        unknown = not (hits.said or tries.said)
        unknown &= len(columns) <= 3 or (
            whole == columns and not any(c.said for c in columns) and not alike([hits, tries])
        )
        if unknown or (score >= 2.5 and (named or rates)):
            why = [
                f"{hits.name!r} never exceeds {tries.name!r}",
                *(f"{c.name!r} is their ratio" for c in rates),
            ]
            found.append(Measure({"successes": [hits], "trials": [tries]}, 1.5 + score, why))
            known += rates
        elif tries.says("size") and not hits.said and not tries.constant and not alike([hits, tries]):
            found.append(Measure({"successes": [hits], "trials": [tries]}, 0.5))  # what may be counted
    for step in [c for c in whole if not c.said]:  # visitors, then carts, then purchases
        for one in found[:]:
            hits, tries = one.roles["successes"][0], one.roles["trials"][0]
            if step not in (hits, tries) and step.is_between(hits, tries):
                why = [f"{step.name!r} lies between {hits.name!r} and {tries.name!r}"]
                found.append(Measure({"successes": [step], "trials": [tries]}, one.score - 0.5, why))
                break
    for part, total in shares_of_totals(columns).items():
        if not any(one.roles["successes"][0] is part for one in found):
            why = [f"{part.name!r} and its neighbours add up to {total.name!r}"]
            found.append(Measure({"successes": [part], "trials": [total]}, 5.0, why))
    return found, known


def shares_of_totals(columns: list[Column]) -> dict[Column, Column]:
    """Counts beside each other that add up to a number that another column says."""
    whole = [c for c in columns[:MOST_NUMBERS] if c.whole and c.there.min() >= 0]
    totals = [c for c in whole if c.says("size") and c.said["size"] not in ("total", "totals")]
    totals = [c for c in totals if c.there.size == len(c.cells) and c.there.min() > 1]
    parts = [c for c in whole if not c.says("size", "rank")] if totals else []
    found: dict[Column, Column] = {}
    sums = np.cumsum(
        [np.zeros(len(totals[0].cells[:SOME]) if totals else 0), *(c.values[:SOME] for c in parts)], axis=0
    )
    for first, last in itertools.combinations(range(len(parts) + 1), 2):
        some = parts[first:last]
        there = sums[last] - sums[first]
        total = next((t for t in totals if len(some) > 1 and (there == t.values[:SOME]).all()), None)
        found |= {c: total for c in some if total is not None and not c.constant and c not in found}
    return found


def _with_error(c: Column, values: list[Column], columns: list[Column]) -> list[Measure]:
    """A column as the value, with the error bar that belongs to it."""
    score = 1.0 + 2.0 * c.says("value") + 1.0 * c.says("metric", "quantile") + 0.3 * (not c.whole)
    score -= 2.0 * c.says("before") + 1.0 * c.was_set + 1.0 * (c.says("setting") and not c.says("value"))
    own = [e for e in columns if e.says(*ERRORS) and _belongs(e, c, values, columns)]
    own.sort(key=lambda e: len(e.stem & c.stem))
    mine = {role: e for e in own for role in e.said if role in ERRORS}
    some = ~np.isnan(c.values)
    sizes = [s for s in columns if s.whole and not (s.values[some] <= 0).any() and not s.says("successes")]
    unknown = [s for s in sizes if not s.said and s.there.min() > 1 and s is not c]
    totals = [s for s in unknown if any(t.is_product(c, s) for t in columns if t is not c)]
    unknown = totals or unknown
    sizes = [s for s in sizes if s.says("size")] or (unknown if "sd" in mine and len(unknown) == 1 else [])
    beside = next(iter(mine.values()), c)
    at = columns.index(beside)
    sizes.sort(key=lambda s: (-len(s.stem & beside.stem), abs(columns.index(s) - at)))
    for sd, se in itertools.permutations(own if sizes else [], 2):  # their cells say more than their names
        x, y, size = together(sd, se, sizes[0])
        if x.size > 1 and size.min() > 1 and (abs(x - y * np.sqrt(size)) <= 0.03 * abs(x)).all():
            mine = {role: e for role, e in mine.items() if e not in (sd, se)} | {"sd": sd, "se": se}
    mine = {role: _in_same_unit(e, c) for role, e in mine.items()}
    error = next(_errors_of(c, mine, bool(sizes), values, columns), None)
    errors = [error] if error or mine else [None, *itertools.islice(_unnamed(c, columns), 1)]
    found = []
    for roles, points, why in (one or ({}, 0.0, "") for one in errors):
        for kind in ("se", "sd") if "unclear" in roles else ("",):
            named: Roles = {kind or role: [e] for role, e in roles.items()}
            n: Roles = {"n": sizes[:1]} if "sd" in named and sizes else {}
            ask = "error" if kind else "n" if "sd" in named and not sizes else ""
            found.append(Measure({"value": [c], **named, **n}, score + points, [why] if why else [], ask))
    return found


def _errors_of(
    c: Column, mine: dict[str, Column], counted: bool, values: list[Column], columns: list[Column]
) -> Iterator[Error]:
    """Error bars of a value by names or cells, the best first."""
    x = c.values
    errors = {role: e for role, e in mine.items() if role in ("lo", "hi") or e.there.min(initial=0) >= 0}
    halves = [
        e for role, e in errors.items()
        if role in ("moe", "unclear", "se")
        and (re.search(r"\d ?%", e.name) or (e.says("moe") and "se" not in e.said))
    ]  # fmt: skip
    if "sd" in errors and (counted or "se" not in errors):
        yield {"sd": errors["sd"]}, 3.0, f"{errors['sd'].name!r} says a standard deviation"
    for role in ("se", "var"):
        if role in errors and errors[role] not in halves:
            yield {role: errors[role]}, 3.0, f"{errors[role].name!r} says its error"
    if "lo" in errors and "hi" in errors and c.is_between(errors["lo"], errors["hi"]):
        yield (
            {role: errors[role] for role in ("lo", "hi")},
            4.0,
            "it always lies within the interval beside it",
        )
    sides = [(errors["down"], errors["up"])] if "up" in errors and "down" in errors else []
    for down, up in sides + [(e, e) for e in halves[:1]]:
        ends = {"lo": Column.made([down], x - down.values), "hi": Column.made([up], x + up.values)}
        yield ends, 3.0 + (down is not up), f"{up.name!r} says how far its interval goes"
    if "rsd" in errors:
        e = errors["rsd"]
        percent = "%" not in "".join(e.some[:3]) and (e.there.max(initial=0) > 1 or "%" in e.name)
        sd = Column.made([e], e.values * abs(x) / (100.0 if percent else 1.0))
        yield {"sd": sd}, 3.0, f"{e.name!r} is the standard deviation as a share of the mean"
    if "unclear" in errors:
        why = "nothing says whether the error is a standard error or a standard deviation"
        yield {"unclear": errors["unclear"]}, 3.0, why
    quartiles = [e for e in columns if e.says("quartile") and (not e.inner or e.sources == c.sources)]
    for e in quartiles:
        if (
            "iqr" in e.said.values()
            and not e.inner
            and (c.says("quantile") or _belongs(e, c, values, columns))
        ):
            yield {"sd": Column.made([e], e.values / 1.35)}, 2.5, "sd = IQR/1.35"
    for low, high in itertools.permutations(quartiles, 2):
        if c.is_between(low, high):
            sd = Column.made([low, high], (high.values - low.values) / 1.35)
            yield {"sd": sd}, 3.0, "quartiles are of single readings: sd = (q3 - q1)/1.35"
    if errors:
        return
    named = [e for e in columns if not e.inner and e.says("lo", "hi")]
    for low, high in itertools.permutations(named, 2):
        if low.says("lo") and high.says("hi") and c.is_between(low, high):
            yield {"lo": low, "hi": high}, 2.5, "it always lies within an interval"


def _unnamed(c: Column, columns: list[Column]) -> Iterator[Error]:
    """Error bars that are only seen in the cells, as columns without known names."""
    free = [e for e in columns if e is not c and not e.said and not e.whole] if len(columns) < 8 else []
    for low, high in itertools.permutations(free, 2):
        clear = len(c.cells) > 4 or (low.stem & high.stem and len(c.cells) > 3)
        if clear and c.is_between(low, high) and low.there.max() < high.there.max():
            why = f"{c.name!r} lies between {low.name!r} and {high.name!r} in every row"
            yield {"lo": low, "hi": high}, 2.0, why
    beside = columns[columns.index(c) + 1 :][:1]
    for e in beside if c.says("value") else []:
        rows = together(e, c)
        small = rows.size and (rows[0] >= 0).all() and rows[0].mean() < 0.3 * abs(rows[1]).mean()
        if e in free and small and not e.constant:
            why = f"{e.name!r} is small beside {c.name!r}, and may be its error"
            yield {"unclear": e}, 1.5, why


def _in_same_unit(error: Column, value: Column) -> Column:
    """An error in points beside a value in per cent, as a share."""
    percent = ["%" in "".join(c.some[:3]) for c in (value, error)]
    return replace(error, numbers=error.values / 100.0) if percent == [True, False] else error


def _belongs(error: Column, value: Column, values: list[Column], columns: list[Column]) -> bool:
    """Whether an error column is that of a value: by the cell, by the words they share, or by its place."""
    if error.inner:
        return value.sources == error.sources
    most = max((len(error.stem & v.stem) for v in columns if not v.says("size", *ERRORS)), default=0)
    if most:
        return len(error.stem & value.stem) == most
    same = [v for v in values if v.stem == error.stem and v.says("value", "rate")]  # mean and sd
    left = [c for c in itertools.takewhile(lambda c: c is not error, columns) if not c.says("size", *ERRORS)]
    beside = [v for v in left[-1:] if v in values]
    called = [v for v in values if v.says("value")]
    found = same or beside or called or [v for v in values if v in left] or values
    return bool(found) and value is found[-1]


def without_summaries(found: list[Measure], option: Column) -> list[Measure]:
    """Leave out means that repeat in all rows of an option, if there are single readings as well."""
    varies = [one for one in found if not option.determines(one.value)]
    if option.unique or not varies:
        return found
    for k, one in enumerate(varies):
        errors = [c for role in _SIZES for c in one.roles.get(role, ()) if "n" not in one.roles]
        if any(option.determines(c) and not c.constant for c in errors):
            varies[k] = Measure({"value": one.roles["value"]}, one.score - 3.0)
    return varies
