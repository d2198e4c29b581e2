"""Exit codes, so that scripts can decide: what each one means, and which command ends with which."""

from typing import Final

import typer

DONE: Final = 0
DIFFERS: Final = 1
WRONG_CALL: Final = 2
NOT_YET: Final = 3
WITHHELD: Final = 4
INTERRUPTED: Final = 130

#: What they mean for every command.
MEANINGS = {
    DONE: "done",
    DIFFERS: "what was to be confirmed is not so",
    WRONG_CALL: "the call was wrong, with one sentence on standard error; nothing changed",
    NOT_YET: "not yet, or undecided",
    WITHHELD: "withheld, or a question has to be answered",
    INTERRUPTED: "interrupted; what was finished is kept",
}
#: What they mean for a command that has more than "done", "wrong" and "interrupted".
EXITS: dict[str, dict[int, str]] = {
    "certify": {
        DONE: "measuring may stop; with `--verify`: the log agrees",
        DIFFERS: "with `--verify`: the log disagrees",
        NOT_YET: "not yet: the bound is above eps, or there is none",
        WITHHELD: "the certificate is withheld",
    },
    "best": {
        DONE: "the option that is named has a bound",
        NOT_YET: "nothing is decided: the option with the best estimate is named, or none was measured",
        WITHHELD: "the certificate is withheld: the option with the best estimate is named",
    },
    "check": {DONE: "nothing speaks against it", WITHHELD: "a problem withholds the certificate"},
    "run": {
        DONE: "what `--until` says is reached",
        DIFFERS: "the command failed, and the run had to end",
        NOT_YET: "not yet",
    },
    "bench": {
        DONE: "the fastest is known, or the candidate is fast enough",
        DIFFERS: "the candidate is slower than the baseline by more than eps",
        NOT_YET: "undecided within the budget",
    },
    "TABLE": {
        DONE: "the best option, within eps, is known; with `--dry-run`: the table was understood",
        NOT_YET: "the bound is above eps, or another option may be the best",
        WITHHELD: "a question has to be answered (the flags are printed), or the certificate is withheld",
    },
    "verify": {DONE: "all is as it was written", DIFFERS: "something differs"},
    "paper": {DONE: "every finding is confirmed", DIFFERS: "a finding is not confirmed"},
}


def leave(command: str, code: int) -> None:
    """End a command with one of the codes that `EXITS` documents for it."""
    if code not in EXITS[command] and code != INTERRUPTED:
        raise LookupError(f"{command!r} has no exit code {code}.")
    if code != DONE:
        raise typer.Exit(code)


def as_table() -> str:
    """All codes of all commands, as a table of the documentation."""
    rows = [f"| {code} | every command | {said} |" for code, said in MEANINGS.items()]
    rows += [
        f"| {code} | `{command}` | {said} |"
        for command, codes in EXITS.items()
        for code, said in codes.items()
    ]
    return "\n".join(["| exit code | command | meaning |", "|---|---|---|", *rows])
