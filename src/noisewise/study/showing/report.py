"""A study as one page: what is certified, how it came about, what it would take. It needs no network.

The browser is told to refuse every request the page could make (a content security policy), so what is drawn
is what stands in the file.
"""

import json
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import Any

import numpy as np
import polars as pl

from noisewise.charts.drawing.page import html_table
from noisewise.core.support.version import __version__
from noisewise.core.support.words import counted, percent
from noisewise.study.certificate.certificate import Certificate
from noisewise.study.certificate.check import Check
from noisewise.study.certificate.claims import EXCLUDED, NOT_KNOWN
from noisewise.study.log.budget import policy_in_words
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.plan import Plan
from noisewise.study.planning.worth import Worth
from noisewise.study.showing.intervals import draw
from noisewise.study.showing.plots import course_of, draw_bound, draw_plan, draw_residuals, draw_worth

#: Rows of the tables of options, measurements and events.
ROWS = 200

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline' 'unsafe-eval'; img-src data:">
<title>{title}</title>
<style>
body {{ font: 16px/1.55 "Liberation Sans", Arial, Helvetica, sans-serif; color: #1f1f1f; background: white;
  max-width: 62rem; margin: 2rem auto 5rem; padding: 0 1.2rem }}
h1 {{ font-size: 1.9rem; margin: 0 }}
h2 {{ font-size: 1.35rem; margin: 2.6rem 0 .4rem; padding-top: .7rem; border-top: 2px solid #1f1f1f }}
p, ul {{ max-width: 48rem }}
.verdict {{ border-left: 6px solid {colour}; padding: .6rem 1rem; margin: 1.2rem 0; font-size: 1.25rem;
  background: #f6f6f6; max-width: 52rem }}
.soft {{ color: #595959; font-size: .92rem }}
.chart {{ margin: 1rem 0; overflow-x: auto }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; margin: .8rem 0; font-size: .9rem; font-variant-numeric: tabular-nums }}
th, td {{ padding: .2rem .9rem .2rem 0; text-align: right; border-bottom: 1px solid #e6e6e6 }}
th:first-child, td:first-child, td.name {{ text-align: left }}
td.name {{ overflow-wrap: anywhere }}
summary {{ cursor: pointer }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="soft">{about}</p>
<div class="verdict">{sentence}</div>
{sections}
{script}
</body>
</html>
"""


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that a report is made of."""

    analysis: Analysis
    certificate: Certificate
    check: Check
    worth: Worth
    plan: Plan | str  # why there is none
    options: pl.DataFrame
    measurements: pl.DataFrame
    events: pl.DataFrame
    under_way: int
    at: float


@dataclass
class _Page:
    """Sections and charts in the making."""

    sections: list[str] = field(default_factory=list)
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def section(self, title: str, *parts: str) -> None:
        self.sections.append(f"<section><h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>")

    def chart(self, name: str, draw: Callable[[], Any]) -> str:
        specification = draw().to_dict()
        self.charts[name] = specification
        label = escape(str(specification.get("description", "chart")))
        return f'<div class="chart" id="{name}" role="img" aria-label="{label}"></div>'


def make_page(findings: Findings, most: int = 40) -> str:
    """The whole page.

    Args:
        findings: What there is to tell.
        most: Options in the chart of intervals.
    """
    page, certificate = _Page(), findings.certificate
    _certified(page, findings, most)
    _planned(page, findings)
    _learnt(page, findings)
    _checked(page, findings)
    _listed(page, findings)
    _made(page, findings)
    script = ""
    if page.charts:
        from noisewise.charts.drawing.chart_files import drawing_script

        script = drawing_script(page.charts)
    good = None if certificate.option is None else False if certificate.withheld else certificate.reached
    return _PAGE.format(
        title=escape(f"Study {findings.certificate.study}"),
        about=escape(_about(findings)),
        colour={True: "#2e7d32", False: "#b23a00", None: "#607d8b"}[good],
        sentence=escape(certificate.sentence),
        sections="\n".join(page.sections),
        script=script,
    )


def _about(findings: Findings) -> str:
    specification = findings.analysis.specification
    word = "largest" if specification.goal == "max" else "smallest"
    at = datetime.fromtimestamp(findings.at, UTC)
    options = counted(findings.certificate.n_options, "option")
    measurements = counted(findings.certificate.n_measurements, "measurement")
    return (
        f"The {word} of {options}, {findings.analysis.state.model}, {measurements}, "
        f"{findings.under_way} under way, {policy_in_words(findings.analysis.state)}. "
        f"Written {at:%Y-%m-%d %H:%M} UTC by noisewise {__version__}."
    )


def _certified(page: _Page, findings: Findings, most: int) -> None:
    certificate, analysis = findings.certificate, findings.analysis
    said = [*([certificate.beside] if certificate.beside else []), *certificate.notes]
    parts = [_list(tuple(said))] if said else []
    if not certificate.may_show_bounds:
        parts.insert(0, "<p>Nothing is certified at this moment.</p>")
    if certificate.option is not None:
        parts.append(page.chart("intervals", lambda: draw(analysis, certificate, most)))
    if certificate.may_show_bounds:
        parts.append(
            '<p class="soft">A bar says how far the difference to the recommended option can be off: '
            "towards better values if this option is the best, towards worse ones if the recommended option "
            "is. One whose bar reaches beyond the recommended estimate may still be better.</p>"
        )
    if certificate.evidence and certificate.may_show_bounds:
        parts.append(f"<p>Evidence: {escape(', '.join(certificate.evidence))}.</p>")
    if certificate.assumptions:
        rests = "It rests on:" if certificate.may_show_bounds else "A certificate would rest on:"
        parts += [f"<p>{rests}</p>", _list(certificate.assumptions)]
    page.section("What is certified", *parts)
    if certificate.may_show_bounds and len(course_of(findings.worth)) > 1:
        drawn = page.chart("bound", lambda: draw_bound(findings.worth, certificate.eps))
        page.section("How the bound fell", drawn, *_thinned(findings.worth))


def _thinned(worth: Worth) -> list[str]:
    count = len(worth.ledger)
    if worth.withheld or worth.looks >= count:
        return []
    return [
        f'<p class="soft">The bound was computed after {worth.looks:,} of {count:,} measurements: those that '
        "taught most, and some evenly between.</p>"
    ]


def _planned(page: _Page, findings: Findings) -> None:
    plan = findings.plan
    if isinstance(plan, str):
        page.section("What it would take", f"<p>{escape(plan)}</p>")
        return
    parts = [f"<p>{escape(line)}</p>" for line in str(plan).splitlines()]
    ends = [forecast.cost_high if plan.by_cost else forecast.high for forecast in plan.forecasts]
    if any(np.isfinite(end) and end > 0.0 for end in ends):
        parts.append(page.chart("plan", lambda: draw_plan(plan)))
    if any(end > 0.0 for end in ends):  # otherwise nothing had to be simulated
        parts.append(
            f'<p class="soft">The study and its policy simulated forward from what is known now, in '
            f"{plan.forecasts[0].paths} possible worlds.</p>"
        )
    page.section("What it would take", *parts)


_GROUPS = {
    "measurements": ("measurements", "{:,}"),
    "precision_share": ("of the precision", "{}"),
    "share": ("of what was learnt", "{}"),
}


def _learnt(page: _Page, findings: Findings) -> None:
    worth = findings.worth
    parts = [f"<p>{escape(worth.sentence)}</p>"]
    if not worth.ledger.is_empty():
        parts.append(page.chart("worth", lambda: draw_worth(worth, 25)))
        for what in ("instrument", "block"):
            if worth.ledger[what].n_unique() > 1:
                groups = worth.by(what).with_columns(pl.col(what).fill_null(f"no {what}"))
                groups = _in_percent(groups, 1, "precision_share", "share")
                parts.append(_table(groups, {what: (what, "{}"), **_GROUPS}, "groups"))
    page.section("What the measurements were worth", *parts)


def _checked(page: _Page, findings: Findings) -> None:
    lines = str(findings.check).splitlines()
    parts = [f"<p>{escape(line)}</p>" for line in lines if not line.startswith("  ")]
    if rows := tuple(line.strip() for line in lines if line.startswith("  ")):
        parts.append(_list(rows))
    if findings.analysis.columns.value.size:
        parts.append(page.chart("residuals", lambda: draw_residuals(findings.analysis)))
    page.section("Does the model fit?", *parts)


Columns = dict[str, str | tuple[str, str]]
_OPTIONS: Columns = {
    "option": "option",
    "estimate": ("estimate", "{:.5g}"),
    "se": ("standard error", "{:.3g}"),
    "measurements": ("measurements", "{:,}"),
    "standing": "may be the best",
    "excluded": "excluded",
}
_MEASUREMENTS: Columns = {
    "id": "measurement",
    "option": "option",
    "minus": "minus",
    "value": ("value", "{:.6g}"),
    "sigma": ("sigma", "{:.3g}"),
    "block": "block",
    "instrument": "instrument",
    "share": "of what was learnt",
    "bound_after": ("bound after", "{:.3g}"),
    "voided": "voided",
}
_EVENTS: Columns = {
    "number": ("event", "{:,}"),
    "at": ("when (UTC)", "{:%Y-%m-%d %H:%M:%S}"),
    "kind": "kind",
    "body": "what",
}


def _listed(page: _Page, findings: Findings) -> None:
    down = findings.certificate.goal == "max"
    options = findings.options.sort("estimate", descending=down, nulls_last=True, maintain_order=True)
    said = {True: "yes", False: "no", None: NOT_KNOWN}
    standing = [
        EXCLUDED if excluded is not None else said[answer]
        for answer, excluded in options.select("may_be_best", "excluded").iter_rows()
    ]
    options = options.with_columns(pl.Series("standing", standing, dtype=pl.String))
    listed = _table(options, _OPTIONS, "options", first=True)
    order = "largest" if down else "smallest"
    page.section("The options", _folded(f"Estimates, the {order} first", listed))
    ledger = findings.worth.ledger.select("id", "share", "bound_after")
    told = findings.measurements.join(
        _in_percent(ledger, 2, "share"), on="id", how="left", maintain_order="left"
    )
    short = pl.col("body").str.slice(0, 160)
    page.section(
        "The log",
        _folded("Measurements", _table(told, _MEASUREMENTS, "measurements")),
        _folded("Events", _table(findings.events.with_columns(short), _EVENTS, "events")),
    )


def _made(page: _Page, findings: Findings) -> None:
    specification, state = findings.analysis.specification, findings.analysis.state
    policy, model = state.policy, state.model
    rows = {
        "question": f"goal {specification.goal}, eps {specification.eps}, "
        f"confidence {percent(specification.confidence)}, span {model.span}, {model}",
        "policy": f"{policy.name} of noisewise {policy.version}, {json.dumps(policy.options)}",
        **({} if specification.budget is None else {"budget": counted(specification.budget, "measurement")}),
        "seed of the study": str(specification.seed),
        "study made with": f"noisewise {specification.version}",
        "page made with": f"noisewise {__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
        "log": f"{findings.certificate.n_events:,} events, head {findings.certificate.head}",
        "catalogue (sha256)": specification.catalogue.fingerprint,
        "question and measurements (sha256)": findings.certificate.data,
        "radius": findings.certificate.radius,
    }
    items = "".join(
        f"<tr><td>{escape(name)}</td><td class=name>{escape(text)}</td></tr>" for name, text in rows.items()
    )
    page.section("Seeds and versions", f'<div class="wide"><table>{items}</table></div>')


def _table(frame: pl.DataFrame, columns: Columns, what: str, *, first: bool = False) -> str:
    """The first or the last rows; says what is left out."""
    shown = frame[:ROWS] if first else frame[-ROWS:]
    used = {
        name: column
        for name, column in columns.items()
        if name in shown.columns and (shown[name].null_count() < len(shown) or not len(shown))
    }
    left = ""
    if len(shown) < len(frame):
        which = "first" if first else "last"
        left = f'<p class="soft">The {which} {len(shown):,} of {len(frame):,} {escape(what)}.</p>'
    return f'{left}<div class="wide">{html_table(shown, used)}</div>'


def _in_percent(frame: pl.DataFrame, decimals: int, *columns: str) -> pl.DataFrame:
    """Shares as words, so that nothing but all is 100 %."""
    return frame.with_columns(
        pl.Series(name, [percent(share, decimals) for share in frame[name]], dtype=pl.String)
        for name in columns
    )


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _list(lines: tuple[str, ...]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
