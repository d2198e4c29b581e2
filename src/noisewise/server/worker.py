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

from noisewise.core.remarks import heard_progress, progress
from noisewise.core.strict_json import strict_json

#: What is computed from the store, and not from a study.
VERIFY = "verify"
#: What is a refusal, and no fault.
REFUSED = (ValueError, KeyError, TypeError, OSError)
#: Seconds between two lines that say how far it is.
PAUSE = 0.2


def compute(study: Any, kind: str, arguments: dict[str, Any]) -> Any:
    """What was asked for, as JSON values."""
    from noisewise.core.refusals import JSON
    from noisewise.operations.table import load_table
    from noisewise.operations.words import speaking

    if kind in ("plan page", "worth page"):
        from noisewise.server.pages.overview import plan_in_pictures, worth_in_pictures

        if kind == "plan page":
            return plan_in_pictures(study.plan(**arguments))
        return worth_in_pictures(study.worth(**arguments))
    if kind == "report":
        with tempfile.TemporaryDirectory() as folder:
            file: Path = study.report(Path(folder) / "report.html", **arguments)
            return file.read_text(encoding="utf-8")
    speaking.set(JSON)
    return load_table()[kind](study, **arguments).to_dict()


def refusal_of(problem: BaseException) -> dict[str, Any]:
    """Why there is no answer, in words and as data."""
    from noisewise.core.refusals import JSON
    from noisewise.operations.words import lifted

    if isinstance(problem, OSError):
        return {"refusal": str((problem.args or (problem,))[0])}
    from noisewise.server.problems import error_name

    refusal = lifted(problem)
    more = {"error": error_name(problem), "refusal": refusal.to_plain()}
    return {"refusal": refusal.said(JSON), "problem": more}


def verdict_on(store: Any, name: str) -> dict[str, Any]:
    """Whether every hash of a study fits, computed afresh."""
    from dataclasses import asdict

    from noisewise.study.safekeeping import verify_log

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
    except REFUSED as problem:
        return refusal_of(problem)


def main() -> None:
    """Answer one request on standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is not an answer
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
