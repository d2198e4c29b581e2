"""A study as one page: what is certified, what to do next, how it came about. No network, no script.

The question, the verdict and what to do next come first; then the options, how the bound fell, what was
worth most, whether the model fits, what it rests on, the log. Everything that is claimed is what the
certificate says (`noisewise.study.certificates.claims`), which is in the page as JSON as well.
"""

import json
import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from noisewise.core.text import counted, in_unit, percent
from noisewise.core.version import __version__
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.check import Check
from noisewise.study.certificates.claims import (
    BOUNDED,
    IN_WORDS,
    NOTHING,
    REACHED,
    UNBOUNDED,
    UNDECIDED,
    WITHHELD,
)
from noisewise.study.log.budget import left_of_budget, policy_in_words
from noisewise.study.log.jobs import Job
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.worth import Worth, find_worth
from noisewise.study.report.elements import (
    ROWS,
    STYLE,
    Column,
    bullets,
    content_policy,
    definitions,
    folded,
    paragraph,
    section,
    table,
    text,
    together,
)
from noisewise.study.report.figures import (
    course_figure,
    course_of,
    forecast_rows,
    groups_of,
    options_figure,
    plan_figure,
    residuals_figure,
    worth_figure,
)
from noisewise.study.report.frames import make_frame
from noisewise.study.report.intervals import view_of

if TYPE_CHECKING:  # it simulates studies, which takes much to load
    from noisewise.study.planning.plan import Plan
    from noisewise.study.study import Study


#: After how many measurements the bound is computed for the page: as many as its chart can show, and fewer
#: where there are more options than so many.
LOOKS, FEWEST_LOOKS, MANY_OPTIONS = 24, 8, 400

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="noisewise {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<p class="soft">{about}</p>
<h1>{question}</h1>
</header>
<main>
{sections}
</main>
<script type="application/json" id="certificate">{certificate}</script>
</body>
</html>
"""


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that a report is made of."""

    analysis: Analysis
    certificate: Certificate
    check: Check
    worth: Worth
    plan: "Plan | str | None"  # or why there is none; None: it was not asked for
    suggested: Sequence[Job]
    options: pl.DataFrame
    measurements: pl.DataFrame
    events: pl.DataFrame  # the last ones
    under_way: int
    at: float


def findings_of(study: "Study", plan: "Plan | bool | None", at: float) -> Findings:
    """Compute everything that a report is made of.

    Args:
        study: The study.
        plan: A plan, or whether to make one.
        at: The time.
    """
    certificate, analysis, events = study.certificate(), study.analysis(), study.n_events
    planned: Plan | str | None = None if isinstance(plan, bool) else plan
    if plan is True:
        try:
            planned = study.plan()
        except ValueError as reason:
            planned = f"There is no plan: {reason}"
    suggested: Sequence[Job] = ()
    # What to measure next is a question while it is neither decided nor withheld.
    if not (certificate.withheld or certificate.reached or certificate.n_options < 2):
        with suppress(ValueError):  # nothing is left to measure, such as items
            suggested = study.ask(dry_run=True)
    last = study.events(first=max(0, events - ROWS) + 1)
    return Findings(
        analysis=analysis, certificate=certificate, check=study.check(),
        worth=find_worth(analysis, looks_for(certificate), certificate.withheld), plan=planned,
        suggested=suggested, options=study.frame("options"), measurements=study.frame("measurements"),
        events=make_frame("events", analysis.state, analysis, certificate, last),
        under_way=len(study.pending), at=at,
    )  # fmt: skip


