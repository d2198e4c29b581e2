"""Advice that is followed by machine, again and again, until the check says nothing more."""

from typing import Any

import numpy as np

import noisewise as nw
from noisewise.study.certificates.causes import Cause, Judged, labels_of

WHY = "as advised"


def follow_all(study: nw.Study, most: int = 10) -> list[tuple[str, str]]:
    """Do what the first advice says until there is none: what was advised, in order.

    Each is the cause with its remedy; who is told the same twice goes round in circles.
    """
    followed: list[tuple[str, str]] = []
    while (causes := study.check().causes) and len(followed) < most:
        first = causes[0]
        followed.append((first.kind, repr(first.remedy)))
        follow(study, first)
    return followed


def follow(study: nw.Study, cause: Cause) -> None:
    """Do what a cause advises."""
    (name, wanted), *_ = cause.remedy.items()
    if name == "void" or (name == "look" and isinstance(wanted, list)):
        # Who is told to look at a measurement and finds nothing to correct in it takes it out.
        for measurement in wanted:
            study.void(measurement, WHY)
    elif name == "amend" and isinstance(wanted, list):
        for change in wanted:
            study.amend(change["measurement"], WHY, **{k: v for k, v in change.items() if k != "measurement"})
    elif name == "amend":
        _amend_bars(study, cause.remedy)
    elif name == "switch":
        study.switch(**wanted)
    elif name == "block":
        _give_blocks(study, cause.remedy)
    else:
        raise AssertionError(f"no program can follow {cause.remedy}")


def _amend_bars(study: nw.Study, remedy: dict[str, Any]) -> None:
    judged = Judged(study.analysis())
    for at in np.flatnonzero(judged.known):
        se = float(judged.bare[at])
        told = {"var": se} if remedy.get("se") == "told as var" else {"se": se * remedy["se_times"]}
        study.amend(int(judged.columns.number[at]), WHY, **told)


def _give_blocks(study: nw.Study, remedy: dict[str, Any]) -> None:
    table = Judged(study.analysis())
    if remedy["block"] == "runs":
        codes = np.searchsorted(remedy["from"], table.columns.number, side="right")
    else:
        codes = labels_of(table)[remedy["block"]]
    for at in np.flatnonzero(table.columns.minus < 0):
        before = table.columns.blocks[table.columns.block[at]]
        study.amend(int(table.columns.number[at]), WHY, block=f"{before}/{codes[at]}")
