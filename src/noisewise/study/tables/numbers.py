"""Cells as numbers: decimal signs, thousands separators, percentages, units, several numbers in a cell."""

import math
import re
from collections import Counter
from collections.abc import Iterable

#: Characters of a cell that may hold numbers.
LONGEST = 80
MISSING = frozenset(
    ["", "na", "n/a", "n.a.", "nan", "null", "-", "--", "–", "—", ".", "?", "#n/a", "missing", "k.a.", "nd"]
)  # fmt: skip
_TRUE = frozenset(
    ["true", "yes", "pass", "passed", "correct", "right", "ja", "oui", "si", "sí", "success", "solved"]
)
_FALSE = frozenset(
    ["false", "no", "fail", "failed", "incorrect", "wrong", "nein", "non", "failure", "unsolved"]
)
_GRADE = re.compile(r"\[(pass|fail)(?:ed)?\]", re.IGNORECASE)

_DIGITS = r"([-+−]?\d(?:[\d.,']*\d)?(?:[eE][-+]?\d+)?(?:\s?%)?)"
_NUMBER = rf"{_DIGITS}(?:\s?[a-zµμ]{{1,3}}(?:/[a-z]+)?)?"
_TO = r"\s*(?:,\s?|;|\bto\b|\bbis\b|\bà\b|…|\.\.|–|—|-)\s*"
_RANGE = rf"{_DIGITS}{_TO}{_DIGITS}"
#: Cells of several numbers: how they are written, and what the numbers are.
SHAPES = (
    (re.compile(rf"{_NUMBER}\s*(?:±|\+/-|\+-|\\pm)\s*{_NUMBER}(?:\s*\(.*\))?"), ("value", "spread")),
    (re.compile(rf"{_NUMBER}\s*\(\s*(?:±\s*)?{_NUMBER}\s*\)"), ("value", "spread")),
    (re.compile(rf"{_NUMBER}\s*[\[(]\s*(?:95\s?% CI:?\s*)?{_RANGE}\s*[\])]"), ("value", "lo", "hi")),
    (re.compile(rf"\+\s?{_NUMBER}\s*/\s*[-−]\s?{_NUMBER}"), ("up", "down")),
    (re.compile(rf"{_DIGITS}\s*(?:/|of|out of|von|sur|de)\s*{_DIGITS}(?:\s*\(.*\))?"), ("successes", "size")),
    (re.compile(rf"[\[(]?\s*{_RANGE}\s*[\])]?"), ("lo", "hi")),
)  # fmt: skip
#: 12.34(5) is 12.34 with an uncertainty of 0.05.
SHORTHAND = re.compile(r"([-+−]?\d+[.,](\d+))\((\d+)\)")
DAY = re.compile(
    r"\d{4}-\d\d-\d\d(?: 00:00:00(?:\.0+)?)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}-?W\d\d|\d{4}-\d\d"
)
TIME = re.compile(
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})[T ]\d?\d:\d\d.*|\d\d:\d\d(:\d\d)?"
)
UNIT = re.compile(rf"{_DIGITS}\s*([^\W\d][\w/·^-]*)")
_FOOTNOTE = re.compile(r"[\s*†‡§¶#]+$|\^[a-d]$|(?<=[\d)%])\s?[a-d]{1,3}$")
_PLAIN = {
    sign: re.compile(rf"([-+]?)({whole})(?:{fraction}(\d+))?([eE][-+]?\d+)?\s?(%?)")
    for sign, whole, fraction in (
        (".", r"\d{1,3}(?:[,' ]\d{3})+|\d*", r"\."),
        (",", r"\d{1,3}(?:[.' ]\d{3})+|\d*", ","),
    )
}
_SIGNS = str.maketrans({"−": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'"})


def number(text: str, decimal: str = ".") -> float | None:
    """Read a text as a number; None if it is not one."""
    if len(text) > LONGEST:
        return None
    text = text.translate(_SIGNS).strip()
    found = _PLAIN[decimal].fullmatch(text)
    if found is None or not (found[2] or found[3]):
        return None
    digits = re.sub(r"[^\d]", "", found[2])
    value = float(f"{found[1]}{digits or 0}.{found[3] or 0}{found[4] or ''}")
    if not math.isfinite(value):
        return None
    return value / 100.0 if found[5] else value


def is_number(text: str) -> bool:
    """Whether a text is a number with one of the two decimal signs."""
    return number(text, ".") is not None or number(text, ",") is not None


def truth_value(text: str) -> float | None:
    """1 for yes, true or pass; 0 for no, false or fail; None for anything else."""
    word = text.casefold()
    if grade := _GRADE.match(word):
        word = grade[1]
    return 1.0 if word in _TRUE else 0.0 if word in _FALSE else None


def clean(text: str) -> str:
    """Remove what Markdown, LaTeX and footnotes put around a number."""
    if len(text) > LONGEST:
        return text
    text = re.sub(r"\*\*|`|\\textbf|\\mathbf|[{}$€£]", "", text).replace("\\%", "%").replace("\\pm", "±")
    return re.sub(r"^(?:±|\+/-)\s*", "", _FOOTNOTE.sub("", text)).strip()


def looks_numeric(text: str) -> bool:
    """Whether a cell holds a number, or several in one of the known shapes."""
    if len(text) > LONGEST:
        return False
    text = clean(text)
    return (
        is_number(text)
        or any(shape.fullmatch(text) for shape, _ in SHAPES[:-1])
        or bool(UNIT.fullmatch(text))
    )


def decimal_sign(texts: Iterable[str], comma_likely: bool = False) -> str:
    """Return the decimal sign that most cells settle: those that are numbers with only one of the two.

    Args:
        texts: Cells.
        comma_likely: Whether 1,234 has a decimal comma if no cell settles it.
    """
    votes: Counter[str] = Counter()
    for text in texts:
        if len(text) > LONGEST:
            continue
        for part in re.findall(_DIGITS, text) if re.search(r"[±(\[]", text) else [text]:
            point, comma = number(part, ".") is not None, number(part, ",") is not None
            votes["." if point else ","] += point != comma
            votes["open"] += point and comma and "," in part
    if comma_likely and votes["open"] and not votes["."]:
        return ","
    return "," if votes[","] > votes["."] else "."
