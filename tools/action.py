"""The GitHub Action: run ``noisewise gate`` or ``bench``, write a summary, and set the exit code.

It reads `NOISEWISE_RUN`, `NOISEWISE_ARGUMENTS` and `NOISEWISE_UNDECIDED`, which `action.yml` sets from its
inputs, and runs without a shell. Anything may be in a name: cells are escaped.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

#: Exit codes of noisewise: what they mean, and the sign in the title.
UNDECIDED = 3
SIGNS = {0: "✅", 1: "❌", UNDECIDED: "❔", 4: "❔"}


def escaped(text: str) -> str:
    """Text as it is, in a cell."""
    for sign in "\\`*_{}[]<>#|~":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def of_timings(found: dict[str, Any], code: int) -> str:
    """The table of a race."""
    reference = found["versus"]["baseline"] if found["versus"] else found["option"]
    lines = [
        f"### {SIGNS.get(code, '❌')} {escaped(found['sentence'])}", "",
        f"| command | mean | times as long as {escaped(str(reference))} | at least | at most | runs |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in found["results"]:
        ratios = [row["ratio"], row["ratio_low"], row["ratio_high"]]
        shown = ["" if ratio is None else f"{ratio:.3f}" for ratio in ratios]
        cells = [
            escaped(row["command"]),
            f"{1e3 * row['geometric_mean']:.4g} ms",
            *shown,
            str(len(row["times"])),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, *(f"\n{escaped(note)}" for note in found["notes"])])


def main() -> int:
    """Run noisewise, and return what the job ends with."""
    run, undecided = os.environ["NOISEWISE_RUN"], os.environ.get("NOISEWISE_UNDECIDED", "pass")
    for name, given, known in (("run", run, ("gate", "bench")), ("undecided", undecided, ("pass", "fail"))):
        if given not in known:
            print(f"`{name}` must be {' or '.join(known)}; got {given!r}.", file=sys.stderr)
            return 2
    form = "--markdown" if run == "gate" else "--json"
    command = [sys.executable, "-m", "noisewise", run, *shlex.split(os.environ["NOISEWISE_ARGUMENTS"]), form]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    sys.stderr.write(done.stderr)
    if done.returncode not in SIGNS or not done.stdout.strip():  # a crash ends with 1, too
        summary = f"### ❌ noisewise {run} failed\n\n{escaped(done.stderr)}"
    elif run == "bench":
        summary = of_timings(json.loads(done.stdout), done.returncode)
    else:
        summary = done.stdout
    print(summary)
    for variable, text in (("GITHUB_STEP_SUMMARY", summary), ("GITHUB_OUTPUT", f"code={done.returncode}")):
        if variable in os.environ:
            with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
                file.write(f"{text.rstrip()}\n")
    return 0 if done.returncode == UNDECIDED and undecided == "pass" else done.returncode


if __name__ == "__main__":
    sys.exit(main())
