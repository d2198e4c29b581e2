"""Where each study of a store stands: ``list``."""

import time
from typing import Annotated, Any

import typer

from noisewise.cli.studies.session import Json, Store, say, told_warnings
from noisewise.cli.terminal.lines import cells
from noisewise.cli.terminal.output import print_json

#: Seconds after which certificates are left out: many studies, or large ones.
SECONDS = 10.0
#: In the place of what was not computed.
LEFT_OUT = "…"
TITLES = ("study", "state", "leader", "bound", "told", "last change")
#: Columns that a long name may take.
LONGEST = 18


def list_studies(
    store: Store,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out certificates, which take most of the time.")
    ] = False,
    json: Json = False,
) -> None:
    """List the studies of a store, with the state of each. That is leader, bound, and if it may stop.

    Certificates that would take longer than 10 s together are left out, and shown as "…".
    """
    import noisewise as nw

    with told_warnings():
        storage = nw.open_store(store, read_only=True)
        rows = _rows(storage, quick)
    names = [row["name"] for row in rows]
    if json:
        print_json("list", {"studies": names, "states": rows})
        return
    say(_table(rows) if rows else ["There are no studies yet."])
    left = sum(row["state"] is None for row in rows)
    if left and not quick:
        say(f"{left} without a certificate, because it takes long; `status --study NAME` tells it.")


def _rows(storage: Any, quick: bool) -> list[dict[str, Any]]:
    if hasattr(storage, "standings"):  # of a server, which knows them
        return [_shown(row, quick) for row in storage.standings()]
    began = time.monotonic()
    return [_row(storage, name, quick or time.monotonic() - began > SECONDS) for name in storage.names()]


def _shown(row: dict[str, Any], quick: bool) -> dict[str, Any]:
    """What a server says of a study, as it is said here."""
    from noisewise.study.plain import NOT_YET, READY, UNREADABLE

    judged = {name: row[name] for name in ("state", "leader", "bound")}
    if quick and row["state"] != UNREADABLE:
        judged = dict.fromkeys(judged)
    known = {name: row[name] for name in ("measurements", "options")}
    known |= {"last_change": _day(row["last_change"]), "problem": row["problem"]}
    text = {"bound_text": row["bound_text"]} if judged["state"] in (READY, NOT_YET) else {}
    return {"name": row["name"], **judged, **known, **text}


def _day(at: float | None) -> str | None:
    from noisewise.core.support.words import moment

    return None if at is None else f"{moment(at):%Y-%m-%dT%H:%M:%SZ}"


def _row(storage: Any, name: str, quick: bool) -> dict[str, Any]:
    import noisewise as nw
    from noisewise.study.plain import UNREADABLE, standing_of

    row: dict[str, Any] = {"name": name, "state": None, "leader": None, "bound": None}
    try:
        study = nw.load_study(storage, name, read_only=True)
        at = study.last_change
        row |= {"measurements": study.n_measurements, "options": len(study.options)}
        row |= {"last_change": _day(at), "problem": None}
        return row if quick else row | standing_of(study)
    except (ValueError, KeyError, TypeError, OSError) as problem:
        said = str(problem.args[0]) if problem.args else str(problem)
        more = {"measurements": None, "options": None, "last_change": None, "problem": said}
        return {**row, **more, "state": UNREADABLE}


def _table(rows: list[dict[str, Any]]) -> list[str]:
    from noisewise.core.support.text import printable

    lines = [list(TITLES)]
    for row in rows:
        judged = row["state"] is not None
        bound = row.get("bound_text") or "-"
        count = "-" if row["measurements"] is None else f"{row['measurements']:,}"
        said = [row["state"], row["leader"] or "-", bound] if judged else [LEFT_OUT] * 3
        lines.append([_short(printable(row["name"])), said[0], _short(printable(said[1])), said[2], count,
                      (row["last_change"] or "-")[:10]])  # fmt: skip
    widths = [max(cells(line[k]) for line in lines) for k in range(len(TITLES))]
    return ["  ".join(text + " " * (width - cells(text)) for text, width in zip(line, widths, strict=True))
            for line in lines]  # fmt: skip


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}{LEFT_OUT}"
