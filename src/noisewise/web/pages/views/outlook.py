"""What it will take, what to do with a slot, and what measurements were worth."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from noisewise.core.support.words import percent
from noisewise.study.planning.plan import Plan
from noisewise.study.planning.worth import Worth
from noisewise.study.showing.page.pictures import groups_of, plan_figure, worth_figure
from noisewise.study.showing.plots import forecast_rows
from noisewise.study.study import Study
from noisewise.web.pages.views.tell_form import number_in

#: Groups that are listed, and bounds that are computed for the page of what was worth most.
MOST_GROUPS, LOOKS = 20, 8


class PlanShown(NamedTuple):
    """A plan in words and as a picture."""

    sentence: str
    lines: list[str]
    figure: str


class Group(NamedTuple):
    """What blocks or instruments were worth."""

    what: str
    rows: list[tuple[str, str, str, str]]
    left: str


class WorthPage(NamedTuple):
    """What measurements were worth."""

    sentence: str
    figure: str
    groups: list[Group]
    withheld: str


def asked_plan(study: Study, query: Mapping[str, str]) -> PlanShown:
    """The plan that an address asks for: ``noise``, ``eps``, ``span``; each may be empty."""
    noise: Any = _amounts("Noise", query.get("noise", ""))
    plan = study.plan(
        noise if len(noise) > 1 else noise[0] if noise else None,
        eps=_amount("Eps", query.get("eps", "")),
        span=_amount("Span", query.get("span", "")),
    )
    return shown_plan(plan)


def _amounts(title: str, text: str) -> list[float | str]:
    parts = text.replace(",", " ").replace(";", " ").split()
    return [amount for part in parts if (amount := _amount(title, part)) is not None]


def _amount(title: str, text: str) -> float | str | None:
    """A number, or a part such as 2% or 1.5x, which the scale of the study reads."""
    text = text.strip()
    if not text:
        return None
    return text if text[-1] in "%x" else number_in(title, text)


def shown_plan(plan: Plan) -> PlanShown:
    """A plan as it is shown."""
    first, *rest = str(plan).splitlines()
    return PlanShown(first, rest, plan_figure(plan) if forecast_rows(plan)[0] else "")


def asked_slots(study: Study, query: Mapping[str, str]) -> list[list[str]]:
    """What to do with slots, in lines for each: ``sigma``, ``block``."""
    sigmas = _amounts("Sigma", query.get("sigma", ""))
    slots = study.slot(sigmas, block=query.get("block", "").strip() or None)
    return [[line.strip() for line in str(slot).splitlines()] for slot in slots]


def worth_page(worth: Worth) -> WorthPage:
    """The ledger in a picture, and by groups."""
    figure = worth_figure(worth) if len(worth.ledger) > 1 else ""
    groups = []
    for what in ("instrument", "block", "option"):
        found = groups_of(worth, what)
        if found is None:
            continue
        rows = [
            (str(row[what]), f"{row['measurements']:,}", row["precision_share"], row["share"])
            for row in found[:MOST_GROUPS].iter_rows(named=True)
        ]
        left = len(found) - len(rows)
        rest = 1.0 - sum(worth.by(what)["share"][: len(rows)].to_list())
        said = f"{left:,} more hold {percent(max(0.0, rest), 1)} of what was learnt." if left else ""
        groups.append(Group(what, rows, said))
    reasons = "; ".join(worth.withheld)
    held = f"No bounds are shown, since the certificate is withheld: {reasons}." if reasons else ""
    return WorthPage(worth.sentence, figure, groups, held)
