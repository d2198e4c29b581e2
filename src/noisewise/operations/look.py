"""Looking: `status`, `certify`, `check`, `plan`, `worth`, `report` and `list`."""

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from noisewise.core.refusals import RefusedError
from noisewise.operations.measure import job_in_words
from noisewise.operations.opening import library
from noisewise.operations.table import Api, Between, Group, Opt, Result, Verbatim, operation
from noisewise.operations.values import Amount, Costs, JsonCertificate, Shares
from noisewise.operations.words import said

if TYPE_CHECKING:
    from noisewise.study.certificates.certificate import Certificate
    from noisewise.study.certificates.gate import Gate
    from noisewise.study.study import Study

#: Exit codes, so that scripts can loop.
DISAGREES, NOT_YET, WITHHELD = 1, 3, 4
#: Suggestions under way that are shown.
SHOWN = 10


class WordedOutcome(Result):
    """An outcome whose content is made elsewhere, with words of its own."""

    _words: Callable[[], list[str]]
    _code: int = 0

    def lines(self) -> list[str]:
        """Return the words."""
        return self._words()

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return self._code


@dataclass
class StatusOutcome(Result):
    """Where a study is: its certificate, measurements, and suggestions under way."""

    options: int
    measurements: int
    model: str
    deviation: float | None
    extra_scatter: float | None
    goal: str
    eps: float | None
    confidence: float
    policy: str
    budget: int | None
    budget_left: int | None
    pending: list[dict[str, Any]]
    certificate: dict[str, Any]
    notes: list[str]
    head: str
    named: str | None
    league: list[dict[str, Any]]
    summary: list[str]
    more: dict[str, Any]
    _study: Any = field(default=None, repr=False)
    _league: Any = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; what a log scale adds is beside the rest."""
        content = super().to_dict()
        beside = content.pop("more")
        return {**content, **beside}

    def lines(self) -> list[str]:
        """Return the sentences, the league table, the counts, and what is under way."""
        from noisewise.core.text import counted

        study, pending = self._study, self._study.pending
        sentences = study.certificate().sentences
        lines = [*sentences]
        if self.named is not None and self.named != self.certificate["option"]:
            lines.append(f"{self.named} has the best estimate; nothing more is known of it yet.")
        lines += map(Verbatim, ["", *self._league.lines(), ""] if self._league.rows else [])
        about = [line for line in self.summary if not line.startswith("Estimate for")]
        lines += [line for line in about if line not in sentences]
        lines += [f"  {job_in_words(job)}{f', {job.by}' if job.by else ''}" for job in pending[:SHOWN]]
        lines += [f"  and {len(pending) - SHOWN} more under way"] if len(pending) > SHOWN else []
        events = self.certificate["n_events"]
        return [*lines, f"Log: {counted(events, 'event')}, head {self.head[:16]}…"]


def status_content(study: Any) -> dict[str, Any]:
    """Where a study is, as JSON values; of one on a server, as the server says it."""
    from noisewise.study.plain import status_of

    found: dict[str, Any] = study.status() if hasattr(study, "status") else status_of(study)
    found = {name: part for name, part in found.items() if name != "event"}  # of a server's answer
    return {"named": named_in(found["certificate"]), **found}


def named_in(certificate: dict[str, Any]) -> str | None:
    """The option to take if measuring stops now: the leader if it has a bound, else the best estimate."""
    from noisewise.study.certificates.claims import BOUNDED, REACHED

    bounded = not certificate["withheld"] and certificate["verdict"] in (BOUNDED, REACHED)
    found: str | None = certificate["option" if bounded else "largest_estimate"]
    return found


@operation(Group.LOOK, path="", returns=lambda content: content)
def status(
    study: "Study",
    *,
    against: Annotated[
        str | None, Opt("An option to compare all others with in the league table.", metavar="OPTION")
    ] = None,
) -> StatusOutcome:
    """Show how a study is going: the leader, all options, and what is under way."""
    content, league = status_content(study), study.league(against)
    known = {name: content.pop(name) for name in list(content) if name in StatusOutcome.__dataclass_fields__}
    known |= {"league": league.to_dict(), "summary": repr(study).splitlines(), "more": content}
    return StatusOutcome(**known, _study=study, _league=league)


@dataclass
class CertifyOutcome(Result):
    """The certificate, or whether one agrees with the log."""

    certificate: dict[str, Any]
    remedy: str | None
    written: list[str]
    _words: list[str] = field(repr=False)

    def lines(self) -> list[str]:
        """Return the sentence, the candidates and what is special to this study."""
        return self._words

    @property
    def code(self) -> int:
        """The exit code of the command."""
        if self.certificate["reached"]:
            return 0
        return WITHHELD if self.certificate["withheld"] else NOT_YET


@dataclass
class ComparedOutcome(Result):
    """Whether a certificate agrees with the log."""

    agrees: bool
    problem: str | None
    _words: str = field(repr=False)
    schema = "verify"

    def lines(self) -> list[str]:
        """Return it in a sentence."""
        return [self._words]

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return 0 if self.agrees else DISAGREES


def _certificate_in(content: dict[str, Any]) -> "Certificate":
    from noisewise.operations.objects import certificate_from

    return certificate_from(content["certificate"])


@operation(
    Group.LOOK, path="certificate", method="certificate", returns=_certificate_in,
    exits={
        0: "measuring may stop; with {verify}: the log agrees", 1: "with {verify}: the log disagrees",
        NOT_YET: "not yet: the bound is above eps, or there is none", WITHHELD: "the certificate is withheld",
    },
    advice="Quote its sentence as it is, with its confidence; measuring may stop when `reached` is true.",
)  # fmt: skip
def certify(
    study: "Study",
    *,
    verify: Annotated[JsonCertificate | None, Opt("Compute this certificate afresh from the log.")] = None,
    out: Annotated[Path | None, Opt("Write the certificate as JSON.", "--out", "-o", local=True)] = None,
    why: Annotated[bool, Opt("List every assumption it rests on.", local=True)] = False,
    cheapest: Annotated[
        bool, Opt("Also list the options that are certainly within eps of the best; name the cheapest.")
    ] = False,
) -> CertifyOutcome | ComparedOutcome:
    """State how far from the best the recommended option can be, and whether you may stop."""
    from noisewise.core.files import written_whole
    from noisewise.study.plain import certificate_of

    if verify is not None:
        return _verified(study, verify.get("certificate", verify))
    certificate = study.certificate(cheapest=cheapest)
    if out is not None:
        with written_whole(out) as draft:
            draft.write_text(f"{certificate.to_json()}\n", encoding="utf-8")
    remedies = study.check().remedies[:1] if certificate.withheld else ()
    words = certificate.lines(why=why)
    words[1:1] = map(said, remedies)
    words += [f"Wrote {out}."] if out else []
    remedy = said(remedies[0]) if remedies else None
    return CertifyOutcome(certificate_of(study, cheapest=cheapest), remedy, [str(out)] if out else [], words)


def _verified(study: "Study", claimed: dict[str, Any]) -> ComparedOutcome:
    from noisewise.study.certificates.certificate import claimed_in
    from noisewise.study.creation import compare_certificate

    text = json.dumps(claimed)
    try:
        claimed_in(text)
    except ValueError:
        raise RefusedError("verify", "must be a certificate as JSON") from None
    try:
        compared = compare_certificate(text, study)
    except ValueError as refusal:
        return ComparedOutcome(False, str(refusal), f"The log disagrees: {refusal}")
    if problem := compared.about_words:
        return ComparedOutcome(False, problem, f"The log disagrees: {problem}")
    return ComparedOutcome(
        True, None, f"The log agrees{compared.about_time}: {compared.certificate.sentence}"
    )


@dataclass
class GateOutcome(Result):
    """A candidate beside a baseline."""

    study: str
    candidate: str
    baseline: str
    verdict: str
    passed: bool
    sentence: str
    difference: float | None
    low: float | None
    high: float | None
    margin: float | None
    confidence: float
    goal: str
    counts: list[int]
    counted: str
    looks: str
    pool: int | None
    wider: list[float | None] | None
    withheld: list[str]
    approximate: list[str]
    unit: str | None
    scale: str | None
    _comparison: Any = field(default=None, repr=False)
    _markdown: bool = field(default=False, repr=False)

    def lines(self) -> list[str]:
        """Return the verdict and what it rests on."""
        return [said(line) for line in self._comparison.sentences]

    @property
    def text(self) -> list[str] | None:
        """The verdict as Markdown, if that was wanted."""
        return [self._comparison.markdown()] if self._markdown else None

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return 0 if self.passed else {"worse": DISAGREES, "withheld": WITHHELD}.get(self.verdict, NOT_YET)


@operation(
    Group.LOOK, method="compare", here=True,
    exits={
        0: "the candidate is better, or not worse by more than the margin", 1: "it is worse",
        NOT_YET: "undecided", WITHHELD: "the certificate is withheld, and so is the verdict",
    },
    examples=(
        ("a study", "gate evals.db --baseline v1 --candidate v2 --margin 0.01"),
        ("a finished table", "gate results.csv --baseline v1 --candidate v2"),
    ),
)  # fmt: skip
def gate(
    study: "Study",
    *,
    candidate: Annotated[str, Opt("The option that may replace the baseline.", metavar="OPTION")],
    baseline: Annotated[str, Opt("The option it is compared with.", metavar="OPTION")],
    margin: Annotated[
        Amount | None, Opt("The loss that does not matter; with a log scale such as 2%.")
    ] = None,
    markdown: Annotated[bool, Opt("Print Markdown for a pull request.", local=True)] = False,
) -> GateOutcome:
    """Compare a candidate with a baseline: better, worse, or not worse by more than a margin."""
    return gate_outcome(study.compare(candidate, baseline, margin=margin), markdown)


def gate_outcome(found: "Gate", markdown: bool) -> GateOutcome:
    """A comparison as all surfaces show it."""
    return GateOutcome(**found.to_dict(), _comparison=found, _markdown=markdown)


@dataclass
class BoundOutcome(Result):
    """The bound, without looking whether the measurements fit."""

    bound: float | None


@operation(
    Group.LOOK, on="http client", method="_bound_now",
    returns=lambda content: float("inf") if content["bound"] is None else content["bound"],
)  # fmt: skip
def bound(study: "Study") -> BoundOutcome:
    """Return the bound alone, which is not a certificate: whether the measurements fit is not checked."""
    from noisewise.core.strict_json import plain

    return BoundOutcome(plain(study._bound_now()))


@dataclass
class CheckOutcome(WordedOutcome):
    """Whether the measurements fit the model and their error bars."""

    ok: bool
    reduced_chi_square: float | None
    freedom: int
    p_value: float | None
    expected: list[float] | None
    problems: list[str]
    notes: list[str]
    worst: list[dict[str, Any]]
    remedies: list[str]
    advice: dict[str, Any]
    causes: list[dict[str, Any]]
    _words: Any = field(default=None, repr=False)
    _code: int = 0


@operation(
    Group.LOOK, here=True,
    exits={0: "nothing speaks against it", WITHHELD: "a problem withholds the certificate"},
)  # fmt: skip
def check(study: "Study") -> CheckOutcome:
    """Check whether the measurements fit the model and their error bars."""
    from noisewise.study.plain import check_row

    found = study.check()
    content: Any = check_row(found, said)
    return CheckOutcome(
        **content,
        _words=lambda: [said(line) for line in str(found).splitlines()],
        _code=0 if found.ok else WITHHELD,
    )


@dataclass
class PlanOutcome(WordedOutcome):
    """How many more measurements it takes."""

    eps: float | None
    confidence: float
    bound: float | None
    forecasts: list[dict[str, Any]]
    by_cost: bool
    block: int | None
    batch: int
    rule: str
    assumed: list[str]
    notes: list[str]
    withheld: list[str]
    looks: str
    sentence: str
    more: dict[str, Any]
    _words: Any = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; what is special to its kind is beside the rest."""
        content = super().to_dict()
        beside = content.pop("more")
        return {**content, **beside}


