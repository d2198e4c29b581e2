"""Making the certificate: the option with the smallest bound, and what has to be said with it."""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask, distinct
from noisewise.core.text import counted, some_of
from noisewise.study.certificates.assumptions import approximations, assumptions, broken_promises
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.check import Check, check_fit
from noisewise.study.certificates.claims import Claim, claim_at
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.amounts import amount
from noisewise.study.log.looks import chosen_by_looking
from noisewise.study.log.measurements import KINDS, NO_BLOCK, Codes
from noisewise.study.log.model_choice import ESTIMATE
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.linear import UNSETTLED
from noisewise.study.models.scatter import begins_mostly_with_own, begins_with_own
from noisewise.study.models.solver import RANGE
from noisewise.study.telling.error_bars import ITEMS

#: The most options that a search for the smallest bound looks at; each look costs O(n).
MOST_LOOKS = 60
#: Bounds that differ by less than this part of themselves are equal.
EQUAL = 1e-9
#: Readings of an option that usually are enough to bound something where its scatter is its own.
USUALLY_ENOUGH = 6
#: Measurements whose errors may have any tails.
ENOUGH_OF_ANY_TAILS = 8
#: The largest network whose bound is computed a second time, with estimated extra scatter.
MOST_OF_NETWORK = 500


def certify(analysis: Analysis, check: Check | None = None) -> Certificate:
    """The certificate at this moment."""
    specification, state = analysis.specification, analysis.state
    check = check_fit(analysis) if check is None else check
    found = recommend(analysis)
    withheld = (
        (*check.problems, *_lost_to_rounding(analysis), *broken_promises(analysis))
        if found is not None
        else ()
    )
    claim, rests = claim_at(analysis, found, withheld), assumptions(analysis, check)
    return Certificate(
        study=specification.name,
        confidence=specification.confidence,
        goal=specification.goal,
        eps=specification.eps,
        n_options=int(state.allowed().sum()),
        n_measurements=analysis.columns.value.size,
        n_events=state.n_events,
        data=fingerprint(analysis),
        withheld=withheld,
        assumptions=rests.all,
        special=rests.special,
        amount=amount(analysis.state, analysis.columns),
        **_reach(analysis, found, claim),
        approximate=approximations(analysis),
        notes=tuple(_notes(analysis, found, claim)),
        radius=analysis.model.radius_once if analysis.once else analysis.model.radius,
        looks=state.looks,
        evidence=analysis.evidence,
        unit=specification.unit,
        scale=specification.scale,
        **claim._asdict(),
    )


def _reach(analysis: Analysis, found: "Recommended | None", claim: Claim) -> dict[str, Any]:
    """How far a claim reaches: what it rests on, and the bounds of wider claims."""
    state, columns = analysis.state, analysis.columns
    pool = state.items.pool if (columns.kind == KINDS.index(ITEMS)).any() else None
    if found is None or not math.isfinite(claim.bound):
        return {"pool": pool}
    own = (columns.plus == found.option) | (columns.minus == found.option)
    return {
        "rests_on": int(columns.readings[own].sum()),
        "pool": pool,
        "wider": None if pool is None else bound_of(Analysis(state.of_population()), found.option),
        "heterogeneous": _with_heterogeneity(analysis, found.option),
    }


def _with_heterogeneity(analysis: Analysis, option: int) -> float | None:
    """The bound of a network of studies with estimated extra scatter; None where it cannot be estimated."""
    state, columns = analysis.state, analysis.columns
    named = columns.block != columns.blocks.index(NO_BLOCK)
    in_studies = named & (columns.minus >= 0) if columns.arm is None else columns.arm
    if state.model.estimates or state.model.extra_scatter is not None or not in_studies.all():
        return None
    if columns.value.size > MOST_OF_NETWORK:
        return None
    other = Analysis(state.with_model(replace(state.model, extra_scatter=ESTIMATE)))
    return None if other.sigmas.waiting else bound_of(other, option)


def bound_of(analysis: Analysis, option: int) -> float | None:
    """How far an option can be from the best; None if that is not bounded."""
    gaps = _or_infinite(analysis.certified.differences(option) + analysis.boundary.half_widths(option))
    gaps[option] = 0.0
    bound = max(0.0, float(gaps[analysis.state.allowed()].max()))
    return bound if math.isfinite(bound) else None


