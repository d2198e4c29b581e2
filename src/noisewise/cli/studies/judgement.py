"""What follows from the measurements: ``status best certify check``."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli.studies.session import (
    Json,
    Name,
    Store,
    job_in_words,
    open_study,
    report,
    status_content,
)
from noisewise.cli.terminal.exits import DIFFERS, DONE, NOT_YET, WITHHELD, leave
from noisewise.cli.terminal.flags import in_flags

#: The number of suggestions under way that are shown.
SHOWN = 10
#: What `best` tells of a certificate.
BEST = (
    "option", "estimate", "bound", "reached", "sentence", "candidates", "verdict", "largest_estimate",
    "largest_estimate_value", "rank", "n_compared", "withheld",
)  # fmt: skip
#: And where values are on a log scale, or only a pool of items was measured.
LOGS = ("scale", "bound_ratio", "eps_ratio", "pool", "wider", "heterogeneous")
#: Why an option is named that has no bound.
CAVEATS = {NOT_YET: "nothing is decided yet", WITHHELD: "the certificate is withheld"}


def status(
    store: Store,
    against: Annotated[
        str | None, typer.Option(metavar="OPTION", help="Show differences to this option.")
    ] = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Show where a study stands: certificate, all options, suggestions."""
    from noisewise.core.support.words import counted

    opened = open_study(store, study)
    pending, content, league = opened.pending, status_content(opened), opened.league(against)
    sentences = opened.certificate().sentences
    words = [line for line in repr(opened).splitlines() if not line.startswith("Estimate for")]
    words = [line for line in words if line not in sentences]
    words += [f"  {job_in_words(job)}{f', {job.by}' if job.by else ''}" for job in pending[:SHOWN]]
    if len(pending) > SHOWN:
        words.append(f"  and {len(pending) - SHOWN} more under way")
    words.append(f"Log: {counted(opened.certificate().n_events, 'event')}, head {opened.head[:16]}…")
    if json:
        report("status", opened, json, content | {"league": league.to_dict()}, [])
        return
    report("status", opened, json, content, sentences)
    for line in ["", *league.lines(), ""] if league.rows else []:
        typer.echo(line)
    report("status", opened, json, content, words)


def best(store: Store, study: Name = None, json: Json = False) -> None:
    """Name the option to take if measuring stops now.

    Exit code 0: it has a bound. 3: nothing is decided, it has the best estimate. 4: withheld, the same.
    """
    from noisewise.study.certificate.verdicts import BOUNDED, REACHED
    from noisewise.study.plain import certificate_of

    opened = open_study(store, study)
    certificate, plain = opened.certificate(), certificate_of(opened)
    code = NOT_YET
    if certificate.withheld:
        code = WITHHELD
    elif certificate.verdict in (BOUNDED, REACHED):
        code = DONE
    named = certificate.option if code == DONE else certificate.largest_estimate
    words = [named] if named else []
    if named and code != DONE:
        words.append(f"{named} has the best estimate, and no more is known of it: {CAVEATS[code]}.")
    words += certificate.sentences
    content = {name: plain[name] for name in (*BEST, *LOGS) if name in plain}
    report("best", opened, json, {"named": named, **content}, words)
    leave("best", code)


def certify(
    store: Store,
    verify: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Compute the certificate in this file afresh from the log."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the certificate as JSON.")] = None,
    why: Annotated[bool, typer.Option("--why", help="List every assumption it rests on.")] = False,
    study: Name = None,
    json: Json = False,
) -> None:
    """State how far from the best the recommended option can be. That decides whether measuring may stop.

    Exit code 0: stopping is allowed. 3: not yet. 4: withheld. With --verify: 0 if the log agrees, 1 if not.
    """
    from noisewise.study.plain import certificate_of

    opened = open_study(store, study)
    if verify is not None:
        _verify(opened, verify, json)
        return
    certificate = opened.certificate()
    if out is not None:
        from noisewise.core.support.files import written_whole

        with written_whole(out) as draft:
            draft.write_text(certificate.to_json() + "\n", encoding="utf-8")
    remedies = opened.check().remedies[:1] if certificate.withheld else ()
    words = certificate.lines(why=why)
    words[1:1] = map(in_flags, remedies)
    words += [f"Wrote {out}."] if out else []
    content = {
        "certificate": certificate_of(opened),
        "remedy": in_flags(remedies[0]) if remedies else None,
        "written": [str(out)] if out else [],
    }
    report("certify", opened, json, content, words)
    leave("certify", DONE if certificate.reached else WITHHELD if certificate.withheld else NOT_YET)


def _verify(study: Any, place: str, json: bool) -> None:
    from noisewise.study.certificate.certificate import claimed_in
    from noisewise.study.creation import compare_certificate

    text = sys.stdin.read() if place == "-" else _read(place)
    try:
        claimed_in(text)
    except ValueError:
        raise ValueError(f"`verify` must be a certificate as JSON; {place!r} is not.") from None
    try:
        compared = compare_certificate(text, study)
        problem = compared.about_words or None
        words = f"The log agrees{compared.about_time}: {compared.certificate.sentence}"
    except ValueError as refusal:
        problem = str(refusal)
    if problem is not None:
        words = f"The log disagrees: {problem}"
    report("verify", study, json, {"agrees": problem is None, "problem": problem}, words)
    leave("certify", DONE if problem is None else DIFFERS)


def _read(place: str) -> str:
    path = Path(place)
    if not path.is_file():
        raise FileNotFoundError(f"`verify` must be a certificate as JSON; there is no file {place!r}.")
    return path.read_text(encoding="utf-8")


def check(store: Store, study: Name = None, json: Json = False) -> None:
    """Check whether measurements fit the model and their error bars.

    Exit code 0: nothing speaks against that. 4: a problem withholds the certificate.
    """
    from noisewise.study.plain import check_row

    opened = open_study(store, study)
    found = opened.check()
    content = check_row(found, in_flags)
    report("check", opened, json, content, list(map(in_flags, str(found).splitlines())))
    leave("check", DONE if found.ok else WITHHELD)
