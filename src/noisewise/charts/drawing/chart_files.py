"""Files of charts: a picture, a drawing, a page that needs no network, or the specification."""

import functools
import json
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from noisewise.core.support.files import written_whole

SUFFIXES = (".png", ".svg", ".html", ".json")
#: The version of the specification language that Altair writes, in the renderer's spelling.
_VERSION = "v" + ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 1rem; background: white }}</style>
</head>
<body>
<div id="chart" role="img" aria-label="{label}"></div>
{script}
</body>
</html>
"""

_SCRIPT = """<script type="module">
{library}
const charts = {charts};
for (const [name, specification] of Object.entries(charts)) {{
  vegaEmbed("#" + name, specification, {{
    mode: "vega-lite",
    renderer: "svg",
    actions: {{ export: true, source: false, compiled: false, editor: false }},
  }}).catch(console.error);
}}
</script>"""


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
    page = _PAGE.format(
        title=escape(_title(specification)),
        label=escape(description),
        script=drawing_script({"chart": specification}),
    )
    return page.encode()


def drawing_script(charts: dict[str, dict[str, Any]]) -> str:
    """A script that draws each chart into the element with its name as id; it needs no network."""
    # A name with "</script>" in it would end the script.
    plain = json.dumps(charts, allow_nan=False).replace("<", "\\u003c")
    return _SCRIPT.format(library=_library(), charts=plain)


@functools.cache
def _library() -> str:
    """Vega, Vega-Lite and vega-embed in one script; bundling them takes seconds, once per process."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_VERSION)


def _title(specification: dict[str, Any]) -> str:
    title = specification.get("title", "Chart")
    text = title.get("text", "Chart") if isinstance(title, dict) else title
    return " ".join(text) if isinstance(text, list) else str(text)
