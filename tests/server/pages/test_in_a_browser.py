"""Pages in a real browser: wide and narrow, light and dark, without scripts, behind a prefix, live."""

import shutil
from pathlib import Path

import pytest
from tests.support.browser import CHROMIUM, Browser
from tests.support.page_worlds import NASTY
from tests.support.servers import in_thread
from tests.support.waiting import wait_until
from tests.support.web_pages import address_of

import noisewise as nw
from noisewise.server.app import make_app
from noisewise.server.auth.tokens import TokenFile

AXE = Path(__file__).parents[2] / "vendor" / "axe-core" / "axe.min.js"
LOOKS = [(1280, False), (1280, True), (400, False), (400, True)]
#: Every page, and those whose study is in another state.
OF_GOING = (
    "", "options", "options?change=A-05", "measurements", "measurements?fix=m-9", "paste", "check",
    "plan", "worth", "log", "log?kind=void", "report", "add",
)  # fmt: skip
SHOWN = (
    "/",
    "/new",
    *(f"/s/going/{page}" for page in OF_GOING),
    "/s/reached/",
    *(f"/s/withheld/{page}" for page in ("", "check", "options")),
    *(f"/s/nothing/{page}" for page in ("", "measurements")),
    "/s/alone/",
    "/s/days/",
    *(address_of(NASTY, page) for page in ("", "options", "measurements")),
)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
    pytest.mark.long("browsers"),
]
#: What sticks out to the right, apart from what can be scrolled.
STICKS_OUT = (
    "[...document.querySelectorAll('body *')]"
    ".filter(one => !one.closest('.scroll, .tabs, .hidden-text, .skip, thead'))"
    ".filter(one => one.getBoundingClientRect().right > innerWidth + 1)"
    ".map(one => one.outerHTML.slice(0, 120))"
)


class Stripped:
    """A proxy that shows a server under a prefix and does not tell it so."""

    def __init__(self, app, prefix):
        self.app, self.prefix, self.state = app, prefix, app.state

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            assert scope["path"].startswith(self.prefix), f"asked for {scope['path']}, outside of the prefix"
            raw = scope["raw_path"].removeprefix(self.prefix.encode())
            scope = {**scope, "path": scope["path"].removeprefix(self.prefix), "raw_path": raw}
        await self.app(scope, receive, send)


@pytest.fixture(scope="module")
def place(filled, tmp_path_factory):
    return shutil.copy(filled, tmp_path_factory.mktemp("store") / "team.db")


