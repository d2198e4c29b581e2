"""Record what the current tree answers, or compare it with what was recorded.

``python -m tests.golden record [KIND...]`` and ``python -m tests.golden compare [KIND...] [--show N]``.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
from collections import Counter

from tests.golden.comparison import (
    OUTCOMES,
    Compared,
    not_allowed,
    read_changes,
)
from tests.golden.kinds import RECORDS, all_kinds, record, replay_all


def main(arguments: list[str] | None = None) -> int:
    """Run one of the two commands; the exit code is 1 if a difference is not named in changes.toml."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("command", choices=["record", "compare"])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"default: all ({', '.join(all_kinds())})")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="differing cases printed per kind")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1), metavar="N")
    asked = parser.parse_args(arguments)
    if unknown := sorted(set(asked.kinds) - set(all_kinds())):
        parser.error(f"unknown kind {unknown[0]!r}; there are {', '.join(all_kinds())}.")
    kinds = asked.kinds or all_kinds()
    if asked.command == "record":
        for kind in kinds:
            count, size = record(kind), (RECORDS / f"{kind}.jsonl").stat().st_size
            print(f"{kind}: {count} cases recorded, {size / 1e6:.2f} MB")
        return 0
    return compare_kinds(kinds, asked.show, asked.processes)


def compare_kinds(kinds: list[str], show: int, processes: int) -> int:
    """Replay kinds and print what differs."""
    changes = [change for change in read_changes() if change.kind in kinds or change.kind not in all_kinds()]
    good = True
    for kind, found in replay_all(kinds, processes):
        counts = Counter(one.outcome for one in found)
        print(f"{kind}: " + ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES))
        bad = [(one, left) for one in found if (left := not_allowed(kind, one, changes))]
        for one, left in bad[:show]:
            print(f"  {in_words(one, len(left))}")
            print(f"    {left[0].path}: {left[0].old!r} -> {left[0].new!r}")
        if len(bad) > show:
            print(f"  ... and {len(bad) - show} more (--show {len(bad)})")
        good &= not bad
    for change in changes:
        if not change.used:
            print(f"changes.toml: nothing differs any more for {change}; remove this entry")
            good = False
    return 0 if good else 1


def in_words(found: Compared, left: int) -> str:
    """A case that differs, on one line."""
    return f"{found.name}: {found.outcome}, {left} field{'' if left == 1 else 's'} that changes.toml does not name"


if __name__ == "__main__":
    sys.exit(main())
