"""Elements of the report and their look: light and dark, on a phone, a screen and paper.

Sections, lists, tables, what is folded: everything is escaped here. The page has no script, and its only
style sheet is named by its hash: the browser refuses everything else, so that what is shown is what is in
the file.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.text import printable

#: Rows of a table that are shown.
ROWS = 200
#: The text of an empty cell.
NOTHING = "–"


class Column(NamedTuple):
    """A column of a table: its title, and how its values are written."""

    title: str
    form: str = "{}"
    number: bool = False
    long: bool = False


def text(words: Any) -> str:
    """Words of people as the page may hold them."""
    return escape(printable(words))


def together(words: str) -> str:
    """Escape words that may break into lines, but not between a number and its per cent sign."""
    return text(words).replace(" %", "\u00a0%")


def section(name: str, title: str, *parts: str) -> str:
    """A part of the page with its title."""
    inside = "\n".join(part for part in parts if part)
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{text(title)}</h2>\n{inside}\n</section>'


def paragraph(words: str, kind: str = "") -> str:
    """One paragraph."""
    return f"<p{f' class={kind}' if kind else ''}>{text(words)}</p>"


def bullets(lines: Iterable[str]) -> str:
    """A list; empty if there is nothing on it."""
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def folded(title: str, *parts: str) -> str:
    """What is shown when one asks for it."""
    return f"<details><summary>{text(title)}</summary>{''.join(parts)}</details>"


def figure(name: str, title: str, said: Sequence[str], *parts: str) -> str:
    """A chart with its title and how to read it."""
    words = "".join(paragraph(line, "soft") for line in said)
    return (
        f'<figure class="chart" id="{name}"><figcaption><h3>{text(title)}</h3>{words}</figcaption>'
        f"{''.join(parts)}</figure>"
    )


def definitions(rows: Mapping[str, str], kind: str) -> str:
    """Names with what they stand for."""
    items = "".join(f"<div><dt>{text(name)}</dt><dd>{text(what)}</dd></div>" for name, what in rows.items())
    return f'<dl class="{kind}">{items}</dl>'


def table(
    frame: pl.DataFrame,
    columns: Mapping[str, Column],
    what: str,
    *,
    first: bool = False,
    total: int | None = None,
) -> str:
    """The first or the last rows; says what is left out. Columns without any value are left out as well.

    Args:
        frame: The rows.
        columns: Those that are shown, by name.
        what: What the rows are, in the plural.
        first: Whether the first rows are shown, and not the last.
        total: How many rows there are; default: as many as the frame has.
    """
    shown = frame[:ROWS] if first else frame[-ROWS:]
    total = len(frame) if total is None else total
    used = {
        name: column
        for name, column in columns.items()
        if name in shown.columns and (shown[name].null_count() < len(shown) or not len(shown))
    }
    which = "first" if first else "last"
    caption = f"The {which} {len(shown):,} of {total:,} {what}." if len(shown) < total else ""
    caption = caption or f"{what[0].upper()}{what[1:]}"
    head = "".join(
        f'<th scope="col"{" class=number" if column.number else ""}>{text(column.title)}</th>'
        for column in used.values()
    )
    rows = "".join(
        f"<tr>{''.join(_cell(row[name], column) for name, column in used.items())}</tr>"
        for row in shown.select(list(used)).iter_rows(named=True)
    )
    # What can be scrolled can be reached by keyboard.
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(value: Any, column: Column) -> str:
    kind = " class=number" if column.number else " class=long" if column.long else ""
    return f"<td{kind}>{NOTHING if value is None else text(column.form.format(value))}</td>"


LIGHT = """--paper: #ffffff; --card: #f4f6f8; --ink: #1b1f24; --soft: #57606a; --line: #d5dae0;
--grid: #e6e9ed; --blue: #0a5fb4; --accent: #b33c00; --faded: #6b7480; --band: #d6e6f7; --good: #1a7f37;
--wait: #8a5a00; --bad: #b3261e;"""
DARK = """--paper: #13161b; --card: #1d2229; --ink: #e8eaed; --soft: #a9b1bc; --line: #39414c;
--grid: #262c34; --blue: #6cb2f7; --accent: #ff9a5c; --faded: #949eaa; --band: #1f3a57; --good: #56c878;
--wait: #e3b04b; --bad: #ff8f86;"""

