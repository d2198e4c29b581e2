"""One of several things in a file, by the name that was asked for; the refusal lists what there is."""

from collections.abc import Sequence

from noisewise.core.support.checks import nearest
from noisewise.core.support.text import printable
from noisewise.study.readers.result_file import ResultFile

#: Names that a refusal lists.
LISTED = 12


def choose_one(file: ResultFile, what: str, known: Sequence[str], asked: str | None) -> str:
    """The name that was asked for, or the only one.

    Args:
        file: For messages.
        what: What it is, and how the choice is called: "task".
        known: The names that the file has.
        asked: What was asked for.
    """
    names = list(dict.fromkeys(known))
    if asked is None:
        if len(names) == 1:
            return names[0]
        if not names:
            raise file.refuse(f"it has no {what}.")
        raise file.refuse(f"it has several {what}s; choose one with {what}=: {listed(names)}.")
    if asked in names:
        return asked
    raise file.refuse(
        f"it has no {what} {printable(asked)!r}; it has {listed(names) or 'none'}.{nearest(asked, names)}"
    )


def listed(names: Sequence[str]) -> str:
    """Names in quotation marks, the first dozen of them."""
    more = len(names) - LISTED
    shown = ", ".join(repr(printable(name)) for name in names[:LISTED])
    return shown + (f" and {more} more" if more > 0 else "")