@operation(
    Group.LOOK, here=True, long=True,
    advice="It simulates, and may take a minute; with fewer `paths` it is done sooner.",
)  # fmt: skip
def plan(
    study: "Study",
    noise: Annotated[
        Shares | None,
        Opt("How noisy measurements will be; repeat it for several levels: --noise 0.3 --noise 0.03@0.1."),
    ] = None,
    *,
    menu: Annotated[
        Costs | None, Opt("Instead of {noise}: levels to choose from, each with its cost.")
    ] = None,
    eps: Annotated[Amount | None, Opt("The bound to reach; default: the study's.")] = None,
    span: Annotated[
        Amount | None,
        Opt("The most by which two options can differ, needed before the first measurements only."),
    ] = None,
    paths: Annotated[int, Opt("Number of simulated futures."), Between(2, 1000)] = 19,
    seed: Annotated[int, Opt("Random seed of the simulation."), Between(0, 2**63 - 1)] = 0,
    block: Annotated[
        int | None,
        Opt("How many measurements a coming block (a day) will hold; default: as usual so far."),
        Between(1, 10_000),
    ] = None,
    batch: Annotated[
        int | None,
        Opt("How many are asked for at once, in one block; default: one by one."),
        Between(1, 10_000),
    ] = None,
    on: Annotated[
        str | None,
        Opt(
            "Number of processes, or the address or file of a Dask scheduler; default: all processors.",
            metavar="WHERE",
            local=True,
        ),
    ] = None,
) -> PlanOutcome:
    """Forecast how many more measurements (and days) it takes."""
    levels: Any = {"noise": noise, "menu": menu}
    made = study.plan(
        **levels, eps=eps, span=span, paths=paths, seed=seed, block=block, batch=batch, on=on
    )  # fmt: skip
    content = made.to_plain()
    known = {name: content.pop(name) for name in list(content) if name in PlanOutcome.__dataclass_fields__}
    return PlanOutcome(**known, more=content, _words=lambda: [said(line) for line in str(made).splitlines()])


