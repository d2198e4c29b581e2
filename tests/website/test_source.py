"""The source of the site: every page in one group, every name explained once, links that lead to pages."""

import importlib
import re
from collections import Counter

import pytest

pytest.importorskip("fastapi", reason="the site shows the server's interface: pip install noisewise[server]")

from tests.support.commands import READ, commands
from website.names import public_names
from website.reference_page import SECTIONS
from website.source_pages import ROOT, assemble, generated

from noisewise.rules.registry import POLICIES
from noisewise.server.app import make_app
from noisewise.stores import MemoryStorage
from website import api_pages

GROUPS = ["Start", "Guides", "Gallery", "Explanation", "Research", "Reference", "Contributing"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "source"
    assemble(folder)
    return folder


def trees(text):
    """Captions and pages of the tables of contents in a text."""
    found = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for tree in found:
        caption = re.search(r":caption: (.*)", tree)
        pages = [line for line in tree.splitlines() if line and not line.startswith(":")]
        yield caption and caption[1], pages


def test_pages_are_in_groups_each_in_one(source):
    contents = dict(trees((source / "index.md").read_text("utf-8")))
    assert list(contents) == GROUPS
    counted = Counter(page for pages in contents.values() for page in pages)
    ((_, pages),) = trees((source / "rules" / "README.md").read_text("utf-8"))
    counted.update(f"rules/{page}" for page in pages)
    ((_, pages),) = trees((source / "api" / "index.md").read_text("utf-8"))
    counted.update(f"api/{page}" for page in pages)
    written = {path.relative_to(source).with_suffix("").as_posix() for path in source.rglob("*.md")}
    assert {page for page in written if not page.startswith("code/")} - {"index"} == counted.keys()
    assert set(counted.values()) == {1}


def test_the_front_page_has_two_doors_before_the_groups(source):
    heads = re.findall(r"^## (.*)$", (source / "index.md").read_text("utf-8"), re.MULTILINE)
    assert heads == ["I have something to measure", "I study such algorithms", *GROUPS]


def test_links_out_of_the_docs_lead_to_pages_of_the_site(source):
    for page in source.rglob("*.md"):
        text = re.sub(r"`[^`\n]*`", "", page.read_text("utf-8"))
        assert not re.search(r"\]\((\.\./)+(src|tests|docs|benchmarks)/", text), page
    assert "](code/tests.theory.test_bounds.py.md" in (source / "paper.md").read_text("utf-8")
    shown = (source / "code" / "tests.theory.test_bounds.py.md").read_text("utf-8")
    assert (ROOT / "tests" / "theory" / "test_bounds.py").read_text("utf-8") in shown


def test_every_public_name_is_explained_once(tmp_path):
    text = "\n".join(page.read_text("utf-8") for page in api_pages.write(tmp_path))
    shown = Counter(
        id(getattr(importlib.import_module(module), name))
        for module, name in re.findall(r"^\.\. [\w:]+:: ([\w.]+)\.(\w+)$", text, re.MULTILINE)
    )
    assert set(shown.values()) == {1}
    assert len(shown) > 150
    for part in SECTIONS:
        module = importlib.import_module(part.module)
        for name in public_names(module):
            value = getattr(module, name)
            assert id(value) in shown or f"- `{name}`:" in text, f"{part.module}.{name}"


def test_every_command_rule_and_route_is_on_a_generated_page():
    pages = generated()
    names = commands().keys() - {READ}
    assert len(names) > 20
    assert [name for name in names if f"## `noisewise {name}`" not in pages["cli.md"]] == []
    assert {f"rules/{name}.md" for name in POLICIES} | {"rules/README.md"} == {
        name for name in pages if name.startswith("rules/")
    }
    routes = [one for one in make_app(MemoryStorage()).openapi()["paths"].items() if one[0] != "/"]
    assert len(routes) > 25
    for path, methods in routes:
        for method in methods:
            assert f"### `{method.upper()} {path}`" in pages["http.md"]
    assert not re.search(r"^\| .*\|  \|$", pages["http.md"], re.MULTILINE), "a field without a word"
