"""The whole run: compute what is missing, describe every section, write page, figures and numbers."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from noisewise.core.support.checks import check_choice
from noisewise.core.support.files import written_whole
from noisewise.core.support.randomness import check_seed
from noisewise.core.support.version import __version__
from noisewise.paper.pieces import compute
from noisewise.paper.report import page, rows_of, svg
from noisewise.paper.section import Account, Effort, Figure, Finding, Piece, Section, Shown
from noisewise.paper.sections import SECTIONS


class Outcomes(NamedTuple):
    """What a run found, and where it was written."""

    checks: list[tuple[str, Finding]]  # with the name of the section
    report: Path

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(check.passed for _, check in self.checks)


def check_paper(
    names: Sequence[str] = ("all",),
    *,
    full: bool = False,
    out: str | os.PathLike[str] = "paper",
    seed: int = 0,
    on: Any = None,
) -> Outcomes:
    """Measure the claims of the paper and write a report.

    Args:
        names: Sections by name, or ``"all"``.
        full: The long run: more replications, and larger horizons.
        out: The folder for report, figures and numbers. What is computed is kept there and used again.
        seed: Seed of everything random.
        on: Number of processes, an executor of `concurrent.futures`, or a Dask client (or the address of its
            scheduler); default: all processors. The report does not depend on it.
    """
    sections = _chosen(names)
    effort = Effort(full, check_seed(seed))
    folder = Path(out)
    wanted: dict[tuple[str, str], Piece] = {
        (section.name, key): piece for section in sections for key, piece in section.pieces(effort).items()
    }
    flat = {f"{section}/{key}": piece for (section, key), piece in wanted.items()}
    outcomes = compute(flat, folder, on)
    accounts = []
    for section in sections:
        own = {key: outcomes[f"{name}/{key}"] for name, key in wanted if name == section.name}
        accounts.append((section, section.describe(effort, own)))
    _write(effort, accounts, folder)
    return Outcomes(
        [(section.name, check) for section, one in accounts for check in one.checks], folder / "report.html"
    )


def _chosen(names: Sequence[str]) -> list[Section]:
    known = {section.name: section for section in SECTIONS}
    for name in names:
        check_choice("sections", name, ("all", *known))
    return list(SECTIONS) if "all" in names or not names else [known[name] for name in dict.fromkeys(names)]


def _write(effort: Effort, accounts: Sequence[tuple[Section, Account]], folder: Path) -> None:
    """Everything that people read or read in."""
    for name in ("figures", "numbers"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for section, one in accounts:
        drawn = tuple(block.name for block in one.blocks if isinstance(block, Figure))
        if drawn != section.figures:
            raise RuntimeError(f"Section {section.name!r} must draw {section.figures}; it drew {drawn}.")
        for block in one.blocks:
            if isinstance(block, Figure):
                with written_whole(folder / "figures" / f"{block.name}.svg") as draft:
                    draft.write_bytes(svg(block))
            elif isinstance(block, Shown):
                with written_whole(folder / "numbers" / f"{block.name}.parquet") as draft:
                    block.frame.write_parquet(draft, statistics=False)
    with written_whole(folder / "paper.json") as draft:
        draft.write_text(json.dumps(_numbers(effort, accounts), indent=2, allow_nan=False) + "\n")
    with written_whole(folder / "report.html") as draft:
        draft.write_text(page(effort, accounts, __version__), encoding="utf-8")


def _numbers(effort: Effort, accounts: Sequence[tuple[Section, Account]]) -> dict[str, Any]:
    return {
        "schema": "noisewise.paper/1",
        "version": __version__,
        "size": "full" if effort.full else "quick",
        "seed": effort.seed,
        "sections": [
            {
                "name": section.name,
                "checks": [check._asdict() for check in one.checks],
                "tables": {b.name: rows_of(b.frame) for b in one.blocks if isinstance(b, Shown)},
                "figures": list(section.figures),
            }
            for section, one in accounts
        ],
    }