#: How charts look, here and on every other page that has the same colours.
CHARTS = """
figure { margin: 1rem 0 }
figcaption { margin-bottom: .6rem }
svg { display: block }
svg text { fill: var(--soft); font-size: .8rem; font-variant-numeric: tabular-nums }
svg .note { fill: var(--ink); paint-order: stroke; stroke: var(--paper); stroke-width: 4px }
svg .grid { stroke: var(--grid) }
svg .edge { stroke: var(--ink); stroke-dasharray: 4 3 }
svg .band { fill: var(--band) }
svg .line { fill: none; stroke: var(--blue); stroke-width: 2.25; vector-effect: non-scaling-stroke;
  stroke-linejoin: round }
svg .bar { stroke-width: 5; stroke-linecap: round; opacity: .45 }
svg .recommended { stroke: var(--accent); fill: var(--accent) }
svg .enough { stroke: var(--good); fill: var(--good) }
svg .may { stroke: var(--blue); fill: var(--blue) }
svg .out { stroke: var(--faded); fill: none; stroke-width: 2 }
svg .bar.out { stroke-width: 3 }
svg .uncertain { stroke: var(--faded); fill: var(--paper); stroke-width: 2 }
svg .bar.uncertain { stroke-width: 4 }
svg .fill { stroke: none }
svg .dot { fill: var(--blue); stroke: none; opacity: .7 }
svg .dot.odd { fill: var(--accent); opacity: 1 }
.plane { display: grid; grid-template-columns: auto 1fr; column-gap: .5rem; max-width: 48rem }
.plane svg { width: 100%; overflow: visible }
.plane .left { width: 2rem } .plane .w4 { width: 2.2rem } .plane .w5 { width: 2.6rem }
.plane .w6 { width: 3.1rem } .plane .w7 { width: 3.5rem } .plane .w8 { width: 4rem }
.plane .w9 { width: 4.6rem }
.plane .below { grid-column: 2; height: 1.6rem }
.plane .title { grid-column: 1 / -1; margin: 0 0 .5rem; font-size: .85rem; color: var(--soft) }
.plane .title.across { grid-column: 2; margin: 0; text-align: center }
"""
#: Tables with a picture in each row.
ROWS_WITH_PICTURES = """
.pictured th[scope=row] { font-weight: 400; width: 24%; min-width: 7rem }
.pictured tr.recommended th { font-weight: 700 }
.pictured td, .pictured th { vertical-align: middle; padding-top: .25rem; padding-bottom: .25rem }
.pictured tbody td, .pictured tbody th { border-bottom-color: transparent }
.pictured .plot { position: relative; width: 34%; height: 2rem; padding: 0; min-width: 9rem }
.pictured.few .plot { width: 52% }
.pictured .plot + td { padding-left: 1rem }
.pictured td.plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: hidden }
.pictured td.plot svg svg { position: static; overflow: visible }
.pictured td.plot svg.axis { overflow: visible }
.pictured tfoot td { border: 0 }
.pictured .standing { color: var(--soft); font-size: .85rem; overflow-wrap: normal; min-width: 8.2rem }
.key { display: inline-flex; gap: .35rem; align-items: center; margin-right: 1rem }
.key svg { width: 16px; height: 16px; overflow: visible }
"""
#: Tables with pictures on narrow screens: the cells of a row are below its name.
ON_PHONES = """
  .pictured thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .pictured tbody, .pictured tfoot, .pictured caption { display: block }
  .pictured tbody tr, .pictured tfoot tr { display: grid; grid-template-columns: 1fr auto; column-gap: 1rem;
    padding-top: .45rem }
  .pictured th, .pictured td, .pictured .plot + td { padding: 0; border: 0; max-width: none; width: auto }
  .pictured th[scope=row] { width: auto; grid-row: 1; grid-column: 1 }
  .pictured .plot, .pictured.few .plot { grid-row: 2; grid-column: 1 / -1; height: 1.6rem; width: auto }
  .pictured .main { grid-row: 1; grid-column: 2; align-self: end }
  .pictured .standing { grid-row: 3; grid-column: 1 }
  .pictured .count { grid-row: 3; grid-column: 2; color: var(--soft); font-size: .85rem }
  .pictured .count::after { content: " measured" }
  .pictured tfoot td:not(.plot) { display: none }
"""

STYLE = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
* {{ box-sizing: border-box }}
html {{ -webkit-text-size-adjust: 100%; text-size-adjust: 100% }}
body {{ font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif;
  color: var(--ink); background: var(--paper); max-width: 56rem; margin: 0 auto; padding: 2rem 1.25rem 4rem;
  overflow-wrap: anywhere }}
