"""The reference of all public names, with everything that their docstrings say: one page per room."""

import inspect
import re
from pathlib import Path
from typing import Any

from website.names import described
from website.reference_page import Names, sections

HEAD = """\
# All of Python

Every public name with all that its docstring says, room by room.
[The reference](../reference.md) has one line for each.

```{{toctree}}
:maxdepth: 1

{pages}
```
"""
PAGE = """\
# {title}

`{module}`. {text}

{names}
"""


def write(folder: Path) -> list[Path]:
    """Write the pages and their table of contents; returns the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {slug(names): page(names) for names in sections()}
    (folder / "index.md").write_text(HEAD.format(pages="\n".join(pages)), "utf-8")
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    return [folder / f"{name}.md" for name in pages]


def slug(names: Names) -> str:
    """The file of a section."""
    return names.part.title.lower().replace(" ", "-")


def page(names: Names) -> str:
    """One section: its names, each with its docstring."""
    part = names.part
    text = re.sub(r"\]\((?!https?:)", "](../", part.text)
    shown = "\n".join(directive(part.module, name, value) for name, value in names.new)
    if names.known:
        also = ", ".join(f"`{name}`" for name in names.known)
        shown += f"\nAlso here, explained on another page: {also}.\n"
    return PAGE.format(title=part.title, module=part.module, text=text, names=shown)


def directive(module: str, name: str, value: Any) -> str:
    """The directive that makes Sphinx show a name."""
    if inspect.ismodule(value):
        return f"- `{name}`: {(inspect.getdoc(value) or '').splitlines()[0]}\n"
    if inspect.isclass(value):
        kind, options = (
            "autoclass",
            ["   :members:", "   :inherited-members: tuple, dict, Exception, list, str, int"],
        )
        if issubclass(value, BaseException):
            kind, options = "autoexception", []
    elif callable(value):
        kind, options = "autofunction", []
    else:  # tables: their docstring would be that of dict or tuple
        text = described("", name, value).text
        return f"```{{eval-rst}}\n.. py:data:: {module}.{name}\n\n   {text}\n```\n"
    return "\n".join(["```{eval-rst}", f".. {kind}:: {module}.{name}", *options, "```", ""])
