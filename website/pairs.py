"""Blocks of code on a page.

A block of Python followed by the same at the shell: one beside the other where the page is wide enough. What
a program says in sentences is wrapped; columns of figures are not.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LANGUAGES = ("python", "sh")
#: What separates columns, or draws a table.
COLUMNS = re.compile(r"\S {2,}\S|[│|┃+]|^ {2,}\S", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this."""
    app.connect("doctree-read", pair)
    app.connect("doctree-read", wrap_sentences)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def pair(app: Sphinx, tree: nodes.document) -> None:
    """Put neighbours into a box of their own."""
    for left in list(tree.findall(nodes.literal_block)):
        place = left.parent
        at = place.index(left)
        right = place[at + 1] if at + 1 < len(place) else None
        if isinstance(right, nodes.literal_block) and (left["language"], right["language"]) == LANGUAGES:
            place.remove(left)
            place.remove(right)
            place.insert(at, nodes.container("", left, right, classes=["side-by-side"]))


def wrap_sentences(app: Sphinx, tree: nodes.document) -> None:
    """Mark outputs that are not tables."""
    for block in tree.findall(nodes.literal_block):
        if block["language"] == "text" and not COLUMNS.search(block.astext()):
            block["classes"].append("sentences")
