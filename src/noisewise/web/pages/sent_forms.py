"""Forms that are sent twice, by a double click or by going back, and that do once what they say.

Every page gives its forms a number. The log keeps it with the change, as it keeps the key of a request: the
second of two equal forms with one number changes nothing, also after a restart.
"""

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping

from fastapi import Request

from noisewise.web.auth.roles import visitor_of
from noisewise.web.auth.sessions import CSRF_FIELD

#: The field with the number, and the longest that one can be.
ONCE, LONGEST = "once", 40
#: Forms of which is remembered where they led to.
MOST = 10_000


def new_number() -> str:
    """A number for the forms of a page."""
    return secrets.token_urlsafe(12)


def key_of(request: Request, form: Mapping[str, str]) -> str | None:
    """By what the change of a form is known; None if the form has no number."""
    number = form.get(ONCE, "")
    if not number or len(number) > LONGEST:
        return None
    said = sorted((name, text) for name, text in form.items() if name != CSRF_FIELD)
    whose = visitor_of(request).token or ""
    return hashlib.sha256(repr(("form", whose, request.url.path, said)).encode(errors="replace")).hexdigest()


class SentForms:
    """Where forms led to, by their keys."""

    def __init__(self) -> None:
        self._places: OrderedDict[str, str] = OrderedDict()
        self._changing = threading.Lock()

    def keep(self, key: str, place: str) -> None:
        """Remember one."""
        with self._changing:
            self._places[key] = place
            while len(self._places) > MOST:
                self._places.popitem(last=False)

    def place(self, key: str) -> str:
        """Where it led to; the first page of the study if that was before a restart."""
        with self._changing:
            return self._places.get(key, "./")
