"""What a finished table says: looked at once, answered on one screen, and nothing is kept."""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.support.checks import nearest
from noisewise.core.support.strict_json import plain
from noisewise.core.support.words import about, percent, rounded_up
from noisewise.study.certificate.bound import certify
from noisewise.study.certificate.certificate import Certificate
from noisewise.study.certificate.verdicts import UNBOUNDED
from noisewise.study.creation import create_study
from noisewise.study.inputs.error_bars import NONE
from noisewise.study.intake.columns.directions import less_is_better
from noisewise.study.log.looks import broken_promise
from noisewise.study.log.measurements import KINDS
from noisewise.study.log.model_choice import ESTIMATE
from noisewise.study.log.specification import ONCE
from noisewise.study.log.state import replay
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.sizes.variance_components import FEWEST
from noisewise.study.showing.intervals import comparison, estimates
from noisewise.study.study import Study
from noisewise.study.tables.table import Reading, Table

#: Readings that compare options within trials, whose differences vary from trial to trial.
TRIALS = ("arms of studies", "differences")
#: Options that are shown in a terminal, and the widths of their names and of the chart.
SHOWN, NAME_WIDTH, CHART_WIDTH = 24, 28, 30
#: What is counted behind an estimate, by what the rows are.
COUNTED = {"item": "items", "successes": "trials", "sd": "readings", "block": "values"}


@dataclass(frozen=True)
class LeagueRow:
    """An option in the league table, the best first.

    Attributes:
        option: The name.
        estimate: Its value, or its difference to another option where only differences are known.
        low: Lower end of the interval; None if there is none.
        high: Upper end of the interval; None if there is none.
        count: The readings, trials, items or rows behind it.
        may_be_best: Whether it may be the best; None where nothing may be said.
    """

    option: str
    estimate: float
    low: float | None
    high: float | None
    count: int
    may_be_best: bool | None


