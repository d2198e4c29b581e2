"""Plans, and what measurements were worth: what the pages ask for and what they show."""

from collections.abc import Mapping
from typing import Any

from noisewise.core.text import percent
from noisewise.operations.table import load_table
from noisewise.operations.values import typed_value
from noisewise.server.pages.fields import said_in, text_in
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
    levels = tuple(text_in(query, "noise").replace(",", " ").replace(";", " ").split())
    noise = {"noise": typed_value(load_table()["plan"].params["noise"], levels)} if levels else {}
    return noise | said_in("plan", ("eps", "span"), query)
