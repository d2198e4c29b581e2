"""The page: one file with the charts inside, readable without a network, the same for the same seed."""

import base64
import math
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from noisewise.paper.section import LABELS, Account, Effort, Figure, Finding, Prose, Section, Shown

if TYPE_CHECKING:
    import polars as pl

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper, checked</title>
<style>
:root {{ color-scheme: light }}
body {{ margin: 0 auto; max-width: 62rem; padding: 2rem 1.2rem 5rem; background: white; color: #1f1f1f;
  font: 16px/1.55 "Liberation Sans", Arial, Helvetica, sans-serif }}
h1 {{ font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem }}
h2 {{ font-size: 1.5rem; margin: 3.2rem 0 .6rem; padding-top: .8rem; border-top: 2px solid #1f1f1f }}
p {{ max-width: 46rem }}
code {{ background: #f3f3f3; padding: .05em .3em; border-radius: 3px; font-size: .92em }}
nav ul {{ padding-left: 1.2rem }}
a {{ color: #0A559C }}
figure {{ margin: 1.6rem 0 }}
figure img {{ max-width: 100%; height: auto; display: block }}
figcaption, caption {{ color: #595959; font-size: .92rem; text-align: left; padding: .3rem 0;
  max-width: 46rem }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; margin: 1.2rem 0; font-size: .9rem }}
th {{ text-align: left; border-bottom: 2px solid #1f1f1f; vertical-align: bottom }}
td, th {{ padding: .28rem .8rem .28rem 0 }}
td {{ border-bottom: 1px solid #e6e6e6; vertical-align: top }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums }}
td.number {{ white-space: nowrap }}
.checks {{ list-style: none; padding-left: 0 }}
.checks li {{ margin: .45rem 0; display: flex; max-width: 54rem }}
.mark {{ flex: 0 0 8rem; font-weight: bold }}
.holds {{ color: #00663f }}
.holds-with-care {{ color: #7a5200 }}
.does-not-hold-as-printed {{ color: #0A559C }}
.not-confirmed {{ color: #b23a00 }}
.quiet {{ color: #595959 }}
</style>
</head>
<body>
<h1>The paper, checked</h1>
<p class="quiet">{about}</p>
<p><em>Breaking the Total Variance Barrier: Sharp Sample Complexity for Linear Heteroscedastic Bandits with
Fixed Action Set</em> has theorems, two tables and a worked case study, and no experiments. Here they are as
measurements: what holds, what holds only with care, and what does not.</p>
<nav aria-label="Contents"><ul>
{contents}
</ul></nav>
<section aria-label="Checks"><h2 id="checks">What was found</h2>
<p>{verdict}</p>
{checks}
</section>
{sections}
</body>
</html>
"""


def page(effort: Effort, accounts: Sequence[tuple[Section, Account]], version: str) -> str:
    """The whole report."""
    every = [(section, check) for section, one in accounts for check in one.checks]
    counts = Counter(check.label for _, check in every)
    named = "; ".join(f"{label}: {counts[label]}" for label in LABELS if label in counts)
    ranked = sorted(every, key=lambda pair: LABELS.index(pair[1].label))
    size = "full" if effort.full else "quick"
    return _PAGE.format(
        about=f"noisewise {escape(version)}, the {size} run, seed {effort.seed}.",
        contents="\n".join(
            f'<li><a href="#{section.name}">{escape(section.title)}</a></li>' for section, _ in accounts
        ),
        verdict=f"{named[0].upper()}{named[1:]}." if named else "",
        checks=_checks([check for _, check in ranked], [section for section, _ in ranked]),
        sections="\n".join(_section(section, one) for section, one in accounts),
    )


def _section(section: Section, account: Account) -> str:
    blocks = "\n".join(_block(block) for block in account.blocks)
    checks = f"<h3>Checked</h3>\n{_checks(account.checks)}" if account.checks else ""
    return f'<section id="{section.name}">\n<h2>{escape(section.title)}</h2>\n{blocks}\n{checks}\n</section>'


def _checks(checks: Sequence[Finding], sections: Sequence[Section] = ()) -> str:
    """What was found; in the summary with links to the sections."""
    links = [f'<a href="#{section.name}">{section.name}</a>: ' for section in sections] or [""] * len(checks)
    items = [
        f'<li><span class="mark {check.label.lower().replace(" ", "-")}">{check.label}</span>'
        f"<span>{link}{_words(check.name)}: {_words(check.detail)}.</span></li>"
        for check, link in zip(checks, links, strict=True)
    ]
    return '<ul class="checks">\n' + "\n".join(items) + "\n</ul>"


def _block(block: Prose | Shown | Figure) -> str:
    if isinstance(block, Prose):
        return f"<p>{_words(block.text)}</p>"
    if isinstance(block, Shown):
        return _table(block)
    return _figure(block)


def _figure(figure: Figure) -> str:
    drawing = base64.b64encode(svg(figure)).decode()
    # As a picture of its own: the names inside several drawings on one page would collide.
    return (
        f'<figure id="{figure.name}">'
        f'<img alt="{escape(str(figure.chart.to_dict()["description"]))}" '
        f'src="data:image/svg+xml;base64,{drawing}">'
        f"<figcaption>{_words(figure.caption)} (<code>figures/{figure.name}.svg</code>)</figcaption></figure>"
    )


def svg(figure: Figure) -> bytes:
    """A figure as a drawing."""
    from noisewise.charts.drawing.chart_files import render

    return render(figure.chart.to_dict(), ".svg")


def _table(shown: Shown) -> str:
    frame = shown.frame
    numeric = {name for name, kind in frame.schema.items() if kind.is_numeric()}

    def cell(tag: str, name: str, text: str) -> str:
        kind = ' class="number"' if name in numeric else ""
        return f"<{tag}{kind}>{_words(text)}</{tag}>"

    head = "".join(cell("th", name, name) for name in frame.columns)
    rows = "\n".join(
        "<tr>" + "".join(cell("td", name, text_of(value)) for name, value in row.items()) + "</tr>"
        for row in frame.to_dicts()
    )
    return (
        f'<div class="wide"><table id="{shown.name}"><caption>{_words(shown.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )


def text_of(value: Any) -> str:
    """A value as it stands in a table: three digits and more where they are whole."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value == 0.0 or 1e-3 <= abs(value) < 1e5:
            return (
                f"{value:,.0f}"
                if abs(value) >= 1000
                else f"{value:.4g}"
                if abs(value) >= 1
                else f"{value:.3g}"
            )
        return f"{value:.2e}"
    return str(value)


def _words(text: str) -> str:
    """Text with `code` between backticks."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def rows_of(frame: "pl.DataFrame") -> list[dict[str, Any]]:
    """A table's rows for JSON: what is no finite number becomes null."""
    return [
        {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        for row in frame.to_dicts()
    ]