@dataclass(frozen=True, eq=False)
class TableAnswer:
    """The answer of a finished table, with the bounds of one look.

    Attributes:
        reading: How the table was read, in one sentence.
        certificate: Which option to take, and how far from the best it can be.
        league: The options, the best first.
        heading: What the estimates of the league table are.
        counts: What `count` is in the league table, such as "readings".
        intervals: What the intervals of the league table are.
        notes: What was assumed, in sentences.
        next_steps: What to do next, in sentences.
        command: The command that makes it a study that goes on; empty if the table is not a file.
        study: The study in memory that the answer was computed from.
        beside: The bound of a network without extra scatter.
    """

    reading: str
    certificate: Certificate
    league: tuple[LeagueRow, ...]
    heading: str
    counts: str
    intervals: str
    notes: tuple[str, ...]
    next_steps: tuple[str, ...]
    command: str
    study: Study
    beside: float | None = None

    @property
    def option(self) -> str | None:
        """The recommended option."""
        return self.certificate.option

    @property
    def bound(self) -> float:
        """How far from the best it can be; infinite if nothing can be said."""
        return self.certificate.bound

    @property
    def sentence(self) -> str:
        """The certificate in one sentence."""
        return self.certificate.sentence

    @property
    def sentences(self) -> list[str]:
        """The sentence, and those that have to be read with it."""
        certificate, n = self.certificate, self.league[0].count
        scope = certificate.scope
        if certificate.rests_on == 1 and all(row.count == 1 for row in self.league):
            scope = scope[1:]  # each value sums up what its table does not show
        if self.counts == "items" and certificate.may_show_bounds:
            scope.append(f"That is about all items like these; on these {n:,} the means are as they are.")
        return [certificate.sentence, *([certificate.beside] if certificate.beside else []), *scope]

    def __str__(self) -> str:
        parts = [
            [f"Read as: {self.reading}", *self.notes],
            self._table(),
            [*self.sentences, *self.next_steps],
        ]
        if self.command:
            how = "" if self.certificate.eps is not None else ", with the eps that is close enough for you"
            parts.append([f"To go on measuring{how}:", f"  {self.command}"])
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the answer for programs."""
        return {
            "kind": "read",
            "reading": self.reading,
            "certificate": json.loads(self.certificate.to_json()),
            "league": [{name: plain(cell) for name, cell in asdict(row).items()} for row in self.league],
            "heading": self.heading,
            "counts": self.counts,
            "intervals": self.intervals,
            "bound_without_extra_scatter": None if self.beside is None else plain(self.beside),
            "notes": list(self.notes),
            "next": list(self.next_steps),
            "command": self.command,
        }

    def report(self, path: str | PathLike[str]) -> None:
        """Write the answer as one HTML page."""
        self.study.report(path)

    def _table(self) -> list[str]:
        """The league table with a chart of its intervals."""
        rows = self.league[:SHOWN]
        if not rows:
            return []
        several = any(row.count != 1 for row in rows)
        columns = [
            ["option", *(_cut(row.option) for row in rows)],
            [_cut(self.heading), *_aligned(rows)],
            [self.counts, *(f"{row.count:,}" for row in rows)] if several else [""] * (len(rows) + 1),
            ["", *_bars(rows)],
        ]
        wide = [max(map(len, column)) for column in columns]
        lines = [
            f"{name:<{wide[0]}}  {text:<{wide[1]}}  {count:>{wide[2]}}  {bar}".rstrip()
            for name, text, count, bar in zip(*columns, strict=True)
        ]
        if len(self.league) > len(rows):
            lines.append(f"... and {len(self.league) - len(rows):,} more")
        if any(row.low is not None for row in rows):
            lines.append(self.intervals)
        return lines


def _cut(name: str) -> str:
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"


def _aligned(rows: Sequence[LeagueRow]) -> list[str]:
    """Estimates with their intervals, all with the digits that the narrowest interval needs."""
    least = min(
        (row.high - row.low for row in rows if row.low is not None and row.high is not None), default=0.0
    )
    sizes = [abs(row.estimate) for row in rows if row.estimate]
    scale = least or min(sizes, default=1.0)
    digits = min(9, max(0, 2 - math.floor(math.log10(scale)))) if math.isfinite(scale) else 3
    cells = [
        [f"{number:.{digits}f}" for number in (row.estimate, row.low, row.high) if number is not None]
        for row in rows
    ]
    estimate = max(len(row[0]) for row in cells)
    ends = max((len(cell) for row in cells for cell in row[1:]), default=0)
    return [
        f"{row[0]:>{estimate}}  [{row[1]:>{ends}}, {row[2]:>{ends}}]"
        if len(row) > 2
        else f"{row[0]:>{estimate}}"
        for row in cells
    ]


def _bars(rows: Sequence[LeagueRow]) -> list[str]:
    """The intervals as text on one scale; those of options that may be the best are solid."""
    ends = [
        x for row in rows for x in (row.low, row.estimate, row.high) if x is not None and math.isfinite(x)
    ]
    low, span = min(ends), max(ends) - min(ends)
    if span <= 0.0:
        return [""] * len(rows)

    def place(x: float) -> int:
        return round((CHART_WIDTH - 1) * (x - low) / span)

    found = []
    for row in rows:
        cells = [" "] * CHART_WIDTH
        if row.low is not None and row.high is not None:
            first, last = place(row.low), place(row.high)
            cells[first : last + 1] = ["━" if row.may_be_best else "─"] * (last + 1 - first)
        cells[place(row.estimate)] = "●" if row.may_be_best else "○"
        found.append("".join(cells))
    return found


def answer(
    table: Table,
    *,
    goal: str | None = None,
    eps: float | str | None = None,
    confidence: float = 0.95,
    against: str | None = None,
    extra_scatter: float | str | None = ESTIMATE,
    scatter: str | None = None,
    noise_floor: float | str | None = None,
    name: str = "table",
) -> TableAnswer:
    """Answer a finished table.

    Args:
        table: The table, understood.
        goal: "max" or "min"; default: "min" for values such as times, costs and errors, else "max".
        eps: How far from the best is good enough, in the unit of the values.
        confidence: Confidence of the certificate.
        against: An option to compare all others with in the league table.
        extra_scatter: What the error bars of trials lack: "estimate", a standard deviation, or None.
        scatter: "pooled" if readings of all options scatter alike, "own" if each option's differ.
        noise_floor: Resolution of the values.
        name: Name of the study that the answer is computed from.
    """
    reading = table.only
    source = str(table.source) if isinstance(table.source, str | PathLike) else ""
    results = reading.roles.get("value") or reading.roles.get("successes") or ()
    measured = results[0] if len(results) == 1 else "value"
    if "trials" in reading.roles:
        measured = f"share of {measured}"
    beside_it = [*reading.not_used, *(name for names in reading.roles.values() for name in names)]
    less = "plus" not in reading.roles and less_is_better(measured, beside_it)
    wanted = goal or ("min" if less else "max")
    notes = []
    question: dict[str, Any] = {
        "goal": wanted, "eps": eps, "confidence": confidence, "noise_floor": noise_floor, "looks": ONCE,
        "name": name if not source else Path(source.partition("#")[0]).stem,
    }  # fmt: skip
    beside = None
    if reading.kind in TRIALS:
        study, said, beside = _trials(reading, question, extra_scatter)
        notes.append(said)
    else:
        study = _told(reading, question | {"scatter": scatter})
    notes += [] if goal else [_about_goal(wanted, measured)]
    certificate = study.certificate()
    if certificate.option is None:
        raise ValueError(f"The table has no measurements: {certificate.sentence}")
    if against is not None and against not in study.options:
        raise ValueError(f"There is no option {against!r} in the table.{nearest(against, study.options)}")
    heading = "share" if "trials" in reading.roles else measured
    if against is not None or (_is_apart(study) and _level(study, certificate) is None):
        odds = "log odds " if "trials" in reading.roles and reading.kind in TRIALS else ""
        heading = f"{odds}minus {against or certificate.option}"
    counts = next((word for role, word in COUNTED.items() if role in reading.roles), "readings")
    counts = "rows" if "plus" in reading.roles or reading.kind in TRIALS else counts
    return TableAnswer(
        reading=str(table),
        certificate=certificate,
        league=tuple(_league(study, certificate, against)),
        heading=heading,
        counts=counts,
        intervals=_about_intervals(certificate, against),
        notes=tuple(notes),
        next_steps=tuple(_next_steps(study, certificate, reading, counts)),
        command=_command(source, table.flags, certificate, goal or ("min" if less else None), eps, confidence)
        if source
        else "",
        study=study,
        beside=beside,
    )


def _about_goal(goal: str, measured: str) -> str:
    best, other, flag = ("largest", "smallest", "min") if goal == "max" else ("smallest", "largest", "max")
    return f'The {best} {measured} counts as the best (the {other}: goal="{flag}").'


def _about_intervals(certificate: Certificate, against: str | None) -> str:
    if not certificate.may_show_bounds or not math.isfinite(certificate.bound):
        return "Intervals: one standard error to either side."
    other, sure = against or certificate.option, percent(certificate.confidence)
    if against is not None:
        return f"Intervals: the difference to {other}; each end holds for all options at once, {sure}."
    return f"Intervals: how far the difference to {other} can be off, {sure}. ● may be the best."


def _is_apart(study: Study) -> bool:
    from noisewise.study.models.levels import only_differences

    return only_differences(study._now().sums)


def one_look_at(study: Study) -> Certificate | None:
    """The certificate of a study if what it was told is a finished table; None if there is none."""
    state = replay(study.specification, study.events())
    if not state.measurements.n_live or broken_promise(state):
        return None
    state.looks = ONCE
    found = certify(Analysis(state))
    return None if found.withheld or not math.isfinite(found.bound) else found


# From rows to a study in memory


def _told(reading: Reading, question: Mapping[str, Any]) -> Study:
    """The table as a study that is looked at once."""
    study = create_study(options=reading.options, **question)
    rows = pl.DataFrame(reading.rows, infer_schema_length=None)
    if "item" in rows.columns:  # one look takes items for blocks
        rows = rows.rename({"item": "block"})
    if {"se", "n"} <= set(rows.columns) and rows["n"].null_count() == 0:  # the scatter of n readings
        rows = rows.with_columns(sd=pl.col("se") * pl.col("n").sqrt()).drop("se")
    if set(rows.columns) == {"option", "value"} and set(rows["value"].unique()) <= {0.0, 1.0}:
        rows = rows.group_by("option", maintain_order=True).agg(
            successes=pl.col("value").sum(), trials=pl.len()
        )
    whole = [name for name in ("n", "successes", "trials") if name in rows.columns]
    study.tell_many(rows.with_columns(pl.col(whole).cast(pl.Int64)), allow_missing_se=True)
    return study


def _trials(
    reading: Reading, question: Mapping[str, Any], extra: float | str | None
) -> tuple[Study, str, float | None]:
    """Trials with extra scatter, a sentence about it, and the bound without."""
    plain_study = _network(reading, question)
    without = plain_study.certificate().bound
    if extra is None:
        return (
            plain_study,
            "Trials are taken to differ by their error bars alone, without extra scatter.",
            None,
        )
    study = _network(reading, {**question, "extra_scatter": extra})
    if extra == ESTIMATE and study._now().sizes.waiting:
        return (
            plain_study,
            f"Estimating extra scatter between trials takes {FEWEST} more comparisons than unknowns: "
            "here they are taken to differ by their error bars alone. If it is known, state extra_scatter=.",
            None,
        )
    size = study.specification.value_scale.error(study.extra_scatter or 0.0)
    how = "estimated" if extra == ESTIMATE else "stated"
    bound = f"the bound would be {rounded_up(without)}"
    if not math.isfinite(without):
        bound = "their differences contradict each other"
    return (
        study,
        f"Error bars of trials are widened by {how} extra scatter, {size}; without it (extra_scatter=None) "
        f"{bound}.",
        without if math.isfinite(without) else None,
    )


def _network(reading: Reading, question: Mapping[str, Any]) -> Study:
    study = create_study(options=reading.options, **question)
    rows = pl.DataFrame(reading.rows, infer_schema_length=None)
    arms = "option" in rows.columns
    names = {"block": "study", "option": "treatment", "successes": "events", "trials": "n"}
    names |= {"plus": "treat1", "minus": "treat2"} | (
        {"value": "mean"} if arms else {"value": "TE", "se": "seTE"}
    )
    rows = rows.rename({old: new for old, new in names.items() if old in rows.columns})
    if "study" not in rows.columns:
        rows = rows.with_row_index("study").with_columns(pl.col("study").cast(pl.String))
    whole = [name for name in ("n", "events") if name in rows.columns]
    rows = rows.with_columns(pl.col(whole).cast(pl.Int64))
    study.tell_many(rows, layout="arms" if arms else "network")
    return study


# From the study to what is shown


def _league(study: Study, certificate: Certificate, against: str | None) -> list[LeagueRow]:
    """The options with their intervals, the best first."""
    analysis = study._now()
    state, sign = analysis.state, analysis.specification.sign
    sides = np.concatenate([analysis.columns.plus, analysis.columns.minus])
    of_rows = np.concatenate([analysis.columns.readings] * 2)
    behind = np.bincount(sides[sides >= 0], of_rows[sides >= 0], analysis.n)
    if against is not None and certificate.may_show_bounds:
        frame = _differences(study, state.index[against])
    elif certificate.may_show_bounds and math.isfinite(certificate.bound):
        frame = comparison(analysis, certificate)
    else:
        frame = estimates(analysis, certificate)
    known = certificate.may_show_bounds and certificate.verdict != UNBOUNDED
    level = 0.0 if against is not None or (shared := _level(study, certificate)) is None else shared
    first = certificate.option if against is None else None
    found = []
    for name, mean, low, high in frame.select("option", "mean", "low", "high").iter_rows():
        known_ends = low < high and math.isfinite(high - low)
        count, may_win = int(behind[state.index[name]]), name in certificate.candidates if known else None
        ends = (low + level, high + level) if known_ends else (None, None)
        found.append(LeagueRow(name, mean + level, ends[0], ends[1], count, may_win))
    return sorted(found, key=lambda row: (row.option != first, -sign * row.estimate))


def _level(study: Study, certificate: Certificate) -> float | None:
    """What to add to differences to the recommended option where every block has all options; else None."""
    analysis = study._now()
    columns = analysis.columns
    if not _is_apart(study) or (columns.minus >= 0).any() or not (columns.kind == KINDS.index(NONE)).all():
        return None
    pairs = np.unique(np.stack([columns.block, columns.plus]), axis=1)
    if pairs.shape[1] != columns.value.size or pairs.shape[1] != np.unique(columns.block).size * analysis.n:
        return None
    return float(columns.value[columns.plus == analysis.state.index[certificate.option or ""]].mean())


def _differences(study: Study, other: int) -> pl.DataFrame:
    """Differences to one option; each end of all intervals together has the certificate's confidence."""
    analysis = study._now()
    fit, boundary, sign = analysis.certified, analysis.boundary, analysis.specification.sign
    apart, up, down = fit.differences(other), boundary.half_widths(other), boundary.lead_widths(other)
    known = np.flatnonzero(np.isfinite(up) & np.isfinite(down) & analysis.state.allowed())
    ends = np.sort([sign * (apart - down), sign * (apart + up)], axis=0)
    return pl.DataFrame(
        {
            "option": [analysis.state.ids[k] for k in known],
            "mean": (sign * apart)[known] + 0.0,
            "low": ends[0][known],
            "high": ends[1][known],
        }
    )


