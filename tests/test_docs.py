"""The documentation is true: its code runs, and it mentions every public name."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.pages import run_commands
from website.blocks import BLOCK, ROOT, blocks, forgotten, printed, run_blocks, shown
from website.names import public_names
from website.pictures import IMAGES, LARGEST, LINK, live, marks, pictures, same_drawing, unlike_those_pinned
from website.source_pages import generated

import noisewise as nw
import noisewise.charts
import noisewise.simulation.arena
import noisewise.testing
from noisewise.cli import app
from noisewise.rules import registry

DOCS = ROOT / "docs"
#: Pages that are made from the code when the site is built.
MADE = {DOCS / name for name in generated()}
GALLERY = sorted((DOCS / "gallery").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *GALLERY]
#: Blocks that are not run, on all pages together. The fewer the better.
MOST_EXEMPT = 2


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path, monkeypatch):
    """Files go to a temporary folder; rules and readers of a page, and its module, are forgotten."""
    monkeypatch.chdir(tmp_path)
    with forgotten():
        yield


def test_the_readme_runs_from_top_to_bottom():
    """Its Python, and its commands in order; where it shows what a command prints, it prints that."""
    readme = PAGES[0]
    Path("alloys.csv").write_text(
        "alloy,HV\nA,10.1\nA,10.0\nA,9.9\nB,50.1\nB,49.9\nB,50.3\nC,30.0\nC,30.1\nC,29.8\n", "utf-8"
    )
    (shown,) = re.findall(r"^```text\n\$ (noisewise .*?)\n(.*?)^```$", readme.read_text("utf-8"), re.M | re.S)
    assert commanded(shown[0]).output == shown[1]
    run_blocks(readme)
    lines = re.findall(
        r"^noisewise [a-z]+ .*#.*$|^noisewise tell .*$", readme.read_text("utf-8"), re.MULTILINE
    )
    assert len(lines) == 5
    for line in lines:
        assert commanded(line).exit_code in (0, 3)  # 3: not certified yet


def commanded(line):
    """Run a command of a page."""
    return CliRunner().invoke(app, shlex.split(line, comments=True)[1:])


def left_to_the_long_suite(page):
    """Mark a page that the short suite does not run."""
    short = ("README.md", "quickstart.md", "tables.md")
    return pytest.param(page, marks=() if page.name in short else pytest.mark.long("pages"))


@pytest.mark.parametrize(
    "page", [left_to_the_long_suite(page) for page in PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_code_on_the_page_runs_and_its_pictures_are_current(page):
    texts = printed(page)
    if page in GALLERY:
        pairs = zip(texts, shown(page), strict=True)
        assert [pair for pair in pairs if pair[1] not in (None, pair[0])] == []
    for name in pictures(page):
        new, kept = Path(name).read_text("utf-8"), (IMAGES / name).read_text("utf-8")
        assert len(new) <= LARGEST
        assert "http" not in re.sub(r"xmlns(:xlink)?=\S+", "", new)  # nothing is loaded, no font either
        stale = f"{name} is not what {page.name} draws: python -m website.pictures"
        if name in live(page):  # what it shows is measured each time, and may come out differently
            assert {mark for mark in marks(new) if mark.startswith("mark-")}
        elif others := unlike_those_pinned():
            pytest.skip(f"the page runs, but drawings of other versions differ ({', '.join(others)}).")
        else:
            assert same_drawing(new, kept), stale


def test_every_picture_is_made_by_one_page():
    made = [name for page in PAGES for name in pictures(page)]
    assert sorted(made) == sorted(path.name for path in IMAGES.glob("*.svg"))
    linked = {link["name"] for page in PAGES for link in LINK.finditer(page.read_text("utf-8"))}
    assert linked == set(made)
    assert not list(DOCS.glob("*.svg"))


def test_the_quick_start_runs_at_the_shell_as_well():
    assert run_commands("quickstart.md") == 13


#: A block of code, and right after it what it prints.
SHOWN = re.compile(
    r"^```python\n(?P<code>.*?)^```\n\n^```text\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL
)


SHOWING = "quickstart policies studies asking evidence meta-analysis serve"


@pytest.mark.parametrize(
    "page",
    [left_to_the_long_suite(DOCS / f"{name}.md") for name in SHOWING.split()],
    ids=lambda page: page.name,
)
def test_what_a_page_shows_is_what_it_prints(page, capsys):
    match = SHOWN.search(page.read_text("utf-8"))
    codes = [code for _, code in blocks(page)]
    last = next(n for n, code in enumerate(codes) if match["code"].endswith(code))
    run_blocks(page, slice(last + 1))
    assert capsys.readouterr().out.endswith(match["shown"])


def test_all_that_the_page_on_tables_shows_is_what_it_prints(capsys):
    page = ROOT / "docs" / "tables.md"
    run_blocks(page)
    shown = [match["shown"] for match in SHOWN.finditer(page.read_text("utf-8"))]
    assert len(shown) == 6
    assert capsys.readouterr().out == "".join(shown)


def test_few_blocks_are_exempt():
    infos = [match["info"].strip() for page in PAGES for match in BLOCK.finditer(page.read_text("utf-8"))]
    assert set(infos) <= {"", "no-run"}
    assert infos.count("no-run") <= MOST_EXEMPT


def test_the_index_lists_every_page_once():
    rows = re.findall(r"^\| \[.*$", (ROOT / "docs" / "index.md").read_text("utf-8"), re.MULTILINE)
    listed = re.findall(r"\]\(([^)#]+)\)", "\n".join(rows))
    pages = {path.name for path in [*DOCS.glob("*.md"), *MADE] if path.parent == DOCS} - {"index.md"}
    pages |= {"rules/README.md", *(f"gallery/{path.name}" for path in GALLERY)}
    assert sorted(target for target in listed if not target.startswith("../")) == sorted(pages)


def test_the_readme_leads_to_few_pages():
    listed = set(re.findall(r"\]\(docs/([^)#]+)", PAGES[0].read_text("utf-8")))
    pages = {"quickstart.md", "gallery/leaderboard.md", "policies.md", "certificate.md", "index.md"}
    assert listed == pages | {"images/quickstart.svg"}


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"`[^`\n]*`", "", text)  # code has brackets of its own
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            there = (page.parent / target).resolve()
            assert there.exists() or there in MADE, f"{page.name} links to {target}"


MODULES = (nw, noisewise.simulation.arena, noisewise.charts, noisewise.testing)
PUBLIC = [(module, name) for module in MODULES for name in public_names(module)]


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda part: getattr(part, "__name__", part))
def test_every_public_name_is_documented(module, name):
    value = getattr(module, name)
    if name not in ("POLICIES", "CHECKS", "CELLS"):  # tables: their docstring would be that of dict or tuple
        assert (value.__doc__ or "").strip(), f"{name} has no docstring."
        assert len(value.__doc__) < 10_000
    word = re.compile(rf"\b{name}\b")
    assert word.search(generated()["reference.md"]), f"no page mentions {name}."


PAGE = ROOT / "docs" / "adding-a-rule.md"


def test_the_skeleton_is_short_and_a_rule_that_keeps_its_promises():
    _, code = blocks(PAGE)[0]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 40
    module = run_blocks(PAGE, slice(1))
    noisewise.testing.check_rule(module.epsilon_greedy)
    assert "norm_bound:" in module.epsilon_greedy.__doc__
    with pytest.raises(ValueError, match="`epsilon` must lie strictly between 0 and 1; got 2"):
        module.epsilon_greedy(np.eye(2), epsilon=2)
    with pytest.raises(TypeError, match=r"has no option 'epsilom'. Did you mean 'epsilon'\?"):
        module.epsilon_greedy(np.eye(2), epsilom=0.2)


class EntryPoint:
    """What an installed package declares."""

    def __init__(self, function):
        self.function = function

    def load(self):
        return self.function


def test_a_rule_of_another_package_joins_by_entry_point(monkeypatch, tmp_path):
    module = run_blocks(PAGE, slice(1))
    registry._others.pop("epsilon_greedy")  # as before it is installed
    calls = []

    def join():
        calls.append("join")
        nw.extending.register(module.EpsilonGreedy)

    monkeypatch.setattr(registry, "_plugins", [EntryPoint(join)])
    nw.make_policy("vaee", np.eye(2))
    assert calls == []  # a known name loads nothing
    with pytest.raises(KeyError, match="Did you mean 'epsilon_greedy'"):
        nw.make_policy("epsilon_gredy", np.eye(2))
    policy = nw.make_policy("epsilon_greedy", np.eye(2), epsilon=0.4)
    policy.tell(0, 1.0, 0.1)
    assert calls == ["join"]
    assert "epsilon_greedy" in nw.rules.POLICIES
    policy.save(tmp_path / "p.npz")
    assert nw.load_policy(tmp_path / "p.npz").options["epsilon"] == 0.4
    with pytest.raises(ValueError, match="`name` must be new; got 'epsilon_greedy'"):
        nw.extending.register(module.EpsilonGreedy)
