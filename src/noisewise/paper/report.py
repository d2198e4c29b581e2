"""The report: compute what is missing, describe every section, write page, figures and numbers.

Pieces are spread over processes, and each is kept in a file when done and never computed again. The page is
one file with the charts inside, readable without a network, the same for the same seed.
"""

import base64
import hashlib
import inspect
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl

from noisewise.core.checks import check_choice
from noisewise.core.files import sources_hash, written_whole
from noisewise.core.parallel import spread
from noisewise.core.randomness import check_seed
from noisewise.core.version import __version__
from noisewise.paper.case_study import CASE_STUDY
from noisewise.paper.external import EXTERNAL
from noisewise.paper.heavy_tails import HEAVY_TAILS
from noisewise.paper.section import (
    LABELS,
    Account,
    Effort,
    Figure,
    Finding,
    Outcome,
    Piece,
    Prose,
    Section,
    Shown,
)
from noisewise.paper.table1 import TABLE_1
from noisewise.paper.table2 import TABLE_2
from noisewise.paper.theorem1 import THEOREM_1
from noisewise.paper.theorem2 import THEOREM_2
from noisewise.paper.theorem3 import THEOREM_3

#: In the order of the report.
SECTIONS = (TABLE_1, TABLE_2, CASE_STUDY, THEOREM_1, THEOREM_2, THEOREM_3, HEAVY_TAILS, EXTERNAL)
#: The rooms that a result depends on; the words and charts around it may change without computing it again.
ROOMS = ("core", "actions", "designs", "rules", "simulation", "theory")
FOLDER = "computed"
Name = TypeVar("Name")


class Report(NamedTuple):
    """What a run found, and where it was written."""

    checks: list[tuple[str, Finding]]  # with the name of the section
    report: Path

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(check.passed for _, check in self.checks)


def check_paper(
    names: Sequence[str] = ("all",),
    *,
    full: bool = False,
    out: str | os.PathLike[str] = "paper",
    seed: int = 0,
    on: Any = None,
) -> Report:
    """Measure the claims of the paper and write a report.

    Args:
        names: Sections by name, or ``"all"``.
        full: The long run: more replications, and larger horizons.
        out: The folder for report, figures and numbers. What is computed is kept there and used again.
        seed: Seed of everything random.
        on: Number of processes, an executor of `concurrent.futures`, or a Dask client (or the address of its
            scheduler); default: all processors. The report does not depend on it.
    """
    sections = _chosen(names)
    effort = Effort(full, check_seed(seed))
    folder = Path(out)
    wanted = {(one.name, key): piece for one in sections for key, piece in one.pieces(effort).items()}
    outcomes = compute(wanted, folder, on)
    accounts = []
    for section in sections:
        own = {key: outcomes[name, key] for name, key in wanted if name == section.name}
        accounts.append((section, section.describe(effort, own)))
    _write(effort, accounts, folder)
    checks = [(section.name, check) for section, one in accounts for check in one.checks]
    return Report(checks, folder / "report.html")


def _chosen(names: Sequence[str]) -> list[Section]:
    known = {section.name: section for section in SECTIONS}
    for name in names:
        check_choice("sections", name, ("all", *known))
    return list(SECTIONS) if "all" in names or not names else [known[name] for name in dict.fromkeys(names)]


