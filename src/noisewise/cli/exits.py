"""Exit codes, so that scripts can decide: what each one means, and which command ends with which."""

from collections.abc import Mapping
from typing import Final

import click

from noisewise.operations.table import load_table

DONE: Final = 0
DIFFERS: Final = 1
WRONG_CALL: Final = 2
NOT_YET: Final = 3
WITHHELD: Final = 4
UNREACHABLE: Final = 5
INTERRUPTED: Final = 130

#: What they mean for every command.
MEANINGS = {
    DONE: "done",
    DIFFERS: "what was to be confirmed is not so",
    WRONG_CALL: "the call was wrong, and standard error says why; nothing changed",
    NOT_YET: "not yet, or undecided",
    WITHHELD: "withheld, or a question has to be answered",
    UNREACHABLE: "the store is busy, unreachable or damaged; nothing changed, or the message says otherwise",
    INTERRUPTED: "interrupted; what was finished is kept",
}
#: What they mean for a command written by hand that has more than "done", "wrong" and "interrupted".
BY_HAND: dict[str, dict[int, str]] = {
    "TABLE": {
        DONE: "the best option, within eps, is known; with `--dry-run`: the table was understood",
        NOT_YET: "the bound is above eps, or another option may be the best",
        WITHHELD: "a question has to be answered (the flags are printed), or the certificate is withheld",
    },
    "bench": {
        DONE: "the fastest is known, or the candidate is fast enough",
        DIFFERS: "the candidate is slower than the baseline by more than eps",
        NOT_YET: "undecided within the budget",
    },
    "run": {
        DONE: "what `--until` says is reached",
        DIFFERS: "the command failed, and the run had to end",
        NOT_YET: "not yet",
    },
    "paper": {DONE: "every finding is confirmed", DIFFERS: "a finding is not confirmed"},
}


def all_exits() -> dict[str, Mapping[int, str]]:
    """The codes of every command that has some of its own."""
    return {**BY_HAND, **{name: op.exits for name, op in load_table().items() if op.exits}}


def leave(command: str, code: int) -> None:
    """End a command with one of the codes that `BY_HAND` documents for it."""
    if code not in BY_HAND[command] and code != INTERRUPTED:
        raise LookupError(f"{command!r} has no exit code {code}.")
    if code != DONE:
        raise click.exceptions.Exit(code)