@pytest.fixture(scope="module")
def served(place):
    with in_thread(make_app(place)) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def another(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("another")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def scripts_again(request):
    yield
    if "browser" in request.fixturenames:
        request.getfixturevalue("browser").scripts(True)


def wait_for(browser, expression):
    return wait_until(lambda: browser.run(expression), expression)


def click(browser, selector):
    browser.run(f"document.querySelector('{selector}').click()")
    browser.loaded_anew()


AXE_RUN = (
    "axe.run({resultTypes: ['violations']}).then(done => done.violations.map(one => "
    "[one.impact, one.id, one.nodes.map(node => node.html.slice(0, 160)).slice(0, 3)]))"
)


@pytest.mark.parametrize("page", SHOWN)
def test_a_page_fits_its_window_and_has_no_complaints_and_no_serious_violations(page, served, browser):
    for width, dark in LOOKS:
        browser.look(width, dark=dark)
        browser.visit(served + page)
        browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert browser.complaints(served) == []
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run(STICKS_OUT) == []
        if dark == (width == 400):
            browser.run(AXE.read_text("utf-8") + "; 0")
            assert [one for one in browser.run(AXE_RUN) if one[0] in ("serious", "critical")] == []


@pytest.mark.parametrize("page", SHOWN)
def test_pages_say_the_same_without_scripts(page, served, browser):
    browser.scripts(False)
    browser.look(1280)
    browser.visit(served + page)
    document = browser._ask("DOM.getDocument", depth=0)["root"]["nodeId"]
    found = browser._ask("DOM.querySelector", nodeId=document, selector="main")["nodeId"]
    text = browser._ask("DOM.getOuterHTML", nodeId=found)["outerHTML"]
    assert "<h1" in text
    assert "Loading" not in text
    if page == "/s/going/":
        assert '<svg class="field"' in text
        assert "at most" in text


@pytest.mark.parametrize("prefix", ["/lab", "/a/b~c"])
def test_pages_work_behind_a_prefix_that_nobody_told_the_server(prefix, place, browser):
    with in_thread(Stripped(make_app(place), prefix)) as address:
        home = address + prefix
        for page in SHOWN:
            browser.look(1280)
            browser.visit(home + page)
            assert browser.complaints(home + "/") == [], page
            assert (
                browser.run("getComputedStyle(document.querySelector('.top')).borderBottomStyle") == "solid"
            )
        browser.visit(home + "/")
        browser.run("[...document.querySelectorAll('a')].find(one => one.textContent === 'going').click()")
        browser.loaded_anew()
        assert browser.run("location.pathname") == f"{prefix}/s/going/"
        browser.visit("about:blank")  # a page goes on asking when its server is gone


TELL = """(() => {
  const form = document.querySelector('form[action=tell]');
  form.querySelector('[value=se]').click();
  form.what.value = 'A-06';
  form['se.value'].value = '21.5';
  form['se.se'].value = '0.6';
})()"""


def test_a_measurement_told_in_one_browser_appears_in_another(place, served, browser, another):
    browser.look(1280)
    another.look(1280)
    another.visit(f"{served}/s/going/")
    wait_for(another, "document.querySelector('[data-unfinished]') === null")
    browser.visit(f"{served}/s/going/measurements")
    browser.run(TELL)
    number = nw.load_study(place, "going", read_only=True).n_events
    browser.run("document.querySelector('form[action=tell] button.main').click()")
    wait_for(another, f"document.querySelector('#moment').textContent.includes('event {number + 1},')")
    browser.loaded_anew()
    assert "was recorded" in browser.run("document.querySelector('.message').textContent")
    assert browser.complaints(served) == []
    count = nw.load_study(place, "going", read_only=True).n_measurements
    wait_for(another, f"document.querySelector('#course').textContent.includes('{count} measurements')")
    assert another.complaints(served) == []


def test_news_do_not_take_away_what_somebody_types(place, served, another):
    another.look(1280)
    another.visit(f"{served}/s/withheld/check")
    another.visit(f"{served}/s/going/measurements?fix=m-9")
    another.run("document.querySelector('form[action=void] [name=reason]').focus()")
    another.run("document.querySelector('form[action=void] [name=reason]').value = 'half a sen'")
    nw.load_study(place, "going").tell(option="A-06", value=21.0, se=0.6)
    wait_for(another, "!document.querySelector('#news').hidden")
    assert another.run("document.querySelector('form[action=void] [name=reason]').value") == "half a sen"


FILL_IN = """(() => {
  const form = document.querySelector('form[action=tell]');
  form.what.value = 'A-06';
  form.querySelector('[value=ci]').click();
  const typed = [['value', '12.3'], ['ci', '11.5,13.1']];
  for (const [name, text] of typed) form['ci.' + name].value = text;
  form['ci.ci'].dispatchEvent(new Event('input', {bubbles: true}));
})()"""


def test_the_form_says_what_will_be_told(served, browser):
    browser.look(1280)
    browser.visit(f"{served}/s/going/measurements")
    fields = "[...document.querySelectorAll('form[action=tell] .of-kind')]"
    shown = f"{fields}.filter(one => one.offsetParent).length"
    assert browser.run(shown) == 0
    browser.run(FILL_IN)
    assert browser.run(shown) == 1
    wait_for(browser, "document.querySelector('#preview').textContent.includes('it enters with 0.408')")
    assert browser.complaints(served) == []


def test_options_are_filtered_as_one_types(served, browser):
    browser.look(1280)
    browser.visit(f"{served}/s/going/options")
    browser.run(
        "(() => { const field = document.querySelector('[name=q]'); field.value = 'A-1';"
        "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    wait_for(browser, "document.querySelectorAll('#rows tbody tr').length === 10")
    assert browser.run("location.search").startswith("?q=A-1")
    assert browser.complaints(served) == []


def test_a_chosen_theme_stays(served, browser):
    browser.look(1280)
    browser.visit(f"{served}/")
    browser.run("document.querySelector('.theme').click()")
    browser.visit(f"{served}/s/going/")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(14, 17, 22)"
    browser.run("localStorage.clear()")


def test_everything_can_be_reached_by_keyboard(served, browser):
    browser.look(1280)
    browser.visit(f"{served}/s/going/")
    seen = (
        "[...document.querySelectorAll('a, button, input, select, summary')].filter(one => one.offsetParent)"
    )
    hidden = browser.run(f"{seen}.filter(one => one.tabIndex < 0).length")
    assert hidden == 0


def test_paper_has_the_sentence_and_no_forms(served, browser):
    browser.look(800, paper=True)
    browser.visit(f"{served}/s/going/")
    assert browser.run("document.querySelector('.sentence').offsetParent !== null")
    assert (
        browser.run("[...document.querySelectorAll('form, .tabs, .theme')].some(one => one.offsetParent)")
        is False
    )
    browser.look(800)


NEW = """(() => {
  const form = document.querySelector('.new-study');
  form.elements.name.value = 'made here';
  form.elements.eps.value = '0.5';
  form.elements.table.value = 'green\\nblack\\nwhite';
  form.querySelector('[value=preview]').click();
})()"""
FIRST = """(() => {
  const form = document.querySelector('form[action=tell]');
  form.querySelector('[value=se]').click();
  form['se.value'].value = '3';
  form['se.se'].value = '0.1';
  form.querySelector('.main').click();
})()"""


def test_studies_with_odd_names_are_reached_by_clicks(tmp_path, browser):
    names = ["a/b", "..", ".", "#", "?", "%2f", "~2", "مرحبا"]
    for name in names:
        nw.create_study(tmp_path / "odd.db", name=name, options=["A", "B"], eps=0.1)
    with in_thread(make_app(tmp_path / "odd.db")) as address:
        browser.look(1280)
        for name in names:
            browser.visit(f"{address}/")
            links = "[...document.querySelectorAll('.studies th a')]"
            browser.run(f"{links}.find(one => one.textContent === '{name}').click()")
            browser.loaded_anew()
            browser.run("[...document.querySelectorAll('.tabs a')].at(-1).click()")
            browser.loaded_anew()
            assert browser.run("document.querySelector('h1').textContent") == name
            assert browser.complaints(address) == []


def test_a_study_is_made_and_told_without_a_manual(tmp_path, browser):
    nw.open_store(tmp_path / "lab.db", create=True).close()
    tokens = TokenFile(tmp_path / "lab.db.tokens")
    with in_thread(make_app(tmp_path / "lab.db", tokens=tokens)) as address:
        browser.look(400)
        browser.visit(f"{address}/")
        click(browser, ".empty a")
        shown = "[...document.querySelectorAll('.of-results')].some(one => one.offsetParent)"
        assert browser.run(shown) is False
        browser.run(NEW)
        browser.loaded_anew()
        click(browser, "[value=make]")
        assert browser.run("document.querySelector('.message').textContent") == "The study was made."
        click(browser, "form[action=ask] button")
        click(browser, "#under-way a.button")
        browser.run(FIRST)
        browser.loaded_anew()
        assert "m-1 was recorded" in browser.run("document.querySelector('.message').textContent")
        assert browser.complaints(address) == []