def looks_for(certificate: Certificate) -> int:
    """After how many measurements the bound is computed; at one look there is one bound, and no course."""
    if certificate.once:
        return 0
    return max(FEWEST_LOOKS, min(LOOKS, LOOKS * MANY_OPTIONS // max(1, certificate.n_options)))


def make_page(findings: Findings, most: int = 40) -> str:
    """The whole page.

    Args:
        findings: What there is to tell.
        most: Options in the chart of intervals.
    """
    certificate = findings.certificate
    sections = [
        _verdict(findings),
        _next(findings),
        _options(findings, most),
        _course(findings),
        _planned(findings),
        _learnt(findings),
        _checked(findings),
        _rests(findings),
        _listed(findings),
        _made(findings),
    ]
    # "</script>" in a name would end the element.
    plain = certificate.to_json().replace("<", "\\u003c").replace(">", "\\u003e")
    return _PAGE.format(
        policy=content_policy(),
        version=__version__,
        title=text(_named(certificate.study) or _question(findings)),
        style=STYLE,
        about=text(_about(findings)),
        question=text(_question(findings)),
        sections="\n".join(part for part in sections if part),
        certificate=plain,
    )


def _question(findings: Findings) -> str:
    certificate = findings.certificate
    word = "largest" if certificate.goal == "max" else "smallest"
    value = in_unit("value", None if certificate.unit is None else f"(in {certificate.unit})")
    excluded = len(findings.analysis.state.excluded)
    beside = f" ({excluded:,} more {'is' if excluded == 1 else 'are'} excluded)" if excluded else ""
    return f"Which of {counted(certificate.n_options, 'option')}{beside} has the {word} {value}?"


def _about(findings: Findings) -> str:
    at = datetime.fromtimestamp(findings.at, UTC)
    name = _named(findings.certificate.study)
    return f"{name} · {at:%Y-%m-%d %H:%M} UTC" if name else f"{at:%Y-%m-%d %H:%M} UTC"


def _named(name: str) -> str:
    """The name of a study, which the default is none of."""
    return "" if name == "study" else name


def _verdict(findings: Findings) -> str:
    """The one headline: the certificate's own sentence."""
    certificate = findings.certificate
    kind = {REACHED: "good", WITHHELD: "bad", NOTHING: "", BOUNDED: "wait"}.get(certificate.verdict, "wait")
    # A long reason is not a headline: what follows the colon is below it, in smaller letters.
    mark = ": " if certificate.verdict in (WITHHELD, UNBOUNDED, UNDECIDED) else ". "
    rest = certificate.sentence.removeprefix(certificate.option or "").partition(mark)[2]
    first = certificate.sentence.removesuffix(rest).rstrip()
    return (
        f'<div class="verdict {kind}" role="region" aria-label="Verdict">'
        f'<p class="state">{text(IN_WORDS[certificate.verdict])}</p>'
        f'<p class="headline"><strong>{together(first)}</strong> <span>{together(rest)}</span></p>'
        f"{''.join(paragraph(one, 'then') for one in certificate.sentences[1:])}"
        f"</div>{definitions(_facts(findings), 'facts')}"
    )


def _facts(findings: Findings) -> dict[str, str]:
    certificate, scale = findings.certificate, findings.certificate.value_scale
    facts = {}
    if np.isfinite(certificate.bound) and certificate.n_options > 1:
        facts["From the best, at most"] = certificate.bound_text
    if certificate.eps is not None:
        facts["Good enough (eps)"] = scale.close(certificate.eps)
    facts["Confidence"] = percent(certificate.confidence)
    if certificate.may_show_bounds:
        facts["May be the best"] = f"{len(certificate.candidates):,} of {certificate.n_options:,}"
    facts["Measured"] = certificate.amount
    if (left := left_of_budget(findings.analysis.state)) is not None:
        facts["Left of the budget"] = f"{max(0, left):,}"
    if findings.under_way:
        facts["Under way"] = f"{findings.under_way:,}"
    return facts


def _next(findings: Findings) -> str:
    steps = next_steps(findings.certificate, findings.check, findings.suggested, findings.under_way)
    return section("next", "What to do next", bullets(steps)) if steps else ""


def _options(findings: Findings, most: int) -> str:
    certificate = findings.certificate
    view = view_of(findings.analysis, certificate)
    drawn = options_figure(findings.options, view, certificate, most)
    bounded = np.isfinite(certificate.bound)
    notes = certificate.notes if bounded or certificate.withheld else certificate.notes[1:]
    return section("options", "The options", drawn, bullets(notes))


def _course(findings: Findings) -> str:
    certificate = findings.certificate
    course = course_of(findings.worth)["bound"]
    if not certificate.may_show_bounds or len(course) < 2 or not (course > 0.0).any():
        return ""
    drawn = course_figure(findings.worth, certificate.eps, certificate.unit)
    return section("course", "How the bound fell", drawn)


def _planned(findings: Findings) -> str:
    plan = findings.plan
    if plan is None:
        return ""
    if isinstance(plan, str):
        return section("planned", "What it would take", paragraph(plan))
    parts = [paragraph(line) for line in str(plan).splitlines()]
    if forecast_rows(plan)[0]:
        parts.append(plan_figure(plan))
    if any(forecast.high > 0.0 for forecast in plan.forecasts):  # otherwise nothing had to be simulated
        worlds = f"in {plan.forecasts[0].paths} possible worlds"
        parts.append(
            paragraph(f"The study and its policy simulated forward from what is known now, {worlds}.", "soft")
        )
    return section("planned", "What it would take", *parts)


_GROUPS = {
    "measurements": Column("measurements", "{:,}", number=True),
    "precision_share": Column("of the precision", number=True),
    "share": Column("of what was learnt", number=True),
}


def _learnt(findings: Findings) -> str:
    worth = findings.worth
    if worth.ledger.is_empty():
        return ""
    parts = [paragraph(worth.sentence)]
    if len(worth.ledger) > 1:
        parts.append(worth_figure(worth))
    for what in ("instrument", "block"):
        groups = groups_of(worth, what)
        if groups is not None:
            shown = table(groups, {what: Column(what), **_GROUPS}, f"{what}s", first=True)
            parts.append(folded(f"By {what}", shown))
    return section("learnt", "What the measurements were worth", *parts)


def _checked(findings: Findings) -> str:
    if not findings.certificate.n_measurements:
        return ""
    lines = str(findings.check).splitlines()
    parts = [paragraph(line) for line in lines if not line.startswith("  ")]
    parts.append(bullets(line.strip() for line in lines if line.startswith("  ")))
    if findings.check.freedom > 0:
        parts.append(residuals_figure(findings.analysis))
    return section("checked", "Does the model fit?", *parts)


def _rests(findings: Findings) -> str:
    certificate = findings.certificate
    rests = "The certificate rests on:" if certificate.may_show_bounds else "A certificate would rest on:"
    evidence = certificate.evidence if certificate.may_show_bounds else ()
    return section(
        "rests",
        "Method and assumptions",
        paragraph(rests) if certificate.assumptions else "",
        bullets(certificate.assumptions),
        bullets(f"Approximate: {reason}" for reason in certificate.approximate),
        paragraph(f"Evidence: {', '.join(evidence)}.") if evidence else "",
        paragraph(f"Bounds are made from: {certificate.radius}.", "soft"),
    )


_MEASUREMENTS = {
    "id": Column("measurement"),
    "option": Column("option", long=True),
    "minus": Column("minus", long=True),
    "value": Column("value", "{:.6g}", number=True),
    "sigma": Column("sigma", "{:.3g}", number=True),
    "block": Column("block"),
    "instrument": Column("instrument"),
    "share": Column("of what was learnt", number=True),
    "bound_after": Column("bound after", number=True),
    "voided": Column("voided", long=True),
}
_EVENTS = {
    "number": Column("event", "{:,}", number=True),
    "at": Column("when (UTC)", "{:%Y-%m-%d %H:%M:%S}"),
    "kind": Column("kind"),
    "body": Column("what", long=True),
}


def _listed(findings: Findings) -> str:
    ledger = findings.worth.ledger.select("id", "share", "bound_after")
    written = ledger.with_columns(
        pl.Series("share", [percent(share, 2) for share in ledger["share"]], dtype=pl.String),
        pl.Series(
            "bound_after",
            [None if bound is None else findings.worth.scale.short(bound) for bound in ledger["bound_after"]],
            dtype=pl.String,
        ),
    )
    told = findings.measurements.join(written, on="id", how="left", maintain_order="left")
    events = findings.events.with_columns(pl.col("body").str.slice(0, 160))
    count = counted(findings.certificate.n_events, "event")
    return section(
        "log",
        "The log",
        paragraph(f"{count}; the last hash is {findings.certificate.head}.", "soft"),
        folded("Measurements", table(told, _MEASUREMENTS, "measurements")),
        folded("Events", table(events, _EVENTS, "events", total=findings.certificate.n_events)),
    )


def _made(findings: Findings) -> str:
    specification, state = findings.analysis.specification, findings.analysis.state
    policy, model = state.policy, state.model
    scale = specification.value_scale
    eps = "none" if specification.eps is None else scale.close(specification.eps)
    rows = {
        "Question": f"goal {specification.goal}, eps {eps}, confidence {percent(specification.confidence)}"
        f", {model.in_words(scale)}, looked at {state.looks}",
        "Asked by": f"{policy_in_words(state)}.",
        "Its options": f"of noisewise {policy.version}: {json.dumps(policy.options)}",
        "Seed of the study": str(specification.seed),
        "Study made with": f"noisewise {specification.version}",
        "Page made with": f"noisewise {__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
        "Catalogue (sha256)": specification.catalogue.fingerprint,
        "Question and measurements (sha256)": findings.certificate.data,
    }
    return section("made", "Seeds and versions", definitions(rows, "made"))


#: Suggestions that are named.
SHOWN = 3


def next_steps(certificate: Certificate, check: Check, suggested: Sequence[Job], under_way: int) -> list[str]:
    """Sentences, the first of which is what matters most.

    Args:
        certificate: What may be claimed.
        check: What speaks against it, and what to do about that.
        suggested: What `ask` would suggest now.
        under_way: How many suggestions were made and are not answered yet.
    """
    if certificate.verdict == NOTHING and not certificate.n_options:
        return ["Take an option back into the comparison (include), or add others."]
    if certificate.verdict == WITHHELD:
        mend = list(check.remedies) or [f"{why[0].upper()}{why[1:]}." for why in certificate.withheld]
        return [*mend, "Decide nothing before the certificate is given again."]
    if certificate.n_options == 1 and certificate.option is not None:
        return ["Add the options it is to be compared with."]
    if certificate.verdict == REACHED:
        return [f"Take {certificate.option}: it is as close to the best as was asked for."]
    measure = _measure(suggested, under_way)
    if certificate.verdict == UNBOUNDED:
        return [*certificate.notes, *measure]
    if certificate.verdict != NOTHING and certificate.eps is None:
        far = certificate.bound_text
        return [f"Take {certificate.option} if a difference of {far} does not matter; else go on.", *measure]
    if certificate.once:
        return ["This table alone does not decide it: a second look at more data needs a new study."]
    return measure


def _measure(suggested: Sequence[Job], under_way: int) -> list[str]:
    said = []
    if under_way:
        verb = "is" if under_way == 1 else "are"
        said.append(f"{counted(under_way, 'suggestion')} {verb} under way: tell how they came out.")
    for job in suggested[:SHOWN]:
        where = ", ".join(part for part in (job.on_items, job.where) if part)
        said.append(f"Measure {job.what}{f', {where}' if where else ''}: {job.why}.")
    return said
