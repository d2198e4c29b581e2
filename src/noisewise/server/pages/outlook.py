"""Plans, and what measurements were worth: what the pages ask for and what they show."""

from collections.abc import Mapping
from typing import Any

from noisewise.core.text import percent
from noisewise.server.pages.measurements import number_in
from noisewise.study.planning.plan import Plan
from noisewise.study.planning.worth import Worth
from noisewise.study.report.figures import forecast_rows, groups_of, plan_figure, worth_figure

#: Groups that are listed.
MOST_GROUPS = 20


def plan_in_pictures(plan: Plan) -> dict[str, Any]:
    """A plan: its sentence, further lines, and a figure in HTML."""
    first, *rest = str(plan).splitlines()
    return {"sentence": first, "lines": rest, "figure": plan_figure(plan) if forecast_rows(plan)[0] else ""}


def worth_in_pictures(worth: Worth) -> dict[str, Any]:
    """The ledger: its sentence, a figure in HTML, and tables by instrument, block and option."""
    reasons = "; ".join(worth.withheld)
    groups = [_group(worth, what) for what in ("instrument", "block", "option")]
    return {
        "sentence": worth.sentence,
        "figure": worth_figure(worth) if len(worth.ledger) > 1 else "",
        "groups": [group for group in groups if group is not None],
        "withheld": f"No bounds, since the certificate is withheld: {reasons}." if reasons else "",
    }


def _group(worth: Worth, what: str) -> dict[str, Any] | None:
    found = groups_of(worth, what)
    if found is None:
        return None
    rows = [
        [str(row[what]), f"{row['measurements']:,}", row["precision_share"], row["share"]]
        for row in found[:MOST_GROUPS].iter_rows(named=True)
    ]
    left = len(found) - len(rows)
    rest = max(0.0, 1.0 - sum(worth.by(what)["share"][: len(rows)].to_list()))
    said = f"{left:,} more hold {percent(rest, 1)} of what was learnt." if left else ""
    return {"what": what, "rows": rows, "left": said}


def plan_arguments(query: Mapping[str, str]) -> dict[str, Any]:
    """What an address says about a plan: ``noise``, ``eps``, ``span``; each may be empty."""
    noise = _amounts("Noise", query.get("noise", ""))
    said = {
        "noise": noise if len(noise) > 1 else noise[0] if noise else None,
        "eps": _amount("Eps", query.get("eps", "")),
        "span": _amount("Span", query.get("span", "")),
    }
    return {name: value for name, value in said.items() if value is not None}


def _amounts(title: str, text: str) -> list[float | str]:
    parts = text.replace(",", " ").replace(";", " ").split()
    return [amount for part in parts if (amount := _amount(title, part)) is not None]


def _amount(title: str, text: str) -> float | str | None:
    """A number, or a part such as 2% or 1.5x, which the scale of the study reads."""
    text = text.strip()
    if not text:
        return None
    return text if text[-1] in "%x" else number_in(title, text)
