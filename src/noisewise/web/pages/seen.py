"""What was previewed is what is told: a mark of a form, by which a form that was changed since is known."""

import hashlib
from collections.abc import Mapping

from noisewise.web.pages.views.tables.pasted import Pasted

#: The field that carries it, and fields that say nothing about what is told.
SEEN = "seen"
_OTHERS = ("csrf_token", "once", "do", SEEN)
#: What is said to whoever changed it.
CHANGED = "Nothing was told yet: the form was changed after its preview, which is new now."
#: What a choice says that nobody has made.
_USUAL = {"unknown": "refuse"}


def mark_of(form: Mapping[str, str], table: Pasted | None = None) -> str:
    """A mark of everything that a form says.

    Args:
        form: Its fields.
        table: What the page shows of a table, which comes back in the place of what was sent; None: nothing.
    """
    fields = dict(form)
    if table is not None:
        fields = {name: text for name, text in fields.items() if not name.startswith("role.")}
        fields |= {"table": table.text, "kept": table.kept}
        fields |= {f"role.{place}": column.role for place, column in enumerate(table.columns)}
    said = sorted(
        (name, text.replace("\r\n", "\n").replace("\r", "\n"))
        for name, text in fields.items()
        if text and name not in _OTHERS and _USUAL.get(name) != text
    )
    return hashlib.sha256(repr(said).encode(errors="replace")).hexdigest()


def is_as_seen(form: Mapping[str, str]) -> bool:
    """Whether a form says what its preview showed; one without a mark is no form of ours."""
    return SEEN not in form or form[SEEN] == mark_of(form)