def _lost_to_rounding(analysis: Analysis) -> list[str]:
    """A reason to withhold where not even the careful arithmetic carries the fit."""
    fit = analysis.estimates if analysis.sigmas.waiting else analysis.certified
    sigma = analysis.sigmas.estimated
    near = fit.solved is None or bool(sigma.max() <= RANGE * sigma.min())
    if fit.slack <= UNSETTLED and near:
        return []
    least = analysis.specification.value_scale.error(float(analysis.sigmas.estimated.min()))
    return [
        f"the smallest error bar, {least}, is too small beside the others: where options are connected, "
        "error bars may differ by a factor of 1e8; void the roughest measurements, which say nothing here"
    ]


class Recommended(NamedTuple):
    """The option with the smallest bound."""

    option: int
    bound: float
    estimate: float
    candidates: Mask
    unmeasured: int
    unconnected: int


def recommend(analysis: Analysis) -> Recommended | None:
    """Find the option whose largest possible disadvantage is smallest; an analysis is searched once."""
    if not analysis.recommended:
        analysis.recommended.append(_recommend(analysis))
    found: Recommended | None = analysis.recommended[0]
    return found


def _recommend(analysis: Analysis) -> Recommended | None:
    if not analysis.columns.value.size:
        return None
    waiting = bool(analysis.sigmas.waiting)  # then there are no standard errors that a bound could rest on
    fit, allowed = analysis.estimates if waiting else analysis.certified, analysis.state.allowed()
    measured = allowed & (fit.group >= 0)
    if not measured.any():
        return None
    # By name, so that the order of the list decides nothing, not even between equals.
    by_name = analysis.state.by_name()
    by_name = by_name[measured[by_name]]
    groups, first, sizes = np.unique(fit.group[by_name], return_index=True, return_counts=True)
    largest = groups[np.lexsort((first, -sizes))[0]]
    group = measured & (fit.group == largest)
    among = by_name[fit.group[by_name] == largest]
    if waiting:
        option, gaps = int(among[np.argmax(fit.means[among])]), np.full(analysis.n, np.inf)
    else:
        option, gaps = smallest_bound(fit.differences, among, analysis.boundary)
        if not np.isfinite(gaps[among]).all():  # none has a bound: say which looks best
            option = int(among[np.argmax(fit.means[among])])
            gaps = fit.differences(option) + analysis.boundary.half_widths(option)
    gaps[~group | np.isnan(gaps)] = np.inf  # what could not be computed bounds nothing
    gaps[option] = 0.0
    bound = max(0.0, float(gaps[allowed].max()))
    estimate = analysis.estimated_values()[option]
    return Recommended(
        option=option,
        bound=bound,
        estimate=float(estimate),
        candidates=allowed & (gaps >= 0.0),
        unmeasured=int((allowed & (fit.group < 0)).sum()),
        unconnected=int((measured & ~group).sum()),
    )


def smallest_bound(
    differences: Callable[[int], Floats], among: Codes, boundary: HalfWidths
) -> tuple[int, Floats]:
    """The option whose upper bounds on all others' advantage are smallest, and those bounds, (n,).

    One O(n) look at rival k bounds from below what every other option's bound can be; options are looked at
    in the order of these lower bounds until none can be better than the best found. Of equals the first in
    ``among`` is taken.

    Args:
        differences: All estimates minus that of an option, (n,).
        among: The options to choose from.
        boundary: By how much each of these can be off.
    """
    first = differences(int(among[0]))
    floors = np.full(first.size, np.inf)
    floors[among] = -np.inf

    def raise_floors(rival: int) -> None:
        advantage = _or_infinite(boundary.lead_widths(rival) - differences(rival))
        advantage[rival] = -np.inf
        np.maximum(floors, advantage, out=floors, where=np.isfinite(floors) | (floors == -np.inf))

    raise_floors(_first_least(-first, among))
    looked: dict[int, tuple[float, Floats]] = {}
    best = math.inf
    for _ in range(min(MOST_LOOKS, among.size)):
        option = _first_least(floors, among)
        if looked and floors[option] > best + EQUAL * abs(best):
            break
        gaps = _or_infinite(differences(option) + boundary.half_widths(option))
        gaps[option] = 0.0
        rival = int(among[np.argmax(gaps[among])])
        looked[option] = float(gaps[rival]), gaps
        best = min(best, looked[option][0])
        floors[option] = math.inf
        raise_floors(rival)
    level = best + EQUAL * abs(best)
    option = next((k for k in among.tolist() if k in looked and looked[k][0] <= level), int(among[0]))
    return option, looked[option][1]


def _first_least(values: Floats, among: Codes) -> int:
    """The first with the least value; differences that rounding makes do not count."""
    least = float(values[among].min())
    if not math.isfinite(least):
        return int(among[np.argmin(values[among])])
    return int(among[np.argmax(values[among] <= least + EQUAL * abs(least))])