h1 {{ font-size: 1.35rem; line-height: 1.3; margin: .2rem 0 1rem; font-weight: 600 }}
h2 {{ font-size: 1.15rem; line-height: 1.3; margin: 0 0 .6rem; font-weight: 600 }}
h3 {{ font-size: 1rem; margin: 1.2rem 0 .3rem; font-weight: 600 }}
p, ul, ol {{ max-width: 44rem; margin: .5rem 0 }}
ul, ol {{ padding-left: 1.3rem }}
li {{ margin: .25rem 0 }}
section {{ margin-top: 2.6rem; padding-top: 1.4rem; border-top: 1px solid var(--line) }}
.soft {{ color: var(--soft); font-size: .9rem }}
code {{ font: .9em ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; background: var(--card);
  padding: .1em .35em; border-radius: .3em }}
.verdict {{ background: var(--card); border-left: .4rem solid var(--faded);
  border-radius: .3rem .6rem .6rem .3rem; padding: 1.1rem 1.3rem 1.2rem }}
.verdict p {{ margin: 0; max-width: none }}
.verdict .state {{ font-size: .85rem; font-weight: 600; letter-spacing: .02em; color: var(--soft) }}
.headline strong {{ display: block; font-size: clamp(1.25rem, 1rem + 1.6vw, 1.75rem); line-height: 1.3;
  font-weight: 600; margin: .2rem 0 .4rem; text-wrap: balance }}
.verdict .then {{ margin-top: .5rem }}
.verdict.good {{ border-color: var(--good) }} .verdict.good .state {{ color: var(--good) }}
.verdict.wait {{ border-color: var(--wait) }} .verdict.wait .state {{ color: var(--wait) }}
.verdict.bad {{ border-color: var(--bad) }} .verdict.bad .state {{ color: var(--bad) }}
.facts {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .9rem 1.2rem;
  margin: 1.3rem 0 0 }}
.facts div {{ border-top: 2px solid var(--line); padding-top: .4rem }}
.facts dt {{ font-size: .85rem; color: var(--soft) }}
.facts dd {{ margin: 0; font-size: 1.15rem; font-weight: 600; font-variant-numeric: tabular-nums }}
{CHARTS}
table {{ border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums }}
caption {{ text-align: left; color: var(--soft); font-size: .9rem; padding: .3rem 0 }}
th {{ text-align: left; font-weight: 600; vertical-align: bottom }}
thead th {{ color: var(--soft); font-size: .8rem; font-weight: 500 }}
th, td {{ padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--grid); vertical-align: top }}
th.number, td.number {{ text-align: right; white-space: nowrap }}
th:last-child, td:last-child {{ padding-right: 0 }}
.wide {{ overflow-x: auto; max-height: 32rem; overflow-y: auto }}
.wide th, .wide td {{ min-width: 3rem; overflow-wrap: normal }}
.wide td.long {{ min-width: 12rem; overflow-wrap: anywhere }}
{ROWS_WITH_PICTURES}
details {{ margin: .6rem 0 }}
summary {{ cursor: pointer; font-weight: 500; padding: .2rem 0 }}
summary:focus-visible, .wide:focus-visible {{ outline: 2px solid var(--blue); outline-offset: 2px }}
dl.made {{ display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .3rem 1.2rem;
  font-size: .9rem; margin: 0 }}
dl.made div {{ display: contents }}
dl.made dt {{ color: var(--soft) }} dl.made dd {{ margin: 0 }}
@media (max-width: 40rem) {{
  body {{ padding: 1.2rem 1rem 3rem }}
  .verdict {{ padding: .9rem 1rem 1rem }}
  .facts {{ grid-template-columns: 1fr 1fr }}
{ON_PHONES}  dl.made {{ grid-template-columns: 1fr }} dl.made dd {{ margin-bottom: .5rem }}
}}
@media print {{
  :root {{ color-scheme: light; {LIGHT} }}
  body {{ max-width: none; padding: 0; font-size: 10.5pt }}
  section {{ margin-top: 1.4rem; padding-top: .8rem }}
  figure, tr, .verdict, .facts {{ break-inside: avoid }}
  h2, h3, figcaption {{ break-after: avoid }}
  .verdict {{ border: 1px solid var(--line); border-left: .4rem solid var(--faded);
    print-color-adjust: exact }}
  svg {{ print-color-adjust: exact }}
  .wide {{ overflow: visible; max-height: none }}
}}
"""


def content_policy() -> str:
    """What the browser may load: nothing; and which style sheet it may use: the one that has this hash."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
