"""What a finished table says: looked at once, answered on one screen, and nothing is kept."""

import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.checks import nearest
from noisewise.core.strict_json import plain
from noisewise.core.text import about, as_html, rounded_up
from noisewise.study.certificates.bound import certify
from noisewise.study.certificates.causes import SCATTER
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.check import SUSPICIOUS
from noisewise.study.creation import create_study
from noisewise.study.log.looks import broken_promise
from noisewise.study.log.model_choice import ESTIMATE
from noisewise.study.log.specification import ONCE
from noisewise.study.log.state import replay
from noisewise.study.measure import Errors
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.variance_components import FEWEST
from noisewise.study.planning.worth import Resolution, resolution_of
from noisewise.study.report.league import League, LeagueRow, league_of
from noisewise.study.study import Study
from noisewise.study.tables.table import Reading, Table
from noisewise.study.telling.directions import less_is_better

#: Readings that compare options within trials, whose differences vary from trial to trial.
TRIALS = ("arms of studies", "differences")
#: Advice about a study, and what it means for a table.
INSTEAD = {
    "void or amend": "correct",
    "Amend it, or void it, before anything else": "Correct it first",
    "tell them as `var=`": "say so: `roles={'var': COLUMN}`",
}
#: What is counted behind an estimate, by what the rows are.
COUNTED = {"item": "items", "successes": "trials", "sd": "readings", "block": "values"}


