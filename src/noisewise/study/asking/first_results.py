"""What to measure while no bound is finite: options that were never measured, and links between blocks."""

import math

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import DIFFERENCE, Coming, company_in
from noisewise.study.certificates.bound import Recommended
from noisewise.study.log.measurements import NOBODY, Codes
from noisewise.study.models.analysis import Analysis


def first_result(analysis: Analysis, found: Recommended | None, coming: Coming) -> tuple[int, int] | None:
    """The option to measure, and the one to compare it with or NOBODY; None if all options are linked."""
    in_order = by_price(analysis, coming)
    if not analysis.columns.value.size:
        silent = analysis.estimates.silent
        return (
            _farthest(analysis, coming, in_order, silent) if silent.size else _with_partner(in_order, coming)
        )
    fit = analysis.certified
    group = fit.group
    if fit.silent.shape[1] and (group[in_order] != group[in_order[0]]).any():
        return _farthest(analysis, coming, in_order, fit.silent)
    if found is None:  # only excluded options were measured so far
        return _with_partner(in_order, coming)
    home = int(group[found.option])
    missing = in_order[group[in_order] != home]
    if not missing.size:
        return None
    linked = in_order[(group[in_order] == home)]
    if not linked.size:  # what may be measured is not linked with the recommended option, and will not be
        return _with_partner(missing, coming)
    leader = largest(fit.means, linked)
    stranger = _stranger(group, missing)
    if coming.probe == DIFFERENCE:
        return stranger, leader
    company = company_in(analysis.certified_sums, coming.block)
    if company is None:
        # The best option opens a block: it is the one that the others will have to be compared with.
        return leader, NOBODY
    here = int(group[company.options[0]])
    elsewhere = in_order[group[in_order] != here]
    return (_stranger(group, elsewhere), NOBODY) if here == home else (leader, NOBODY)


def _farthest(analysis: Analysis, coming: Coming, in_order: Codes, silent: Floats) -> tuple[int, int]:
    """What moves most, per cost, along the weights that nothing is known of, against what it is read with."""
    n = analysis.n
    prices = np.ones(n) if coming.costs is None else coming.costs
    company = company_in(analysis.certified_sums, coming.block) if analysis.columns.value.size else None
    middle = silent[in_order].mean(axis=0)
    if company is not None and coming.probe != DIFFERENCE:
        middle = company.shares @ silent[company.options]
    first = largest(np.square(silent - middle).sum(axis=1) / prices, in_order)
    others = in_order[in_order != first]
    if coming.probe != DIFFERENCE or not others.size:
        return first, NOBODY
    apart = np.square(silent - silent[first]).sum(axis=1) / (prices + prices[first])
    return largest(apart, others), first


def _with_partner(in_order: Codes, coming: Coming) -> tuple[int, int]:
    if coming.probe != DIFFERENCE or in_order.size < 2:
        return int(in_order[0]), NOBODY
    return int(in_order[1]), int(in_order[0])


def _stranger(group: Codes, missing: Codes) -> int:
    """The first option that was never measured; else the first of those that most others are linked with."""
    never = missing[group[missing] < 0]
    if never.size:
        return int(never[0])
    groups, first, sizes = np.unique(group[missing], return_index=True, return_counts=True)
    largest = groups[np.lexsort((first, -sizes))[0]]  # of equals, the first by name
    return int(missing[group[missing] == largest][0])


def largest(values: Floats, among: Codes) -> int:
    """The first of those with the largest value; differences that rounding makes do not count."""
    return int(among[first_largest(values[among])])


def first_largest(values: Floats) -> int:
    """The place of the first of the largest values; differences that rounding makes do not count."""
    top = float(values.max())
    if not math.isfinite(top):
        return int(values.argmax())
    return int((values >= top - 1e-9 * abs(top)).argmax())


def by_price(analysis: Analysis, coming: Coming) -> Codes:
    """What may be measured: the cheapest first, and equals by name."""
    by_name = analysis.state.by_name()
    some = by_name[coming.allowed[by_name]]
    return np.asarray(some if coming.costs is None else some[np.argsort(coming.costs[some], kind="stable")])
