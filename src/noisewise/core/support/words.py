"""Numbers, times and little tables for people."""

import html
import math
from collections.abc import Sequence
from datetime import UTC, datetime


def number(value: float, digits: int = 3) -> str:
    """A number with as many digits as matter."""
    if not math.isfinite(value):
        return {math.inf: "infinity", -math.inf: "-infinity"}.get(value, "unknown")
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"


def estimated(value: float) -> str:
    """An estimate, with the digits that all sentences, tables and charts give it."""
    return number(value, 4)


def aligned(values: Sequence[float | None], errors: Sequence[float | None]) -> list[tuple[str, str] | None]:
    """Estimates of a column and their standard errors, with the same number of decimals.

    Of the usual standard error two digits are to be seen; without any, the largest value has the digits of
    `estimated`. None where there is no value; an error that is none, or 0, is empty.
    """
    known = [abs(value) for value in values if value]
    spread = sorted(error for error in errors if error)
    places = 3 - math.floor(math.log10(max(known))) if known else 0
    if spread:
        places = min(places + 4, 1 - math.floor(math.log10(spread[len(spread) // 2])))
    plain = -3 <= places <= 9

    def written(value: float) -> str:
        if not plain:
            return estimated(value)
        rounded = f"{value:,.{max(0, places)}f}"
        return rounded.removeprefix("-") if float(rounded.replace(",", "")) == 0.0 else rounded

    return [
        None if value is None else (written(value), written(error) if error else "")
        for value, error in zip(values, errors, strict=True)
    ]


def in_unit(text: str, unit: str | None) -> str:
    """A number in words with its unit, if it has one: 0.3 ms."""
    return text if unit is None else f"{text} {unit}"


def about(value: float, digits: int = 3) -> str:
    """A forecast, which has no more digits than that however large it is: 35,200."""
    return number(float(f"{value:.{digits}g}"), digits) if math.isfinite(value) else number(value)


def rounded_up(value: float, digits: int = 2) -> str:
    """A bound, never shown smaller than it is."""
    if not (math.isfinite(value) and value > 0.0):
        return number(value)
    size = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return number(math.ceil(value / size * (1.0 - 1e-12)) * size, digits + 1)


def percent(share: float, decimals: int | None = None) -> str:
    """A share such as 95 % or 99.9999 %: 100 % is said of all and 0 % of nothing only.

    Args:
        share: From 0 to 1.
        decimals: How many are shown; default: as many as there are, for what was chosen and not measured.
    """
    shown = f"{100.0 * share:.10g}" if decimals is None else f"{100.0 * share:.{decimals}f}"
    if decimals is not None:
        least = 10.0**-decimals
        if float(shown) >= 100.0 and share < 1.0:
            return f"over {100.0 - least:.{decimals}f} %"
        if float(shown) == 0.0 and share > 0.0:
            return f"under {least:.{decimals}f} %"
    elif float(shown) >= 100.0 and share < 1.0:
        return "over 99.99999999 %"
    return f"{shown} %"


def counted(count: float, thing: str) -> str:
    """1 option, 2 options, 1,234,567 options."""
    first, *rest = thing.split(" ", 1)
    shown = f"{count:,.0f}" if float(count).is_integer() else f"{count:g}"
    return " ".join([shown, first if count == 1 else f"{first}s", *rest])


def titled(name: str) -> str:
    """A study as a title; the default name is none."""
    return "Study" if name == "study" else f"Study {name}"


def usual_measurements(count: float, digits: int = 3) -> str:
    """1 usual measurement, 2.5 usual measurements."""
    said = number(count, digits)
    return f"{said} usual measurement{'' if said == '1' else 's'}"


def ordinal(count: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    ending = "th" if count % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{ending}"


def moment(at: float) -> datetime:
    """A time of the log."""
    return datetime.fromtimestamp(at, UTC)


def duration(seconds: float) -> str:
    """3 days, 5 hours, 10 minutes."""
    for size, unit in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"


def as_html(title: str, lines: Sequence[str], *, good: bool | None = None, drawn: str = "") -> str:
    """A small box for a notebook: readable in light and dark themes.

    Args:
        title: What it is about.
        lines: Sentences, the most important one first.
        good: Whether that is good news; None if it is neither.
        drawn: HTML that follows the first sentence.
    """
    colour = {True: "#2e7d32", False: "#c62828", None: "#607d8b"}[good]
    first, *rest = [html.escape(line) for line in lines] or [""]
    body = "".join(f"<div style='opacity:0.8'>{line}</div>" for line in rest)
    return (
        f"<div style='border-left:4px solid {colour};padding:0.3em 0.8em'>"
        f"<div style='opacity:0.6;font-size:85%'>{html.escape(title)}</div>"
        f"<div><b>{first}</b></div>{drawn}{body}</div>"
    )
