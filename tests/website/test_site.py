"""The built site in a real browser: every page, wide and narrow, without a complaint and within its window.

`make docs` builds it; elsewhere these tests are skipped. `NOISEWISE_NEEDS_SITE=1` makes them needed.
"""

import functools
import http.server
import os
import re
import threading
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.support.browser import CHROMIUM, Browser
from tests.support.waiting import wait_until

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
NEEDED = os.environ.get("NOISEWISE_NEEDS_SITE") == "1"
pytestmark = [
    pytest.mark.skipif(not (PAGES or NEEDED), reason="there is no site: make docs"),
    pytest.mark.long("browsers"),
]
#: Wider than the window: the first such element, or nothing.
TOO_WIDE = "document.documentElement.scrollWidth > window.innerWidth + 1"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Says nothing about what it is asked for."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    """The site as a server shows it: browsers do not let a file look into others, which search does."""
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def text_of(page):
    return (SITE / page).read_text("utf-8")


def test_the_site_is_there():
    assert len(PAGES) > 100
    assert {"index.html", "quickstart.html", "search.html", "api/studies.html", "http.html"} <= set(PAGES)


def test_every_link_inside_the_site_leads_somewhere():
    ids = {page: set(re.findall(r'\bid="([^"]+)"', text_of(page))) for page in PAGES}
    lost = []
    for page in PAGES:
        for target in re.findall(r'<a [^>]*href="([^"]+)"', text_of(page)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, fragment = unescape(target).partition("#")
            there = (SITE / page).parent / unquote(path) if path else SITE / page
            known = os.path.relpath(os.path.normpath(there), SITE)
            if not there.exists() or (
                fragment and unquote(fragment) not in ids.get(known, {unquote(fragment)})
            ):
                lost.append(f"{page}: {target}")
    assert lost == []


def test_nothing_on_a_page_comes_from_elsewhere():
    for page in PAGES:
        sources = re.findall(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"', text_of(page))
        sources += re.findall(
            r'<link\b[^>]*\brel="(?:stylesheet|icon|preload)"[^>]*\bhref="([^"]+)"', text_of(page)
        )
        assert not [source for source in sources if re.match(r"(?:https?:)?//", source)], page


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [1280, 400])
def test_every_page_opens_without_a_complaint_and_fits(tmp_path, address, width):
    with Browser(tmp_path) as browser:
        browser.look(width)
        wrong = []
        for page in PAGES:
            browser.visit(f"{address}/{page}")
            wrong += [f"{page}: {complaint}" for complaint in browser.complaints(address)]
            if browser.run(TOO_WIDE):
                wrong.append(f"{page} is wider than {width} px")
        assert wrong == []


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_search_finds_a_page(tmp_path, address):
    with Browser(tmp_path) as browser:
        browser.look(1280)
        browser.visit(f"{address}/search.html?q=certificate")
        count = "document.querySelectorAll('#search-results li').length"
        wait_until(lambda: browser.run(count) > 3, "results of the search")
        assert browser.complaints(address) == []