def _next_steps(study: Study, certificate: Certificate, reading: Reading, counts: str) -> list[str]:
    """What to do with the answer."""
    if certificate.withheld:
        remedies = study.check().remedies[:1]
        return [*remedies] or ["Correct the table, or say how to read it, and ask again."]
    best = certificate.option
    rivals = [name for name in certificate.candidates if name != best]
    if not math.isfinite(certificate.bound):
        return []
    steps = []
    if not rivals:
        steps.append(f"Take {best}: no other option may be the best.")
    elif certificate.reached:
        steps.append(f"Take {best}. {_some(rivals)} may be better, but by no more than eps.")
    else:
        steps.append(f"{_some(rivals)} may be better.{_how_many_more(study, certificate, counts)}")
        if certificate.eps is None:
            steps.append(f"Is a loss of {certificate.bound_text} too small to matter? Then take {best}.")
    if "features" in reading.roles:
        steps.append("Features were not used: a study with model=linear learns from them.")
    return steps


def _some(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _how_many_more(study: Study, certificate: Certificate, counts: str) -> str:
    """How many more it takes to tell, if values and scatter stay as they are."""
    analysis = study._now()
    best = analysis.state.index[certificate.option or ""]
    apart, half = analysis.certified.differences(best), analysis.boundary.half_widths(best)
    rivals = np.array([at for name in certificate.candidates if (at := analysis.state.index[name]) != best])
    room = (certificate.eps or 0.0) - apart[rivals]
    if (room <= 0.0).any():
        return ""
    times = float(np.max(half[rivals] / room) ** 2)
    if times > 1000.0:
        return " They are too close to tell apart, even with a thousand times as many measurements."
    behind = np.bincount(analysis.columns.plus, analysis.columns.readings, analysis.n)[[best, *rivals]]
    if counts == "rows" or behind.max() < 2.0:
        return f" It takes about {times:.2g} times as many measurements to tell."
    more = math.ceil((times - 1.0) * behind.max())
    return f" It takes about {about(more, 2)} more {counts if more > 1 else counts[:-1]} of each to tell."


def _command(
    source: str,
    flags: str,
    certificate: Certificate,
    goal: str | None,
    eps: float | str | None,
    confidence: float,
) -> str:
    """The command that makes the table a study; where eps is not known one is proposed."""
    name = f"{Path(source.partition('#')[0]).stem}.db"
    parts = ["noisewise", "init", name, "--from", source, *shlex.split(flags)]
    bound = certificate.bound if math.isfinite(certificate.bound) else 0.0
    close = f"{bound or 0.1 * certificate.spread or 1.0:.1g}" if eps is None else eps
    said = [("--goal", goal), ("--eps", close), ("--confidence", None if confidence == 0.95 else confidence)]
    for flag, given in said:
        parts += [] if given is None else [flag, f"{given}"]
    return shlex.join(parts)
