"""A process that computes one thing that takes long: a plan, a report, what measurements were worth.

``python -m noisewise.server.worker`` reads a line of JSON and answers with one; lines before it say how far
is. It ends with the server: to cancel it is to kill it, and nothing is left behind, because it only reads.
"""

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from noisewise.core.support.remarks import heard_progress, progress
from noisewise.core.support.strict_json import plain, strict_json

#: What is computed from the store, and not from a study.
VERIFY = "verify"
#: What to do with slots.
SLOT = "slot"
#: Seconds between two lines that say how far it is.
PAUSE = 0.2


def compute(study: Any, kind: str, arguments: dict[str, Any]) -> Any:
    """What was asked for, as JSON values."""
    from noisewise.study.plain import worth_row

    if kind in ("plan page", "worth page"):
        from noisewise.server.pages.outlook import plan_in_pictures, worth_in_pictures

        if kind == "plan page":
            return plan_in_pictures(study.plan(**arguments))
        return worth_in_pictures(study.worth(**arguments))
    if kind == SLOT:
        return filled_slots(study, **arguments)
    if kind == "plan":
        return plain(study.plan(**arguments).to_plain())
    if kind == "worth":
        by = arguments.pop("by", None)
        found = study.worth(**arguments)
        return worth_row(found, None if by is None else found.by(by))
    if kind == "report":
        if isinstance(arguments.get("plan"), dict):
            arguments["plan"] = study.plan(**arguments["plan"])
        with tempfile.TemporaryDirectory() as folder:
            file: Path = study.report(Path(folder) / "report.html", **arguments)
            return file.read_text(encoding="utf-8")
    raise ValueError(f"there is nothing called {kind!r} to compute.")


def filled_slots(study: Any, **arguments: Any) -> dict[str, Any]:
    """What to do with slots, as JSON values."""
    return {"slots": [plain(one.to_plain()) for one in study.slot(**arguments)]}


def verdict_on(store: Any, name: str) -> dict[str, Any]:
    """Whether every hash of a study fits, computed afresh."""
    from dataclasses import asdict

    from noisewise.study.safekeeping.verification import verify_log

    verdicts = verify_log(store, study=name)
    return {"fits": all(one.fits for one in verdicts), "verdicts": [asdict(one) for one in verdicts]}


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    """The answer: a result and the version it is about, or why there is none."""
    from noisewise.study.creation import load_study

    try:
        progress("reading the log", 0, 1)
        if request["kind"] == VERIFY:
            return {"result": verdict_on(request["store"], request["study"]), "event": None}
        study = load_study(request["store"], request["study"], read_only=True)
        number = study.n_events
        progress("computing", 0, 1)
        return {"result": compute(study, request["kind"], request["arguments"]), "event": number}
    except (ValueError, KeyError, TypeError, OSError) as problem:
        return {"refusal": str((problem.args or (problem,))[0])}


def main() -> None:
    """Answer one request on standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is no answer
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_server, daemon=True).start()
    said = 0.0

    def watch(doing: str, done: int, of: int) -> None:
        nonlocal said
        if time.monotonic() - said >= PAUSE or done == 0:
            said = time.monotonic()
            say({"doing": doing, "done": done, "of": of})

    def say(line: dict[str, Any]) -> None:
        answers.write(strict_json(line) + "\n")
        answers.flush()

    with heard_progress(watch):
        answer = answer_to(request)
    say(answer)


def _end_with_server() -> None:
    sys.stdin.read()  # until it is closed, however the server ended
    os._exit(1)


if __name__ == "__main__":
    main()
