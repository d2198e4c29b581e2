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
from noisewise.cli.terminal.flags import in_flags

#: Exit codes, so that scripts can loop.
NOT_YET, DISAGREES = 3, 1
#: The number of suggestions under way that are shown.
SHOWN = 10
#: What `best` tells of a certificate.
BEST = (
    "option", "estimate", "bound", "reached", "sentence", "candidates", "verdict", "largest_estimate",
    "largest_estimate_value", "rank", "n_compared", "withheld",
)  # fmt: skip
#: And where values are on a log scale.
LOGS = ("scale", "bound_ratio", "eps_ratio")


def status(store: Store, study: Name = None, json: Json = False) -> None:
    """Show where a study stands. That is its certificate, measurements, and suggestions under way."""
    from noisewise.core.support.words import counted

    opened = open_study(store, study)
    pending, content = opened.pending, status_content(opened)
    words = repr(opened).splitlines()
    words += [f"  {job_in_words(job)}{f', {job.by}' if job.by else ''}" for job in pending[:SHOWN]]
    if len(pending) > SHOWN:
        words.append(f"  and {len(pending) - SHOWN} more under way")
    words.append(f"Log: {counted(opened.certificate().n_events, 'event')}, head {opened.head[:16]}…")
    report("status", opened, json, content, words)


def best(store: Store, study: Name = None, json: Json = False) -> None:
    """Name the option to take if measuring stops now."""
    from noisewise.study.plain import certificate_of

    opened = open_study(store, study)
    plain = certificate_of(opened)
    certificate = opened.certificate()
    beside = [certificate.beside] if certificate.beside else []
    words = [*([plain["option"]] if certificate.may_show_bounds else []), plain["sentence"], *beside]
    report("best", opened, json, {name: plain[name] for name in (*BEST, *LOGS) if name in plain}, words)


def certify(
    store: Store,
    verify: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Compute the certificate in this file afresh from the log."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the certificate as JSON.")] = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """State how far from the best the recommended option can be. That decides whether measuring may stop.

    Exit code 0: stopping is allowed. 3: not yet. With --verify: 0 if the log agrees, 1 if not.
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
    words = [*str(certificate).splitlines(), *([f"Wrote {out}."] if out else [])]
    content = {"certificate": certificate_of(opened), "written": [str(out)] if out else []}
    report("certify", opened, json, content, words)
    if not certificate.reached:
        raise typer.Exit(NOT_YET)


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
    if problem is not None:
        raise typer.Exit(DISAGREES)


def _read(place: str) -> str:
    path = Path(place)
    if not path.is_file():
        raise FileNotFoundError(f"`verify` must be a certificate as JSON; there is no file {place!r}.")
    return path.read_text(encoding="utf-8")


def check(store: Store, study: Name = None, json: Json = False) -> None:
    """Check whether measurements fit the model and their error bars.

    Exit code 0: nothing speaks against that. 1: a problem withholds the certificate.
    """
    from noisewise.study.plain import check_row

    opened = open_study(store, study)
    found = opened.check()
    content = check_row(found, in_flags)
    report("check", opened, json, content, list(map(in_flags, str(found).splitlines())))
    if not found.ok:
        raise typer.Exit(DISAGREES)
