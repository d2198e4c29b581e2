"""What a lab member does in a real browser, from an empty store to a shared report; and odd names."""

import pytest
from tests.support.browser import CHROMIUM, Browser
from tests.support.servers import in_thread

import noisewise as nw
from noisewise.web.app import make_app
from noisewise.web.auth.tokens import TokenFile

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
NEW = """(() => {
  const form = document.querySelector('.new-study');
  form.elements.name.value = 'made here';
  form.elements.eps.value = '0.5';
  form.elements.table.value = 'green\\nblack\\nwhite';
  form.querySelector('[value=preview]').click();
})()"""
TELL = """(() => {
  const form = document.querySelector('form[action=tell]');
  form.querySelector('[value=se]').click();
  form['se.value'].value = '3';
  form['se.se'].value = '0.1';
  form.querySelector('.main').click();
})()"""
SHARE = """(() => {
  const form = document.querySelector('form[action=share]');
  form.elements.name.value = 'Eve';
  form.querySelector('button').click();
})()"""


@pytest.fixture
def browser(tmp_path):
    with Browser(tmp_path / "profile") as opened:
        yield opened


def click(browser, selector):
    browser.run(f"document.querySelector('{selector}').click()")
    browser.loaded_anew()


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


def test_a_study_is_made_told_and_shared_without_a_manual(tmp_path, browser):
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
        browser.run(TELL)
        browser.loaded_anew()
        assert "m-1 was told" in browser.run("document.querySelector('.message').textContent")
        click(browser, ".tabs a[href$=report]")
        browser.run(SHARE)
        browser.loaded_anew()
        link = browser.run("document.querySelector('[data-copy]').textContent")
        assert link.startswith(f"{address}/share/nws_")
        assert browser.complaints(address) == []
        browser.visit(link)
        assert "made here" in browser.run("document.body.textContent")
