"""The report in a real browser: no complaint, nothing that sticks out, and axe finds nothing serious."""

from pathlib import Path

import pytest
from tests.support import report_states
from tests.support.browser import CHROMIUM, Browser

AXE = Path(__file__).parents[2] / "vendor" / "axe-core" / "axe.min.js"
#: A state of each kind of page: with a bound, withheld, without a bound and with long names, with nothing.
SHOWN = ("told_study", "ready", "heavy_misfit", "days", "network", "nothing")
LOOKS = [(1280, False), (1280, True), (400, False), (400, True), (360, False)]
pytestmark = [
    pytest.mark.long("browsers"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in SHOWN:
        study = getattr(report_states, name)()
        plan = study.plan([(0.5, 0.9), (0.05, 0.1)], paths=2) if name == "told_study" else None
        found[name] = study.report(folder / f"{name}.html", plan=plan)
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("name", SHOWN)
def test_nothing_is_complained_about_and_nothing_sticks_out(name, pages, browser):
    for width, dark in LOOKS:
        browser.look(width, dark=dark)
        browser.open(pages[name])
        browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert browser.complaints() == []
        assert browser.run("document.documentElement.scrollWidth") <= width
        # What is cut off inside of an element can be scrolled there, and is a table.
        wide = browser.run(
            "[...document.querySelectorAll('body *')].filter(one => !one.closest('.wide') && "
            "!one.closest('thead') && one.getBoundingClientRect().right > innerWidth + 1)"
            ".map(one => one.outerHTML.slice(0, 120))"
        )
        assert wide == []


@pytest.mark.parametrize("name", SHOWN)
def test_axe_finds_nothing_serious(name, pages, browser):
    for width, dark in LOOKS[:4] if name in ("told_study", "days") else LOOKS[:4:3]:
        browser.look(width, dark=dark)
        browser.open(pages[name])
        browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        browser.run(AXE.read_text("utf-8") + "; 0")
        found = browser.run(
            "axe.run({resultTypes: ['violations']}).then(done => done.violations.map(one => "
            "[one.impact, one.id, one.nodes.map(node => node.html.slice(0, 100)).slice(0, 3)]))"
        )
        assert [one for one in found if one[0] in ("serious", "critical")] == [], (width, dark)


def test_a_script_in_the_page_would_be_refused(pages, browser, tmp_path):
    """The page's own policy holds: what somebody puts in is not run, and said to be refused."""
    changed = tmp_path / "changed.html"
    text = pages["ready"].read_text("utf-8")
    changed.write_text(text.replace("<header>", "<script>document.title = 'run'</script><header>"), "utf-8")
    browser.look(1280)
    browser.open(changed)
    assert browser.run("document.title") == "strength"
    assert any("Content Security Policy" in said for said in browser.complaints())


def test_dark_pages_are_dark_and_paper_is_white(pages, browser):
    def background():
        return browser.run("getComputedStyle(document.body).backgroundColor")

    browser.look(1280, dark=True)
    browser.open(pages["ready"])
    assert background() == "rgb(19, 22, 27)"
    browser.look(1280, dark=True, paper=True)
    assert background() == "rgb(255, 255, 255)"


def test_charts_are_as_wide_as_the_page(pages, browser):
    widths = []
    for width in (1280, 400):
        browser.look(width)
        browser.open(pages["told_study"])
        field = "document.querySelector('#bound .field').getBoundingClientRect()"
        widths.append(browser.run(f"{field}.width"))
        line = browser.run("document.querySelector('#bound .line').getBoundingClientRect().width")
        assert line > 0.7 * widths[-1]  # there is no bound before every option was measured
    assert widths[0] > 600
    assert 250 < widths[1] < 400
