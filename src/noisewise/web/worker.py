"""A process that computes one thing that takes long: a plan, a report, what measurements were worth.

``python -m noisewise.web.worker`` reads a line of JSON and answers with one. It ends with the server: whoever
cancels it kills it, and nothing is left behind, because it only reads.
"""

import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from noisewise.core.support.strict_json import plain, strict_json


def compute(study: Any, kind: str, arguments: dict[str, Any]) -> Any:
    """What was asked for, as JSON values."""
    from noisewise.study.plain import worth_row

    if kind == "plan":
        return plain(study.plan(**arguments).to_plain())
    if kind == "worth":
        by = arguments.pop("by", None)
        found = study.worth(**arguments)
        return worth_row(found, None if by is None else found.by(by))
    if kind == "report":
        with tempfile.TemporaryDirectory() as folder:
            file: Path = study.report(Path(folder) / "report.html", **arguments)
            return file.read_text(encoding="utf-8")
    raise ValueError(f"there is nothing called {kind!r} to compute.")


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    """The answer: a result and the version it is about, or why there is none."""
    from noisewise.study.creation import load_study

    try:
        study = load_study(request["store"], request["study"], read_only=True)
        number = study.n_events
        return {"result": compute(study, request["kind"], request["arguments"]), "event": number}
    except (ValueError, KeyError, TypeError, OSError) as problem:
        return {"refusal": str((problem.args or (problem,))[0])}


def main() -> None:
    """Answer one request on standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is no answer
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_server, daemon=True).start()
    answers.write(strict_json(answer_to(request)) + "\n")
    answers.flush()


def _end_with_server() -> None:
    sys.stdin.read()  # until it is closed, however the server ended
    os._exit(1)


if __name__ == "__main__":
    main()