@dataclass
class WorthOutcome(WordedOutcome):
    """What each measurement contributed."""

    sentence: str
    information: float | None
    precision: float | None
    equivalent: float | None
    looks: int
    measurements: list[dict[str, Any]]
    groups: list[dict[str, Any]] | None
    written: list[str]
    _words: Any = field(default=None, repr=False)


@operation(Group.LOOK, here=True, long=True)
def worth(
    study: "Study",
    *,
    by: Annotated[
        Literal["block", "instrument", "option"] | None,
        Opt("Sum the ledger up by block, instrument or option."),
    ] = None,
    out: Annotated[
        Path | None, Opt("Write the ledger (.csv, .parquet, .jsonl).", "--out", "-o", local=True)
    ] = None,
) -> WorthOutcome:
    """Show what each measurement contributed: precision, information, the bound before and after."""
    from noisewise.operations.keep import write_table
    from noisewise.study.plain import worth_row

    found = study.worth()
    groups = None if by is None else found.by(by)
    if out is not None:
        write_table(found.ledger if groups is None else groups, out)
    written = [str(out)] if out else []

    def words() -> list[str]:
        lines = str(found).splitlines() if by is None else [found.sentence, *found.lines_by(by)]
        return [*lines, *(f"Wrote {path}." for path in written)]

    return WorthOutcome(**worth_row(found, groups), written=written, _words=words)