@dataclass(frozen=True, eq=False)
class TableAnswer:
    """The answer of a finished table, with the bounds of one look.

    Attributes:
        reading: How the table was read, in one sentence.
        certificate: Which option to take, and how far from the best it can be.
        table: The league table.
        notes: What was assumed, in sentences.
        next_steps: What to do next, in sentences.
        command: The command that makes it a study that goes on; empty if the table is not a file.
        study: The study in memory that the answer was computed from.
        beside: The bound of a network without extra scatter.
        resolution: The difference that the table can tell apart.
    """

    reading: str
    certificate: Certificate
    table: League
    notes: tuple[str, ...]
    next_steps: tuple[str, ...]
    command: str
    study: Study
    beside: float | None = None
    resolution: Resolution | None = None

    @property
    def league(self) -> tuple[LeagueRow, ...]:
        """The rows of the league table, the best first."""
        return self.table.rows

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
        if self.table.counts == "items" and certificate.may_show_bounds:
            scope.append(f"This is about all items like these; on these {n:,}, none scored better.")
        return [certificate.sentence, *([certificate.beside] if certificate.beside else []), *scope]

    def __str__(self) -> str:
        parts = [
            [f"Read as: {self.reading}", *self.notes],
            self.table.lines(),
            [*self.sentences, *self.next_steps, *([self.resolution.text] if self.resolution else [])],
        ]
        if self.command and not self.certificate.withheld:
            eps = "" if self.certificate.eps is not None else " (--eps: a difference that does not matter)"
            parts.append([f"To measure more{eps}:", f"  {self.command}"])
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the answer for programs."""
        return {
            "kind": "read",
            "reading": self.reading,
            "certificate": json.loads(self.certificate.to_json()),
            "league": self.table.to_dict(),
            "heading": self.table.heading,
            "counts": self.table.counts,
            "intervals": self.table.intervals,
            "resolution": None if self.resolution is None else self.resolution.difference,
            "bound_without_extra_scatter": None if self.beside is None else plain(self.beside),
            "notes": list(self.notes),
            "next": list(self.next_steps),
            "command": self.command,
        }

    def report(self, path: str | PathLike[str]) -> None:
        """Write the answer as one HTML page."""
        self.study.report(path)

    def _repr_html_(self) -> str:
        resolution = [self.resolution.text] if self.resolution else []
        said = [*self.sentences, *self.next_steps, *resolution, f"Read as: {self.reading}", *self.notes]
        good = False if self.certificate.withheld else True if self.certificate.reached else None
        return as_html("Table", said, good=good, drawn=self.table._repr_html_())


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
        extra_scatter: What the error bars of trials lack: "estimate", a standard deviation, or "none".
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
        "goal": wanted, "eps": eps, "confidence": confidence, "noise_floor": noise_floor, "final": True,
        "name": name if not source else Path(source.partition("#")[0]).stem,
    }  # fmt: skip
    beside = None
    extra_scatter = None if extra_scatter == "none" else extra_scatter
    if reading.kind in TRIALS:
        study, said, beside = _trials(reading, question, extra_scatter)
        notes.append(said)
    else:
        study = _told(reading, question | {"scatter": scatter})
        if extra_scatter == ESTIMATE and study.certificate().withheld and not study.analysis().sigmas.waiting:
            study, wider = _with_estimated_scatter(study, reading, question | {"scatter": scatter})
            notes += wider
    notes += [] if goal else [_about_goal(wanted)]
    certificate = study.certificate()
    if certificate.option is None:
        raise ValueError(f"The table has no measurements: {certificate.sentence}")
    if against is not None and against not in study.options:
        raise ValueError(f"There is no option {against!r} in the table.{nearest(against, study.options)}")
    counts = next((word for role, word in COUNTED.items() if role in reading.roles), "readings")
    counts = "rows" if "plus" in reading.roles or reading.kind in TRIALS else counts
    heading = "share" if "trials" in reading.roles else measured
    table_of_options = league_of(study.analysis(), certificate, against, measured=heading, counts=counts)
    if "trials" in reading.roles and reading.kind in TRIALS:
        table_of_options = replace(table_of_options, heading=f"log odds {table_of_options.heading}")
    most = max((row.count for row in table_of_options.rows), default=0)
    this = f"these {most:,} {counts}" if counts == "items" else "this table"
    return TableAnswer(
        reading=str(table),
        certificate=certificate,
        table=table_of_options,
        notes=tuple(notes),
        next_steps=tuple(_next_steps(study, certificate, reading, counts)),
        command=_command(
            source, table.flags, certificate, goal or ("min" if less else None), eps, confidence, study
        )
        if source
        else "",
        study=study,
        beside=beside,
        resolution=None
        if certificate.withheld
        else resolution_of(study.analysis(), certificate.option, this, such="tables"),
    )


def _about_goal(goal: str) -> str:
    better, other, flag = ("Larger", "smaller", "min") if goal == "max" else ("Smaller", "larger", "max")
    return f'{better} values are better; if {other} ones are, use `goal="{flag}"`.'


def one_look_at(study: Study) -> Certificate | None:
    """Return the certificate of a study if its measurements are a finished table; None if there is none."""
    state = replay(study.specification, study.events())
    if not state.measurements.n_live or broken_promise(state):
        return None
    state.looks = ONCE
    found = certify(Analysis(state))
    return None if found.withheld or not math.isfinite(found.bound) else found


# From rows to a study in memory


def _begun(reading: Reading, question: Mapping[str, Any]) -> Study:
    asked = dict(question)
    errors = Errors(
        extra=asked.pop("extra_scatter", None),
        floor=asked.pop("noise_floor"),
        scatter=asked.pop("scatter", None),
    )
    return create_study(options=reading.options, errors=errors, **asked)


def _told(reading: Reading, question: Mapping[str, Any]) -> Study:
    """The table as a study that is looked at once."""
    study = _begun(reading, question)
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


def _with_estimated_scatter(
    study: Study, reading: Reading, question: Mapping[str, Any]
) -> tuple[Study, list[str]]:
    """The study with estimated extra scatter where rows contradict each other, and a sentence about it.

    What can be corrected, such as a decimal point or variances told as standard errors, is corrected first.
    """
    if any(cause.kind != SCATTER and cause.chance >= SUSPICIOUS for cause in study.check().causes):
        return study, []
    wider = _told(reading, {**question, "extra_scatter": ESTIMATE})
    if wider.certificate().withheld or wider.analysis().sigmas.waiting or not wider.extra_scatter:
        return study, []
    size = study.specification.value_scale.error(wider.extra_scatter)
    return wider, [
        "Rows disagree by more than their error bars, and no single cause explains it: the error bars are "
        f"widened by estimated extra scatter, {size}."
    ]


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
    if extra == ESTIMATE and study.analysis().sizes.waiting:
        return (
            plain_study,
            f"Estimating extra scatter between trials takes {FEWEST} more comparisons than unknowns: "
            "here they are taken to differ by their error bars alone. If it is known, state "
            "`extra_scatter=`.",
            None,
        )
    scatter = study.extra_scatter or 0.0
    size, how = study.specification.value_scale.error(scatter), "estimated" if extra == ESTIMATE else "stated"
    bound = f"the bound would be {rounded_up(without)}"
    if not math.isfinite(without):
        bound = "their differences contradict each other"
    said = f"Error bars of trials are widened by {how} extra scatter, {size}"
    if not scatter:
        said = "Extra scatter between trials is estimated at 0, and its upper limit is allowed for"
    said += '; without it (`extra_scatter="none"`)'
    return study, f"{said} {bound}.", without if math.isfinite(without) else None


def _network(reading: Reading, question: Mapping[str, Any]) -> Study:
    study = _begun(reading, question)
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


def _next_steps(study: Study, certificate: Certificate, reading: Reading, counts: str) -> list[str]:
    """What to do with the answer."""
    if certificate.withheld:
        return [*_in_rows(study.check().remedies[:1])] or [
            "Correct the table, or say how to read it, and ask again."
        ]
    best = certificate.option
    rivals = [name for name in certificate.candidates if name != best]
    if not math.isfinite(certificate.bound):
        return []
    steps = []
    if not rivals:
        steps.append(f"Take {best}.")
    elif certificate.reached:
        steps.append(f"Take {best}. {_some(rivals)} may be better, but by no more than eps.")
    else:
        steps.append(f"{_some(rivals)} may be better. {_how_many_more(study, certificate, counts)}".rstrip())
        if certificate.eps is None:
            steps.append(f"If a loss of {certificate.bound_text} does not matter, take {best}.")
    if "features" in reading.roles:
        steps.append("Features were not used: a study with `model=linear` learns from them.")
    return steps


def _in_rows(sentences: Sequence[str]) -> list[str]:
    """Advice about a study as advice about its table, in which rows are corrected."""
    said = [re.sub(r"m-\d+ \((row \d+)\)", r"\1", one) for one in sentences]
    for told, meant in INSTEAD.items():
        said = [one.replace(told, meant) for one in said]
    return said


def _some(names: Sequence[str], most: int = 4) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])


def _how_many_more(study: Study, certificate: Certificate, counts: str) -> str:
    """How many more would tell, if values and scatter stay as they are."""
    analysis = study.analysis()
    best = analysis.state.index[certificate.option or ""]
    apart, half = analysis.certified.differences(best), analysis.boundary.half_widths(best)
    rivals = np.array([at for name in certificate.candidates if (at := analysis.state.index[name]) != best])
    room = (certificate.eps or 0.0) - apart[rivals]
    if (room <= 0.0).any():
        return ""
    times = float(np.max(half[rivals] / room) ** 2)
    if times > 1000.0:
        return "Even a thousand times as many measurements would not tell them apart."
    behind = np.bincount(analysis.columns.plus, analysis.columns.readings, analysis.n)[[best, *rivals]]
    if counts == "rows" or behind.max() < 2.0:
        return f"About {times:.2g} times as many measurements would tell."
    more = math.ceil((times - 1.0) * behind.max())
    of_each = "for every option" if counts == "items" else "of each"
    return f"About {about(more, 2)} more {counts if more > 1 else counts[:-1]} {of_each} would tell."


def _command(
    source: str,
    flags: str,
    certificate: Certificate,
    goal: str | None,
    eps: float | str | None,
    confidence: float,
    study: Study,
) -> str:
    """The command that makes the table a study; where eps is not known one is proposed."""
    name = f"{Path(source.partition('#')[0]).stem}.db"
    parts = ["noisewise", "init", name, "--from", source, *shlex.split(flags)]
    bound = certificate.bound if math.isfinite(certificate.bound) else 0.0
    close = f"{bound or 0.1 * certificate.spread or 1.0:.1g}" if eps is None else eps
    said = [("--goal", goal), ("--eps", close), ("--confidence", None if confidence == 0.95 else confidence)]
    if study.specification.extra_scatter is not None:
        said.append(("--errors", f"extra={study.specification.extra_scatter}"))
    for flag, given in said:
        parts += [] if given is None else [flag, f"{given}"]
    return shlex.join(parts)
