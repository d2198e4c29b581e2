"""Making the certificate: the option with the smallest bound, and what has to be said with it."""

import hashlib
import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.model import Floats
from noisewise.core.selection import Mask, first_largest
from noisewise.study.analysis import Analysis
from noisewise.study.catalogue import some_of
from noisewise.study.certificate import Certificate
from noisewise.study.check import Check, check_fit
from noisewise.study.error_bars import COUNTS, KNOWN, NONE, READINGS
from noisewise.study.measurements import KINDS
from noisewise.study.mixed_boundary import TOO_MUCH
from noisewise.study.modelling import SIZES
from noisewise.study.resting import about_model, approximations
from noisewise.study.show import counted, number
from noisewise.study.sums import block_places

#: Searching for the smallest bound looks at most at so many options; each look costs O(n).
MOST_LOOKS = 60


def certify(analysis: Analysis, check: Check | None = None) -> Certificate:
    """The certificate at this moment."""
    specification, state = analysis.specification, analysis.state
    check = check_fit(analysis) if check is None else check
    found = recommend(analysis)
    withheld = (*check.problems, *_lost_to_rounding(analysis)) if found is not None else ()
    bound = math.inf if found is None or withheld else found.bound
    allowed = state.allowed()
    candidates: tuple[str, ...] = ()
    if found is not None:
        candidates = tuple(state.ids[k] for k in np.flatnonzero(found.candidates))
    return Certificate(
        study=specification.name,
        option=None if found is None else state.ids[found.option],
        bound=bound,
        estimate=None if found is None else found.estimate,
        confidence=specification.confidence,
        goal=specification.goal,
        eps=specification.eps,
        n_options=int(allowed.sum()),
        n_measurements=analysis.columns.value.size,
        candidates=candidates,
        withheld=tuple(withheld),
        assumptions=tuple(_assumptions(analysis, check)),
        notes=tuple(_notes(analysis, found)),
        radius=RADII[state.model.model],
        n_events=state.n_events,
        data=fingerprint(analysis),
        approximate=approximations(analysis),
    )


def _lost_to_rounding(analysis: Analysis) -> list[str]:
    """A reason to withhold where not even the careful arithmetic carries the fit."""
    fit = analysis.estimates if analysis.sigmas.waiting else analysis.certified
    if fit.slack <= TOO_MUCH:
        return []
    least = float(analysis.sigmas.estimated.min())
    return [
        f"the smallest error bar, {number(least)}, is too small beside the others (or the span) for any "
        "arithmetic here to tell what follows: state it no smaller than 1e-15 of them"
    ]


RADII = {
    "independent": "normal-mixture boundaries, one per option, over differences to the best (union bound)",
    "linear": "normal-mixture ellipsoid of the features, over differences",
    "linear+deviation": "normal-mixture ellipsoid of the features, plus a normal quantile for the deviations "
    "(union bound over options), at the moment of stopping",
}


class Recommended(NamedTuple):
    """The option with the smallest bound."""

    option: int
    bound: float
    estimate: float
    candidates: Mask
    unmeasured: int
    unconnected: int


def recommend(analysis: Analysis) -> Recommended | None:
    """Find the option whose largest possible disadvantage is smallest."""
    if not analysis.columns.value.size:
        return None
    waiting = bool(analysis.sigmas.waiting)  # then there are no standard errors that a bound could rest on
    fit, allowed = analysis.estimates if waiting else analysis.certified, analysis.state.allowed()
    measured = allowed & (fit.group >= 0)
    if not measured.any():
        return None
    groups, sizes = np.unique(fit.group[measured], return_counts=True)
    group = measured & (fit.group == groups[np.argmax(sizes)])
    if waiting:
        option, gaps = first_largest(fit.means, group), np.full(analysis.n, np.inf)
    else:
        option, gaps = smallest_bound(fit.differences, np.flatnonzero(group), analysis.boundary.half_widths)
    gaps[~group] = np.inf
    gaps[option] = 0.0
    span = math.inf if analysis.state.model.span is None else analysis.state.model.span
    bound = min(span, max(0.0, float(gaps[allowed].max())))
    estimate = analysis.estimated_values()[option]
    return Recommended(
        option=option,
        bound=bound,
        estimate=float(estimate),
        candidates=allowed & (gaps >= 0.0),
        unmeasured=int((allowed & (fit.group < 0)).sum()),
        unconnected=int((measured & ~group).sum()),
    )


