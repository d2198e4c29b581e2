"""What a command says when it cannot go on: one sentence, also where the system only gives a number."""

import errno
from collections.abc import Collection, Mapping, Sequence

from noisewise.core.support.checks import nearest

#: What the system says by a number, and what to do about it.
ADVICE = {
    errno.EACCES: "you may not read or write it: get the right to, or choose another one",
    errno.EPERM: "you may not read or write it: get the right to, or choose another one",
    errno.EROFS: "it is on a disk that can only be read: choose another folder",
    errno.ENOSPC: "the disk is full: make room, or choose another folder",
    errno.EDQUOT: "your share of the disk is used up: make room, or choose another folder",
    errno.ENOENT: "there is no such file or folder: look for a typing error",
    errno.EISDIR: "it is a folder: name a file in it",
    errno.ENOTDIR: "a part of the path is a file, not a folder: look for a typing error",
    errno.EMFILE: "too many files are open: close other programs, and try again",
    errno.ENAMETOOLONG: "the name is too long: choose a shorter one",
}


def sentence_of(problem: BaseException) -> str:
    """The sentence of a refusal."""
    if isinstance(problem, OSError) and problem.errno is not None:
        where = "" if problem.filename is None else f" {str(problem.filename)!r}"
        said = ADVICE.get(problem.errno, f"the system says: {problem.strerror}")
        return f"the file{where} cannot be used, because {said}."
    # A KeyError shows its message in quotes.
    return str(problem.args[0] if isinstance(problem, KeyError) and problem.args else problem)


def refuse_unknown_flags(arguments: Sequence[str], flags: Mapping[str, Collection[str]]) -> None:
    """Refuse what looks like a flag and is none, for commands that take negative numbers as they are.

    Args:
        arguments: Of the command line, beginning with the command.
        flags: Those that each of these commands has.
    """
    known = flags.get(arguments[0]) if arguments else None
    for argument in arguments[1:] if known else ():
        name = argument.split("=")[0]
        if argument == "--":
            return
        if name.startswith("--") and name not in (*(known or ()), "--help"):
            raise ValueError(f"there is no option {name}.{nearest(name, sorted(known or ()))}")
