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
NUMBERS = re.compile(_DIGITS)
_NUMBER = rf"{_DIGITS}(?:\s?[a-zA-ZµμΩ°]{{1,3}}(?:/[a-z]+)?)?"
_TO = r"\s*(?:,\s?|;|\bto\b|\bbis\b|\bà\b|…|\.\.|–|—|-)\s*"
_RANGE = rf"{_DIGITS}{_TO}{_DIGITS}"
#: Cells of several numbers: how they are written, and what the numbers are.
SHAPES = (
    (re.compile(r"([-+−]?\d+[.,]\d+)\((\d+)\)"), ("value", "last digits")),  # 12.34(5) is 12.34 ± 0.05
    (re.compile(rf"{_NUMBER}\s*(?:±|\+/-|\+-|\\pm)\s*{_NUMBER}(?:\s*\(.*\))?"), ("value", "spread")),
    (re.compile(rf"{_NUMBER}\s*\(\s*(?:±\s*)?{_NUMBER}\s*\)"), ("value", "spread")),
    (re.compile(rf"{_NUMBER}\s*[\[(]\s*(?:95\s?% CI:?\s*)?{_RANGE}\s*[\])]"), ("value", "lo", "hi")),
    (re.compile(rf"\+\s?{_NUMBER}\s*/\s*[-−]\s?{_NUMBER}"), ("up", "down")),
    (re.compile(rf"{_DIGITS}\s*(?:/|of|out of|von|sur|de)\s*{_DIGITS}(?:\s*\(.*\))?"), ("successes", "size")),
    (re.compile(rf"[\[(]?\s*{_RANGE}\s*[\])]?"), ("lo", "hi")),
)
DAY = re.compile(
    r"\d{4}-\d\d-\d\d(?: 00:00:00(?:\.0+)?)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}-?W\d\d|\d{4}-\d\d"
)
TIME = re.compile(
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})[T ]\d?\d:\d\d.*|\d\d:\d\d(:\d\d)?"
)
#: A number with its unit, and the units of time in seconds.
UNIT = re.compile(rf"{_DIGITS}\s*([^\W\d][\w/·^-]*)")
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0}
_FOOTNOTE = re.compile(r"[\s*†‡§¶#]+$|\^[a-d]$|(?<=[\d)%])\s?[a-d]{1,3}$")
_PLAIN = {
    sign: re.compile(rf"([-+]?)({whole})(?:{fraction}(\d+))?([eE][-+]?\d+)?\s?(%?)", re.ASCII)
    for sign, whole, fraction in (
        (".", r"[1-9]\d{0,2}(?:[,' ]\d{3})+|\d*", r"\."),
        (",", r"[1-9]\d{0,2}(?:[.' ]\d{3})+|\d*", ","),
    )
}
_SIGNS = str.maketrans({"−": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'"})


def number(text: str, decimal: str = ".") -> float | None:
    """Read a text as a number; None if it is not one."""
    found = _PLAIN[decimal].fullmatch(text.translate(_SIGNS).strip()) if len(text) <= LONGEST else None
    if found is None or not (found[2] or found[3]):
        return None
    digits, exponent = re.sub(r"[^0-9]", "", found[2]) or "0", int((found[4] or "e0")[1:])
    value = float(f"{found[1]}{digits}.{found[3] or 0}e{exponent - 2 * bool(found[5])}")
    return value if math.isfinite(value) else None


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


def split_cell(text: str, decimal: str) -> dict[str, float | None]:
    """The numbers of a cell that holds several, by what they are; empty if it does not."""
    for shape, parts in SHAPES:
        if found := shape.fullmatch(text):
            numbers = [number(one, decimal) for one in found.groups()]
            if parts[1] == "last digits":
                digits = len(re.split("[.,]", found[1])[1])
                return {"value": numbers[0], "se": int(found[2]) / 10.0**digits}
            if "%" in found[0] and parts[0] == "value":  # 71.2% ± 0.8, [2.9, 3.5]%
                pairs = zip(found.groups(), numbers, strict=True)
                numbers = [x if x is None or "%" in one else x / 100.0 for one, x in pairs]
            return dict(zip(parts, numbers, strict=True))
    return {}


def looks_numeric(text: str) -> bool:
    """Whether a cell holds a number, or several in one of the known shapes."""
    if len(text) > LONGEST:
        return False
    text = clean(text)
    several = is_number(text) or any(shape.fullmatch(text) for shape, _ in SHAPES[:-1])
    return several or bool(UNIT.fullmatch(text))


def decimal_sign(texts: Iterable[str], comma_likely: bool = False, of_counts: bool = False) -> str:
    """Return the decimal sign that most cells settle: those that are numbers with only one of the two.

    Args:
        texts: Cells.
        comma_likely: Whether 1,234 has a decimal comma if no cell settles it.
        of_counts: Whether 1.234 is then a whole number.
    """
    votes: Counter[str] = Counter()
    for text in texts:
        if len(text) > LONGEST:
            continue
        for part in re.findall(_DIGITS, text) if re.search(r"[±(\[]", text) else [text]:
            point, comma = number(part, ".") is not None, number(part, ",") is not None
            if point != comma:
                votes["." if point else ","] += 1
            elif point and (sign := re.search("[.,]", part)):
                votes["either " + sign[0]] += 1
    if votes["."] == votes[","] == 0 and comma_likely:
        return "," if votes["either ,"] or (votes["either ."] and of_counts) else "."
    return "," if votes[","] > votes["."] else "."