def smallest_bound(differences: Any, among: Any, half_widths: Any) -> tuple[int, Floats]:
    """The option whose upper bounds on all others' advantage are smallest, and those bounds, (n,).

    Half-widths are symmetric, so one O(n) look at option k bounds from below what every other option's
    bound can be; options are looked at in the order of these lower bounds until none can be better than the
    best found.
    """
    above = differences(int(among[0]))
    floors = np.full(above.size, np.inf)
    floors[among] = -np.inf

    def raise_floors(rival: int) -> None:
        advantage = half_widths(rival) - differences(rival)
        advantage[rival] = -np.inf
        np.maximum(floors, advantage, out=floors, where=np.isfinite(floors) | (floors == -np.inf))

    raise_floors(int(among[np.argmax(above[among])]))
    best, best_bound, best_gaps = -1, math.inf, np.empty(0)
    for _ in range(min(MOST_LOOKS, among.size)):
        option = int(among[np.argmin(floors[among])])
        if best >= 0 and floors[option] >= best_bound * (1.0 - 1e-12):
            break
        gaps = differences(option) + half_widths(option)
        gaps[option] = 0.0
        rival = int(among[np.argmax(gaps[among])])
        if best < 0 or gaps[rival] < best_bound:
            best, best_bound, best_gaps = option, float(gaps[rival]), gaps
        floors[option] = math.inf
        raise_floors(rival)
    return best, best_gaps


def _assumptions(analysis: Analysis, check: Check) -> list[str]:
    columns = analysis.columns
    present = {KINDS[code] for code in np.unique(columns.kind)}
    said = []
    if KNOWN in present:
        said += [
            "error bars given as se, var or ci are true standard errors, with errors no heavier than normal",
            "these error bars do not depend on the realised noise (were not computed from the same readings)",
        ]
    if READINGS in present:
        said.append(
            "readings scatter normally, equally within each instrument (or block); an upper limit is used"
        )
    if NONE in present:
        said.append("measurements without error bars share one normal scatter; an upper limit is used")
    if COUNTS in present:
        said.append(
            "trials are independent; shares enter with the largest error they can have, 1/(2·sqrt(trials))"
        )
    said.append("what a measurement measures does not change with time, apart from its block's offset")
    said += about_model(analysis)
    if check.freedom > 0:
        freedom = counted(check.freedom, "degree of freedom")
        fit = f"reduced chi-square {number(check.reduced)} on {freedom}"
        said.append(f"the fit was checked: {fit}")
    else:
        said.append("not checked yet: whether the model fits (nothing was repeated)")
    return said


def _notes(analysis: Analysis, found: Recommended | None) -> list[str]:
    if found is None:
        return []
    notes, state = [], analysis.state
    if found.unmeasured and math.isinf(found.bound):
        missing = [state.ids[k] for k in np.flatnonzero((analysis.estimates.group < 0) & state.allowed())]
        notes.append(f"{counted(found.unmeasured, 'option')} never measured ({some_of(missing)}).")
    if found.unconnected:
        notes.append(
            f"{counted(found.unconnected, 'option')} measured only in blocks without a link to "
            f"{state.ids[found.option]}: measure one option of each in a common block."
        )
    columns = analysis.columns
    level = columns.minus < 0
    if level.any():
        signed = np.where(level, analysis.specification.sign * columns.value, -np.inf)
        top = int(np.argmax(signed))
        if columns.plus[top] != found.option:
            word = "largest" if analysis.specification.goal == "max" else "smallest"
            notes.append(
                f"The {word} single value, {columns.value[top]:g}, was seen at "
                f"{state.ids[columns.plus[top]]}; recommended is the option with the smallest bound."
            )
    return notes


def fingerprint(analysis: Analysis) -> str:
    """A hash of the question and of every measurement that counts, whatever their order."""
    columns, specification, model = analysis.columns, analysis.specification, analysis.state.model
    digest = hashlib.sha256(specification.catalogue.fingerprint.encode())
    digest.update(
        repr(
            (
                model.model,
                specification.goal,
                specification.eps,
                specification.confidence,
                model.span,
                specification.noise_floor,
                sorted(analysis.state.excluded),
                # Only where there are any: certificates of earlier versions stay what they are.
                *((name, size) for name in SIZES if (size := getattr(model, name)) is not None),
            )
        ).encode()
    )
    blocks = sorted(columns.blocks)
    parts = (
        columns.plus,
        columns.minus,
        block_places(columns, blocks),
        columns.kind,
        columns.value,
        np.nan_to_num(columns.sigma),
        columns.readings,
        columns.scatter,
    )
    rows = np.zeros(columns.value.size, dtype=np.uint64)
    for part in parts:
        bits = np.ascontiguousarray(part, dtype=np.float64).view(np.uint64)
        rows = (rows ^ bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        rows ^= rows >> np.uint64(29)
    digest.update(np.sort(rows).tobytes())
    digest.update("\n".join(blocks).encode())
    return digest.hexdigest()[:32]
