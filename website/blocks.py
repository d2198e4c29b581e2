"""The Python on a page of the documentation: its blocks, run one after the other, and what they print."""

import contextlib
import io
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python[ \t]*(?P<info>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
#: Right after a block: what it prints.
SHOWN = re.compile(r"\n\n```text\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The page's Python blocks that are to be run, with the lines they begin at."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start("code")), match["code"])
        for match in BLOCK.finditer(text)
        if match["info"].strip() != "no-run"
    ]


def shown(page: Path) -> list[str | None]:
    """What the page says that each of these blocks prints; None where it says nothing."""
    text = page.read_text(encoding="utf-8")
    ends = [match.end() for match in BLOCK.finditer(text) if match["info"].strip() != "no-run"]
    return [match and match["shown"] for match in (SHOWN.match(text, end) for end in ends)]


def run_blocks(page: Path, some: slice = slice(None)) -> types.ModuleType:
    """Run blocks of a page one after the other, in a module of their own."""
    module = _module(page)
    for line, code in blocks(page)[some]:
        _run(module, line, code)
    return module


def printed(page: Path) -> list[str]:
    """Run all blocks of a page: what each of them prints."""
    module, texts = _module(page), []
    for line, code in blocks(page):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            _run(module, line, code)
        texts.append(text.getvalue())
    return texts


@contextlib.contextmanager
def forgotten() -> Iterator[None]:
    """Forget the modules that pages made meanwhile, and the rules and readers that these registered."""
    from noisewise.rules.registry import _constructors, _others
    from noisewise.study.readers import registry as readers

    readers.names()  # loads them all
    tables: tuple[dict[str, Any], ...] = (_others, _constructors, readers._readers)
    known, modules = [dict(table) for table in tables], set(sys.modules)
    try:
        yield
    finally:
        for table, before in zip(tables, known, strict=True):
            table.clear()
            table.update(before)
        for name in set(sys.modules) - modules:
            if name.startswith("page_"):
                del sys.modules[name]


def _module(page: Path) -> types.ModuleType:
    module = types.ModuleType("page_" + re.sub(r"\W", "_", page.stem))
    module.__file__ = str(page)
    sys.modules[module.__name__] = module
    return module


def _run(module: types.ModuleType, line: int, code: str) -> None:
    exec(compile("\n" * line + code, str(module.__file__), "exec"), module.__dict__)
