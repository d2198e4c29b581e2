"""Pages in a real browser: wide and narrow, light and dark, without scripts, behind a prefix, live."""

import time
from pathlib import Path

import pytest
from tests.support.browser import CHROMIUM, Browser
from tests.support.page_worlds import NASTY, filled_store
from tests.support.servers import in_thread
from tests.support.web_pages import address_of

import noisewise as nw
from noisewise.web.app import make_app

AXE = Path(__file__).parents[2] / "vendor" / "axe-core" / "axe.min.js"
LOOKS = [(1280, False), (1280, True), (400, False), (400, True)]
#: Every page, and those whose study is in another state.
OF_GOING = (
    "", "options", "options?change=A-05", "measurements", "measurements?fix=m-9", "paste", "check",
    "plan?do=slot&sigma=0.1", "worth", "log", "log?kind=void", "report", "add",
)  # fmt: skip
SHOWN = (
    "/",
    "/compare?a=going&b=reached",
    "/new",
    *(f"/s/going/{page}" for page in OF_GOING),
    "/s/reached/",
    *(f"/s/withheld/{page}" for page in ("", "check", "options")),
    *(f"/s/nothing/{page}" for page in ("", "measurements")),
    "/s/alone/",
    "/s/days/",
    *(address_of(NASTY, page) for page in ("", "options", "measurements")),
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
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
def place(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "team.db"
    filled_store(path).close()
    return path


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


def wait_for(browser, expression, seconds=10.0):
    give_up = time.monotonic() + seconds
    while not (found := browser.run(expression)):
        assert time.monotonic() < give_up, expression
        time.sleep(0.02)
    return found


@pytest.mark.parametrize("page", SHOWN)
def test_nothing_is_complained_about_and_nothing_sticks_out(page, served, browser):
    for width, dark in LOOKS:
        browser.look(width, dark=dark)
        browser.visit(served + page)
        browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert browser.complaints(served) == []
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run(STICKS_OUT) == []


@pytest.mark.parametrize("page", SHOWN)
def test_axe_finds_nothing_serious(page, served, browser):
    for width, dark in ((1280, False), (400, True)):
        browser.look(width, dark=dark)
        browser.visit(served + page)
        browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        browser.run(AXE.read_text("utf-8") + "; 0")
        found = browser.run(
            "axe.run({resultTypes: ['violations']}).then(done => done.violations.map(one => "
            "[one.impact, one.id, one.nodes.map(node => node.html.slice(0, 160)).slice(0, 3)]))"
        )
        assert [one for one in found if one[0] in ("serious", "critical")] == []


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


def test_pages_work_where_the_server_knows_its_prefix(place, browser):
    with in_thread(make_app(place, root_path="/lab")) as address:
        browser.visit(f"{address}/lab/s/going/log")
        assert browser.complaints(f"{address}/lab/") == []
        browser.run("document.querySelector('.brand').click()")
        browser.loaded_anew()
        assert browser.run("location.pathname") == "/lab/"
        browser.visit("about:blank")


TELL = """(() => {
  const form = document.querySelector('form[action=tell]');
  form.querySelector('[value=se]').click();
  form.what.value = 'A-06';
  form['se.value'].value = '21.5';
  form['se.se'].value = '0.6';
})()"""


def seconds_until_seen(place, served, browser, another):
    """From the click that tells a measurement until the other browser shows its event."""
    browser.visit(f"{served}/s/going/measurements")
    browser.run(TELL)
    number = nw.load_study(place, "going", read_only=True).n_events
    began = time.monotonic()
    browser.run("document.querySelector('form[action=tell] button.main').click()")
    wait_for(another, f"document.querySelector('#moment').textContent.includes('event {number + 1},')", 30.0)
    took = time.monotonic() - began
    browser.loaded_anew()
    assert "was told" in browser.run("document.querySelector('.message').textContent")
    assert browser.complaints(served) == []
    return took


def test_a_tell_in_one_browser_appears_in_another_within_a_second(place, served, browser, another):
    browser.look(1280)
    another.look(1280)
    another.visit(f"{served}/s/going/")
    wait_for(another, "document.querySelector('[data-unfinished]') === null", 90.0)
    # The fastest of a few: this machine may have much else to do.
    assert min(seconds_until_seen(place, served, browser, another) for _ in range(3)) < 1.0
    count = nw.load_study(place, "going", read_only=True).n_measurements
    wait_for(another, f"document.querySelector('#course').textContent.includes('{count} measurements')")
    assert another.complaints(served) == []


def test_news_of_another_process_appears_as_well(place, served, another):
    another.look(400)
    another.visit(f"{served}/s/reached/log")
    number = nw.load_study(place, "reached").n_events
    nw.load_study(place, "reached").tell(option="A", value=10.0, se=0.1)
    wait_for(another, f"document.querySelector('#rows').textContent.includes('{number + 1}')")


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
  const typed = [['value', '12.3'], ['lo', '11.5'], ['hi', '13.1']];
  for (const [name, text] of typed) form['ci.' + name].value = text;
  form['ci.hi'].dispatchEvent(new Event('input', {bubbles: true}));
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
