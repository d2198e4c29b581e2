"""The pictures of the documentation, made by its code: ``python -m website.pictures`` renews all.

A block of a page calls ``save_chart(chart, "NAME.svg")``, followed by ``![...](images/NAME.svg)``, on
pages in folders with ``../`` in front. ``python -m website.pictures docs/policies.md`` renews those of one.
"""

import contextlib
import importlib.metadata
import math
import re
import shutil
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from website.blocks import BLOCK, ROOT, blocks, forgotten, printed

DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
#: Pictures larger than this, in bytes, make pages slow; fewer options or points are easier to read anyway.
LARGEST = 60_000
SAVED = re.compile(r"""save_chart\([^"']*["'](?P<name>[\w-]+\.svg)["']\)""")
LINK = re.compile(r"!\[[^\]]+\]\((?:\.\./)*images/(?P<name>[\w-]+\.svg)\)")
#: In front of the link to a picture of what is measured while the page is run: never twice the same.
LIVE = "<!-- live -->\n"
#: What the layout of a drawing, and the numbers in it, depend on.
DRAWING = ("altair", "vl-convert-python", "numpy", "scipy", "polars")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def pages() -> list[Path]:
    """All pages of the documentation that make pictures."""
    return [page for page in sorted(DOCS.rglob("*.md")) if pictures(page)]


def pictures(page: Path) -> list[str]:
    """The pictures that a page makes and shows, in its order."""
    text = page.read_text(encoding="utf-8")
    made = {saved["name"] for _, code in blocks(page) for saved in SAVED.finditer(code)}
    return [link["name"] for link in LINK.finditer(BLOCK.sub("", text)) if link["name"] in made]


def live(page: Path) -> list[str]:
    """Those that show what was measured while the page was run."""
    text = page.read_text(encoding="utf-8")
    return [link["name"] for link in LINK.finditer(text) if text[: link.start()].endswith(LIVE)]


def make(page: Path, folder: Path) -> list[Path]:
    """Run a page in a temporary folder, and put its pictures into `folder`."""
    names, folder = pictures(page), folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(temporary), forgotten():
        printed(page)
        return [Path(shutil.copyfile(name, folder / name)) for name in names]


def same_drawing(one: str, other: str) -> bool:
    """Are two drawings the same, but for rounding in the last digits of their numbers?

    Example:
        >>> same_drawing('<circle r="1.5"/>', '<circle r="1.5000000001"/>')
        True
        >>> same_drawing('<circle r="1.5"/>', '<circle r="1.6"/>')
        False
    """
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    numbers = (map(float, NUMBER.findall(drawing)) for drawing in (one, other))
    return all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-3) for a, b in zip(*numbers, strict=True))


def marks(drawing: str) -> set[str]:
    """The kinds of marks that a drawing has, and the names on its axes: all of it but numbers.

    Example:
        >>> names = '<g class="mark-text role-axis-label"><text>A</text><text>0.5</text></g>'
        >>> sorted(marks(f'<svg><g class="mark-rule role-mark"/>{names}</svg>'))
        ['A', 'mark-rule']
    """
    groups = [group for group in ElementTree.fromstring(drawing).iter() if "role-" in group.get("class", "")]
    kinds = {name.split()[0] for group in groups if "role-mark" in (name := group.get("class", ""))}
    labels = [text for group in groups if "axis-label" in group.get("class", "") for text in group.itertext()]
    return kinds | {label for label in labels if not NUMBER.search(label)}


def unlike_those_pinned() -> list[str]:
    """Packages that decide how a picture looks and are not those of constraints.txt, with their versions."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))
    versions = {name: importlib.metadata.version(name) for name in DRAWING}
    return [f"{name} {version}" for name, version in versions.items() if version != pinned[name]]


def main(arguments: list[str]) -> None:
    """Renew the pictures of these pages, or of all."""
    for page in [Path(name).resolve() for name in arguments] or pages():
        for picture in make(page, IMAGES):
            print(
                f"{picture.relative_to(ROOT)}: {picture.stat().st_size:,} bytes, by {page.relative_to(ROOT)}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
