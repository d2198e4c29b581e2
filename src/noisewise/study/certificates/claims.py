"""What may be claimed: the one place that decides it, for certificate, tables, charts, pages and commands.

A certificate that is withheld claims nothing: no bound, no option that is ruled out, no best one. Everything
that is shown to people or programs asks here, so that no picture says more than the sentence above it.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # a certificate of a server is read without NumPy
    from noisewise.core.blocks import Floats, Mask
    from noisewise.study.certificates.bound import Recommended
    from noisewise.study.models.analysis import Analysis

#: Verdicts, from the least that may be said to the most.
NOTHING = "nothing"  # no option was measured, or every option is excluded
WITHHELD = "withheld"  # something contradicts the assumptions: no bound holds
UNBOUNDED = "unbounded"  # an option leads, but some options cannot be compared with it yet
UNDECIDED = "undecided"  # there is a bound, and it exceeds every estimated difference
BOUNDED = "bounded"
REACHED = "reached"  # the bound is at most eps
#: The same for people, in two or three words.
IN_WORDS = {
    NOTHING: "Nothing to say yet",
    WITHHELD: "No certificate at this moment",
    UNBOUNDED: "No bound yet",
    UNDECIDED: "Too early to tell",
    BOUNDED: "Not close enough yet",
    REACHED: "Close enough",
}
#: What may be said about one option.
MAY_BE_BEST, RULED_OUT, NOT_KNOWN, EXCLUDED = "may be the best", "ruled out", "not known", "excluded"

#: Estimates that differ by less than this part of themselves are equal.
ROUNDING = 1e-14


class Claim(NamedTuple):
    """What may be said at one moment."""

    verdict: str
    option: str | None  # the option with the smallest bound; while there is none, with the largest estimate
    bound: float  # infinite unless it may be shown
    estimate: float | None
    candidates: tuple[str, ...]  # every option that is not ruled out
    largest_estimate: str | None  # whose estimate is largest (goal "min": smallest), of those comparable
    largest_estimate_value: float | None
    rank: int | None  # of the option, by estimate
    n_compared: int  # options whose estimates can be compared
    spread: float  # the largest estimated difference


def claim_at(analysis: "Analysis", found: "Recommended | None", withheld: tuple[str, ...]) -> Claim:
    """Decide what may be claimed.

    Args:
        analysis: The fits.
        found: The option with the smallest bound, whether or not that bound may be shown.
        withheld: Reasons to withhold the certificate.
    """
    state, allowed = analysis.state, analysis.state.allowed()
    if found is None:
        everyone = names_of(state.ids, allowed)
        return Claim(NOTHING, None, math.inf, None, everyone, None, None, None, 0, 0.0)
    bound = math.inf if withheld or math.isnan(found.bound) else found.bound
    candidates = allowed if withheld else found.candidates
    fit, shown = analysis.estimates, analysis.estimated_values()
    by_name = state.by_name()  # of equals the first by name, whatever the order of the list
    comparable = by_name[(allowed & (fit.group == fit.group[found.option]))[by_name]]
    above: Floats = fit.differences(found.option)[comparable]
    above[abs(above) <= ROUNDING * abs(shown[comparable]).max()] = 0.0
    largest = int(comparable[above.argmax()]) if above.max() > 0.0 else found.option
    spread = float(above.max() - above.min())
    return Claim(
        verdict=_verdict(bound, bool(withheld), spread, int(allowed.sum()), analysis.specification.eps),
        option=state.ids[found.option],
        bound=bound,
        estimate=_known(shown[found.option]),
        candidates=names_of(state.ids, candidates),
        largest_estimate=state.ids[largest],
        largest_estimate_value=_known(shown[largest]),
        rank=1 + int((above > 0.0).sum()),
        n_compared=comparable.size,
        spread=spread,
    )


def _verdict(bound: float, withheld: bool, spread: float, n_options: int, eps: float | None) -> str:
    if withheld:
        return WITHHELD
    if not math.isfinite(bound):
        return UNBOUNDED
    if eps is not None and bound <= eps:
        return REACHED
    # A bound that exceeds every estimated difference would be as good for any other option.
    return UNDECIDED if n_options > 1 and bound > 0.0 and not bound <= spread else BOUNDED


def names_of(ids: list[str], mask: "Mask") -> tuple[str, ...]:
    """The names of some options."""
    return tuple(ids[k] for k in mask.nonzero()[0])


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def may_be_best(certificate: Any, ids: list[str], excluded: Any) -> list[bool | None]:
    """Whether every option may be the best; None where nothing may be said, or where it is excluded.

    Args:
        certificate: The certificate, withheld or not.
        ids: The options.
        excluded: Places of those that are excluded.
    """
    if certificate.verdict in (NOTHING, WITHHELD):
        return [None] * len(ids)
    candidates = set(certificate.candidates)
    found: list[bool | None] = [name in candidates for name in ids]
    for at in excluded:
        found[at] = None
    return found
