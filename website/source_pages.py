"""The source of the site: the pages of docs together with those that are made from the code.

The pages of docs are written to be read where they are. Links that lead out of the folder are the only thing
that is changed in them: code that they point to becomes a page of its own.
"""

import os
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from website import api_pages, command_page, http_page, reference_page, rule_pages
from website.blocks import ROOT

#: Pages of the project that the site has as well, by the name that they have there.
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]+)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
GROUP = re.compile(r"^## (?P<title>.*)$", re.MULTILINE)
CODE = """\
---
orphan: true
---

# {name}

``````{language}
{text}
``````
"""
#: Pages that only the site has, after those of their group.
MADE = {"Reference": ["api/index"]}


def assemble(folder: Path) -> None:
    """Write the source of the site into an empty folder."""
    docs = ROOT / "docs"
    shutil.copytree(docs, folder, ignore=shutil.ignore_patterns("*.md"))
    written = {path: folder / path.relative_to(docs) for path in sorted(docs.rglob("*.md"))}
    written |= {ROOT / old: folder / new for old, new in BESIDE.items() if (ROOT / old).exists()}
    written |= {docs / name: folder / name for name in generated()}
    api_pages.write(folder / "api")
    for source, target in written.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        text = _relinked(source, target, written, folder)
        if source == docs / "index.md":
            text = _with_contents(text)
        elif source.name == "README.md":
            beside = sorted(path.stem for path in written if path.parent == source.parent)
            text = "\n\n".join([text, _tree([name for name in beside if name != "README"]), ""])
        target.write_text(text, "utf-8")


@cache
def generated() -> dict[str, str]:
    """The pages that are made from the code, by their paths beside the pages of docs."""
    pages = {
        "cli.md": command_page.reference(),
        "http.md": http_page.http_reference(),
        "reference.md": reference_page.reference(),
    }
    return pages | {f"rules/{name}": text for name, text in rule_pages.pages().items()}


def text_of(source: Path) -> str:
    """The text of a page of docs, written by hand or generated."""
    if source.is_file():
        return source.read_text("utf-8")
    return generated()[source.relative_to(ROOT / "docs").as_posix()]


def _relinked(source: Path, target: Path, written: dict[Path, Path], folder: Path) -> str:
    """The text of a page, with links that lead to the right page of the site."""

    def leads_to(match: re.Match[str]) -> str:
        there = (source.parent / match[1]).resolve()
        if there.is_file() and there not in written and there.is_relative_to(ROOT / "docs"):
            return match[1]  # a picture: it is copied
        if there.is_file() and there not in written:
            written_there = _code_page(there, folder)
        elif there in written:
            written_there = written[there]
        else:
            return match[1]  # Sphinx says so
        return Path(os.path.relpath(written_there, target.parent)).as_posix()

    return _outside_of_code(text_of(source), lambda text: LINK.sub(leads_to, text))


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """A text, changed everywhere but in blocks of code."""
    parts, at = [], 0
    for block in FENCE.finditer(text):
        parts += [change(text[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*parts, change(text[at:])])


def _code_page(source: Path, folder: Path) -> Path:
    """The page that shows a file of the code."""
    name = source.relative_to(ROOT).as_posix()
    page = folder / "code" / f"{name.removeprefix('src/').replace('/', '.')}.md"
    if not page.exists():
        page.parent.mkdir(exist_ok=True)
        language = {".py": "python", ".c": "c", ".h": "c"}.get(source.suffix, "text")
        page.write_text(CODE.format(name=name, language=language, text=source.read_text("utf-8")), "utf-8")
    return page


def _with_contents(index: str) -> str:
    """The front page, with the contents of each group for the navigation: the pages that its table lists."""
    heads = [*GROUP.finditer(index)]
    ends = [*(head.start() for head in heads[1:]), len(index)]
    trees = []
    for head, end in zip(heads, ends, strict=True):
        rows = re.findall(r"^\| \[[^\]]+\]\(([^)#]+)\.md\)", index[head.end() : end], re.MULTILINE)
        if rows:
            trees.append(_tree([*rows, *MADE.get(head["title"], [])], head["title"]))
    return "\n\n".join([index, *trees, ""])


def _tree(pages: list[str], caption: str | None = None) -> str:
    """The table of contents of a page, for Sphinx."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["```{toctree}", *options, "", *pages, "```"])
