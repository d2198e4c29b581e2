"""Charts and tables as files: a picture, a drawing, a page that needs no network, or the specification."""

import base64
import functools
import hashlib
import json
from collections.abc import Mapping
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import vl_convert

from noisewise.charts.draw import IN_THE_DARK
from noisewise.core.files import written_whole

if TYPE_CHECKING:
    import polars as pl


SUFFIXES = (".png", ".svg", ".html", ".json")
#: The version of the specification language that Altair writes, in the renderer's spelling.
_VERSION = "v" + ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])

_STYLE = """
body { margin: 1rem; background: #ffffff; color: #1f1f1f; color-scheme: light dark }
@media (prefers-color-scheme: dark) { body { background: #13161b; color: #e8eaed } }
svg { max-width: 100%; height: auto }
.vega-embed { position: relative; display: block }
.vega-embed details { position: absolute; top: 0; right: 0; opacity: .6 }
.vega-embed summary { list-style: none; cursor: pointer; width: 1.2rem }
.vega-embed .vega-actions { display: none; position: absolute; right: 0; background: canvas; padding: .4rem }
.vega-embed details[open] .vega-actions { display: grid; gap: .3rem; white-space: nowrap }
#vg-tooltip-element { visibility: hidden; position: fixed; z-index: 9; padding: .4rem .6rem;
  font: 12px sans-serif; background: canvas; color: canvastext; border: 1px solid #8f8f8f }
#vg-tooltip-element.visible { visibility: visible }
#vg-tooltip-element td.key { opacity: .7; text-align: right; padding-right: .4rem }
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="chart" role="img" aria-label="{label}"></div>
<script type="module">{script}</script>
</body>
</html>
"""

# Expressions are interpreted (ast), so that the page may forbid code that is made at run time.
_SCRIPT = """
{library}
const charts = {charts};
const dark = matchMedia("(prefers-color-scheme: dark)");
const colours = {colours};
const drawn = (specification) => {{
  if (!dark.matches) return specification;
  let text = JSON.stringify(specification);
  for (const [light, other] of Object.entries(colours)) {{
    text = text.replaceAll(JSON.stringify(light), JSON.stringify(other));
  }}
  return JSON.parse(text);
}};
const draw = () => {{
  for (const [name, specification] of Object.entries(charts)) {{
    vegaEmbed("#" + name, drawn(specification), {{
      mode: "vega-lite",
      renderer: "svg",
      ast: true,
      logLevel: 1,
      defaultStyle: false,
      tooltip: {{ disableDefaultStyle: true }},
      actions: {{ export: true, source: false, compiled: false, editor: false }},
    }}).catch(console.error);
  }}
}};
dark.addEventListener("change", draw);
draw();
"""


def save_chart(chart: alt.TopLevelMixin, path: str | PathLike[str]) -> Path:
    """Write a chart; the suffix of the path says how. The file is written whole or not at all.

    ``.png`` has twice the pixels of the chart, ``.html`` is one file with everything in it, ``.json`` is
    the Vega-Lite specification. Nothing is loaded from a network, neither now nor when the page is opened.
    """
    target = Path(path)
    suffix = check_suffix(target)
    if target.is_dir():
        raise IsADirectoryError(f"`path` must be a file, not a folder; got {str(path)!r}.")
    content = render(chart.to_dict(), suffix)
    with written_whole(target) as draft:
        draft.write_bytes(content)
    return target


def check_suffix(path: Path) -> str:
    """The suffix that says how to write a chart, refused if it is not one of ours."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"`path` must end in .png, .svg, .html or .json; got {str(path)!r}.")
    return suffix


def render(specification: dict[str, Any], suffix: str) -> bytes:
    """A specification as the content of a file with this suffix."""
    if suffix == ".png":
        return vl_convert.vegalite_to_png(specification, vl_version=_VERSION, scale=2)
    if suffix == ".svg":
        return vl_convert.vegalite_to_svg(specification, vl_version=_VERSION).encode()
    if suffix == ".json":
        return (json.dumps(specification, ensure_ascii=False, allow_nan=False) + "\n").encode()
    description = str(specification.get("description", "chart"))
    script = drawing_script({"chart": specification})
    allowed = f"script-src {_hash(script)}; style-src {_hash(_STYLE)}; img-src data: blob:"
    page = _PAGE.format(
        policy=f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
        title=escape(_title(specification)),
        style=_STYLE,
        label=escape(description),
        script=script,
    )
    return page.encode()


def drawing_script(charts: dict[str, dict[str, Any]]) -> str:
    """A script that draws each chart into the element with its name as id; it needs no network.

    In a dark page it draws in other colours, of the same order.
    """
    # A name with "</script>" in it would end the script.
    plain = json.dumps(charts, allow_nan=False).replace("<", "\\u003c")
    return _SCRIPT.format(library=_library(), charts=plain, colours=json.dumps(IN_THE_DARK))


def _hash(text: str) -> str:
    """How a content security policy names what may be run, or used as a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@functools.cache
def _library() -> str:
    """Vega, Vega-Lite and vega-embed in one script; bundling them takes seconds, once per process."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_VERSION)


def _title(specification: dict[str, Any]) -> str:
    title = specification.get("title", "Chart")
    text = title.get("text", "Chart") if isinstance(title, dict) else title
    return " ".join(text) if isinstance(text, list) else str(text)


def html_table(frame: "pl.DataFrame", columns: Mapping[str, str | tuple[str, str]]) -> str:
    """Some columns of a frame as a table: for each its title and, if not plainly, how values are written."""
    forms = {name: (how, "{}") if isinstance(how, str) else how for name, how in columns.items()}
    head = "".join(f"<th>{escape(title)}</th>" for title, _ in forms.values())
    rows = []
    for row in frame.iter_rows(named=True):
        cells = [
            f"<td{' class=name' if isinstance(row[name], str) else ''}>"
            f"{'-' if row[name] is None else escape(form.format(row[name]))}</td>"
            for name, (_, form) in forms.items()
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