@dataclass
class ReportOutcome(Result):
    """The page that was written."""

    sentence: str
    written: list[str]

    def lines(self) -> list[str]:
        """Return where it is."""
        return [f"Wrote {path}." for path in self.written]


@operation(Group.LOOK, on="shell mcp")
def report(
    study: "Study",
    *,
    out: Annotated[Path, Opt("The page to write (.html).", "--out", "-o", local=True)] = Path("report.html"),
    plan: Annotated[bool, Opt("Also forecast how many more it takes; that takes a while.")] = False,
    noise: Annotated[Shares | None, Opt("How noisy measurements will be; see plan.")] = None,
    menu: Annotated[Costs | None, Opt("Levels of noise to choose from, with their costs; see plan.")] = None,
) -> ReportOutcome:
    """Write everything about a study as one HTML page. It needs neither a network nor scripts."""
    levels: Any = {"noise": noise, "menu": menu}
    made = study.plan(**levels) if noise or menu else plan
    written = study.report(out, plan=made)
    return ReportOutcome(study.certificate().sentence, [str(written)])


#: Seconds after which `list` leaves certificates out: many studies, or large ones.
PATIENCE = 10.0
#: Columns that a long name may take.
LONGEST = 18


@dataclass
class ListOutcome(Result):
    """The studies of a store, and where each of them is."""

    studies: list[str]
    states: list[dict[str, Any]]
    next: str | None = None
    _quick: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return them as JSON values, and after which one the next page begins, if there is one."""
        content = super().to_dict()
        return content if self.next is not None else {"studies": self.studies, "states": self.states}

    def lines(self) -> list[str]:
        """Return them as a table."""
        from noisewise.core.text import cells, printable

        if not self.states:
            return ["There are no studies yet."]
        lines = [["study", "state", "leader", "bound", "measured", "last change"]]
        for row in self.states:
            judged = [row["state"], _short(row["leader"] or "-"), row.get("bound_text") or "-"]
            judged = ["…"] * 3 if row["state"] is None else judged
            told = "-" if row["measurements"] is None else f"{row['measurements']:,}"
            lines.append([_short(row["name"]), *judged, told, (row["last_change"] or "-")[:10]])
        lines = [[printable(text) for text in line] for line in lines]
        widths = [max(cells(line[column]) for line in lines) for column in range(len(lines[0]))]
        words = [
            "  ".join(text + " " * (width - cells(text)) for text, width in zip(line, widths, strict=True))
            for line in lines
        ]
        left = sum(row["state"] is None for row in self.states)
        if left and not self._quick:
            words.append(f"{left} without a certificate, which takes long; see `status --study NAME`.")
        return words


@operation(Group.KEEP, name="list", path="", on="shell http mcp")
def list_studies(
    store: Any,
    quick: Annotated[bool, Opt("Leave out certificates, which take most of the time.")] = False,
    after: Annotated[str | None, Api("The last study of the page before.")] = None,
    limit: Annotated[
        int | None, Api("The number of studies of a page; default: all."), Between(1, 500)
    ] = None,
) -> ListOutcome:
    """List the studies of a store, with the leader and the bound of each.

    Certificates that would take longer than 10 s together are left out, and shown as "…".
    """
    storage = library().open_store(store, read_only=True)
    if hasattr(storage, "states"):  # of a server, which knows them
        rows = storage.states(quick)
        return ListOutcome([row["name"] for row in rows], rows, _quick=quick)
    names, began = storage.names(), time.monotonic()
    if after is not None and after not in names:
        raise RefusedError("after", "must be a study of this store", got=after)
    first = 0 if after is None else names.index(after) + 1
    end = len(names) if limit is None else first + max(1, limit)
    rows = [_state(storage, name, quick or time.monotonic() - began > PATIENCE) for name in names[first:end]]
    shown = names[first:end]
    return ListOutcome(shown, rows, shown[-1] if end < len(names) else None, _quick=quick)


def _state(storage: Any, name: str, quick: bool) -> dict[str, Any]:
    """Where a study is; one that cannot be read says why."""
    from noisewise.study.plain import UNREADABLE, standing_of

    row: dict[str, Any] = {"name": name, "state": None, "leader": None, "bound": None}
    try:
        with storage.use(name) if hasattr(storage, "use") else nullcontext(_load(storage, name)) as study:
            row |= {"measurements": study.n_measurements, "options": len(study.options)}
            row |= {"last_change": _day(study.last_change), "problem": None}
            return row if quick else row | standing_of(study)
    except (ValueError, KeyError, TypeError, OSError) as problem:
        unknown = {"measurements": None, "options": None, "last_change": None}
        text = str(problem.args[0]) if problem.args else str(problem)
        return row | unknown | {"problem": text, "state": UNREADABLE}


def _load(storage: Any, name: str) -> "Study":
    study: Study = library().load_study(storage, name, read_only=True)
    return study


def _day(at: float | None) -> str | None:
    from noisewise.core.text import moment

    return None if at is None else f"{moment(at):%Y-%m-%dT%H:%M:%SZ}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