def _or_infinite(bounds: Floats) -> Floats:
    """NaN fails closed: a bound that could not be computed is infinite."""
    return np.where(np.isnan(bounds), np.inf, bounds)


def _notes(analysis: Analysis, found: Recommended | None, claim: Claim) -> list[str]:
    if found is None:
        return []
    notes, state = [], analysis.state
    if found.unmeasured and (math.isinf(found.bound) or not analysis.model.shares_information):
        missing = [state.ids[k] for k in np.flatnonzero((analysis.estimates.group < 0) & state.allowed())]
        notes.append(f"{counted(found.unmeasured, 'option')} never measured ({some_of(missing)}).")
    if found.unconnected:
        notes.append(
            f"{counted(found.unconnected, 'option')} measured only in blocks or differences without a link "
            f"to {state.ids[found.option]}: measure one option of each in a common block with "
            "it, or record a difference."
        )
    if math.isinf(found.bound) and not notes and not analysis.sigmas.waiting:
        notes += _why_unbounded(analysis)
    columns = analysis.columns
    level = columns.minus < 0
    # In another block another value is nothing special: its offset may be all there is to it.
    one_block = distinct(columns.block[level]).size == 1
    if one_block and columns.arm is None and math.isfinite(claim.bound):
        signed = np.where(level, analysis.specification.sign * columns.value, -np.inf)
        tops = {state.ids[option] for option in columns.plus[signed == signed.max()]}
        if tops.isdisjoint((claim.option, claim.largest_estimate)):
            word = "largest" if analysis.specification.goal == "max" else "smallest"
            value = analysis.specification.value_scale.undone(analysis.specification.sign * signed.max())
            notes.append(
                f"The {word} single value, {value:g}, was seen at {min(tops)}; recommended is the option "
                "with the smallest bound."
            )
    return notes


def _why_unbounded(analysis: Analysis) -> list[str]:
    """What is missing where all options were measured, and yet nothing is bounded."""
    state, allowed = analysis.state, analysis.state.allowed()
    why = []
    for option in state.items.options if state.items else ():
        place = state.items.of(option).prefix
        if allowed[option] and place == 0:
            why.append(
                f"the items of {state.ids[option]} wait for the first in the order that all options share, "
                f"{state.items.names[place]!r}: record it."
            )
    own = analysis.own_readings
    if own is not None:
        read = allowed & (own.readings > 0.0)
        # With high confidence it takes more: then those that have the fewest.
        fewest = own.readings[read].min() if read.any() else 0.0
        few = np.flatnonzero(read & (own.readings <= max(USUALLY_ENOUGH - 1.0, fewest)))
        if few.size:
            named = some_of([state.ids[k] for k in few])
            why.append(
                "a few readings whose scatter is unknown exclude nothing; each option needs about "
                f"{USUALLY_ENOUGH}, or more: read {named} again."
            )
    if analysis.any_tails:
        counts = np.bincount(analysis.columns.plus, minlength=allowed.size)
        least = max(ENOUGH_OF_ANY_TAILS - 1, int(counts[allowed].min()))
        named = some_of([state.ids[k] for k in np.flatnonzero(allowed & (counts <= least))])
        why.append(
            "a few measurements whose errors may have any tails exclude nothing; each option needs about "
            f"{ENOUGH_OF_ANY_TAILS}, or more: measure {named} again."
        )
    return why


#: What a measurement is filed under, or what is said about it: nothing is computed from these.
FILED = frozenset(("key", "job", "row", "by", "note", "notes", "shown"))


def fingerprint(analysis: Analysis) -> str:
    """Hash the question and every measurement that counts, whatever their order.

    All of the specification is hashed but the study's name, and all of a measurement but what it is filed
    under, so that nothing that changes an answer can be forgotten here.
    """
    state, columns, begun = analysis.state, analysis.columns, analysis.state.begun
    question = vars(analysis.specification) | {"catalogue": analysis.specification.catalogue.fingerprint}
    del question["name"]
    now = {
        "model": state.model,
        "looks": state.looks,
        "chosen": chosen_by_looking(state) if analysis.once else 0,
        "excluded": sorted(state.excluded),
        "options": state.ids[state.n_first :],
        "costs": None if state.costs is None else state.costs[state.n_first :],
        "begun": [sorted(begun.kinds), begins_with_own(state), begins_mostly_with_own(state)],
        "items": state.items.fingerprint().hex() if state.items else None,
    }
    digest = hashlib.sha256(json.dumps([question, now], sort_keys=True, default=vars).encode())
    digest.update(state.added_features)
    texts = state.told.texts(FILED)
    digest.update("\n".join(sorted(texts[number - 1] for number in columns.number.tolist())).encode())
    return digest.hexdigest()[:32]