def _write(effort: Effort, accounts: Sequence[tuple[Section, Account]], folder: Path) -> None:
    """Everything that people read or read in."""
    for name in ("figures", "numbers"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for section, one in accounts:
        drawn = tuple(block.name for block in one.blocks if isinstance(block, Figure))
        if drawn != section.figures:
            raise RuntimeError(f"Section {section.name!r} must draw {section.figures}; it drew {drawn}.")
        for block in one.blocks:
            if isinstance(block, Figure):
                with written_whole(folder / "figures" / f"{block.name}.svg") as draft:
                    draft.write_bytes(svg(block))
            elif isinstance(block, Shown):
                with written_whole(folder / "numbers" / f"{block.name}.parquet") as draft:
                    block.frame.write_parquet(draft, statistics=False)
    with written_whole(folder / "paper.json") as draft:
        draft.write_text(json.dumps(_numbers(effort, accounts), indent=2, allow_nan=False) + "\n")
    with written_whole(folder / "report.html") as draft:
        draft.write_text(page(effort, accounts), encoding="utf-8")


def _numbers(effort: Effort, accounts: Sequence[tuple[Section, Account]]) -> dict[str, Any]:
    return {
        "schema": "noisewise.paper/1",
        "version": __version__,
        "size": "full" if effort.full else "quick",
        "seed": effort.seed,
        "sections": [
            {
                "name": section.name,
                "checks": [check._asdict() for check in one.checks],
                "tables": {b.name: rows_of(b.frame) for b in one.blocks if isinstance(b, Shown)},
                "figures": list(section.figures),
            }
            for section, one in accounts
        ],
    }


def compute(pieces: Mapping[Name, Piece], out: Path, on: Any = None) -> dict[Name, Outcome]:
    """The outcome of every piece, read from ``out`` if it is there already.

    After Ctrl-C the pieces that are done stay.
    """
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{piece.function.__name__}-{_key(piece)}.json" for name, piece in pieces.items()}
    outcomes = {file: found for file in files.values() if (found := _read(file)) is not None}
    # Two sections may want the same piece of work: it is done once.
    missing = {file: pieces[name] for name, file in files.items() if file not in outcomes}
    label = f"{len(missing)} of {len(set(files.values()))} pieces"
    for (file, _), outcome in spread(_compute, missing.items(), on, label=label):
        # Here, and not where it was computed: other machines have other disks.
        with written_whole(file) as draft:
            draft.write_text(json.dumps(outcome, allow_nan=False))
        outcomes[file] = outcome
    return {name: outcomes[file] for name, file in files.items()}


def _compute(work: tuple[Path, Piece]) -> Outcome:
    piece = work[1]
    return piece.function(**piece.arguments)


def _read(file: Path) -> Outcome | None:
    """The outcome in a file; None if it is not there or was damaged."""
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _key(piece: Piece) -> str:
    """A hash of the arguments, and of every source that the outcome depends on."""
    digest = hashlib.sha256(sources_hash(ROOMS).encode())
    digest.update(inspect.getsource(sys.modules[piece.function.__module__]).encode())
    digest.update(piece.function.__qualname__.encode())
    digest.update(json.dumps(piece.arguments, sort_keys=True).encode())
    return digest.hexdigest()[:20]


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>The paper, checked</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ margin: 0 auto; max-width: 62rem; padding: 2rem 1.2rem 5rem; background: white; color: #1f1f1f;
  font: 16px/1.55 "Liberation Sans", Arial, Helvetica, sans-serif; color-scheme: light }}
h2 {{ margin: 3.2rem 0 .6rem; padding-top: .8rem; border-top: 2px solid #1f1f1f }} a {{ color: #0A559C }}
p, figcaption, caption {{ max-width: 46rem }} code {{ background: #f3f3f3; font-size: .92em }}
figure, table {{ margin: 1.6rem 0 }} figure img {{ max-width: 100%; height: auto; display: block }}
figcaption, caption {{ font-size: .92rem; text-align: left; padding: .3rem 0 }} .wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: .9rem }} th {{ text-align: left; vertical-align: bottom }}
td, th {{ padding: .28rem .8rem .28rem 0; border-bottom: 1px solid #e6e6e6; vertical-align: top }}
.number {{ text-align: right; font-variant-numeric: tabular-nums }} td.number {{ white-space: nowrap }}
.checks {{ list-style: none; padding-left: 0 }} .checks li {{ margin: .45rem 0; display: flex }}
.mark {{ flex: 0 0 8rem; font-weight: bold }} .holds {{ color: #00663f }}
.holds-with-care {{ color: #7a5200 }} .does-not-hold-as-printed {{ color: #0A559C }}
.not-confirmed {{ color: #b23a00 }}
</style></head><body>
<h1>The paper, checked</h1>
<p>{about}</p>
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
</body></html>
"""


def page(effort: Effort, accounts: Sequence[tuple[Section, Account]]) -> str:
    """The whole report."""
    every = [(section, check) for section, one in accounts for check in one.checks]
    counts = Counter(check.label for _, check in every)
    named = "; ".join(f"{label}: {counts[label]}" for label in LABELS if label in counts)
    ranked = sorted(every, key=lambda pair: LABELS.index(pair[1].label))
    size = "full" if effort.full else "quick"
    return _PAGE.format(
        about=f"noisewise {escape(__version__)}, the {size} run, seed {effort.seed}.",
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
    # As a picture of its own: the names inside several drawings on one page would collide.
    drawing, alt = base64.b64encode(svg(block)).decode(), escape(str(block.chart.to_dict()["description"]))
    return (
        f'<figure id="{block.name}"><img alt="{alt}" src="data:image/svg+xml;base64,{drawing}">'
        f"<figcaption>{_words(block.caption)} (<code>figures/{block.name}.svg</code>)</figcaption></figure>"
    )


def svg(figure: Figure) -> bytes:
    """A figure as a drawing."""
    from noisewise.charts.files import render

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
    """A value as a table shows it: three digits, and more of whole numbers."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        size = abs(value)
        if size and not 1e-3 <= size < 1e5:
            return f"{value:.2e}"
        return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}" if size >= 1 else f"{value:.3g}"
    return str(value)


def _words(text: str) -> str:
    """Text with `code` between backticks."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def rows_of(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """A table's rows for JSON: infinite numbers and NaN become null."""

    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return [{name: plain(value) for name, value in row.items()} for row in frame.to_dicts()]
