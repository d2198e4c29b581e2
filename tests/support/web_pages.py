"""Pages of the server as tests read them: what they link to, what is inline, the token of their forms."""

import html
import re
from html.parser import HTMLParser

from noisewise.server.answers import name_in_path

HTML = {"accept": "text/html"}
#: Elements that have no end.
VOID = {"meta", "link", "input", "br", "img", "hr"}


class Reader(HTMLParser):
    """What a page has: addresses, inline styles and scripts, ids, and whether its elements are closed."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.inline, self.ids, self.open, self.wrong = [], [], [], [], []
        self.feed(text)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        self.addresses += [
            given[name] for name in ("href", "src", "action", "hx-get", "hx-post") if given.get(name)
        ]
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        if (tag == "script" and "src" not in given) or tag == "style":
            self.inline.append(tag)
        self.ids += [given["id"]] if "id" in given else []

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.wrong.append((tag, self.open[-2:]))
        else:
            self.open.pop()


def address_of(study, page=""):
    from urllib.parse import quote

    return f"/s/{quote(name_in_path(study), safe='')}/{page}"


def token_in(page):
    return re.search(r'name="csrf_token" value="([^"]+)"', page.text)[1]


def form_in(answer):
    """The table and the roles of its columns, as the page sends them back."""
    text = html.unescape(
        re.search(r'<textarea name="table"[^>]*>\n(.*?)</textarea>', answer.text, re.DOTALL)[1]
    )
    roles = text.splitlines()[0].split(",")
    return {"table": text, "format": "table", **{f"role.{at}": role for at, role in enumerate(roles)}}
