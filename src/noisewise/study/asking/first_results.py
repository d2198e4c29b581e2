"""What to measure while no bound is finite: options that were never measured, and links between blocks."""

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import DIFFERENCE, Coming, company_in
from noisewise.study.certificate.bound import Recommended
from noisewise.study.log.measurements import NOBODY, Codes
from noisewise.study.models.analysis import Analysis


def first_result(analysis: Analysis, found: Recommended | None, coming: Coming) -> tuple[int, int] | None:
    """The option to measure, and the one to compare it with or NOBODY; None if all options are linked."""
    allowed, by_name = coming.allowed, _by_name(analysis, coming.allowed)
    if not analysis.columns.value.size:
        return _very_first(analysis, coming, by_name)
    fit = analysis.certified
    group = fit.group
    if found is None:  # only excluded options were measured so far
        return _with_partner(by_name, coming)
    home = int(group[found.option])
    missing = by_name[group[by_name] != home]
    if not missing.size:
        return None
    linked = by_name[(group[by_name] == home)]
    leader = _largest(fit.means, linked) if linked.size else found.option
    stranger = _stranger(group, missing)
    if coming.probe == DIFFERENCE:
        return stranger, leader
    company = company_in(analysis.certified_sums, coming.block)
    if company is None:
        # The best option opens a block: it is the one that the others will have to be compared with.
        return (leader, NOBODY) if allowed[leader] else (stranger, NOBODY)
    here = int(group[company.options[0]])
    elsewhere = by_name[group[by_name] != here]
    return (_stranger(group, elsewhere), NOBODY) if here == home else (leader, NOBODY)


def _very_first(analysis: Analysis, coming: Coming, by_name: Codes) -> tuple[int, int]:
    """Of options with features, those that lie far out; else the first by name."""
    span = analysis.state.model.span
    joint = analysis.model.first_knowledge(0.0 if span is None else 2.0 * analysis.sizes.deviation / span)
    variances = joint.variances()
    first = _largest(variances, by_name)
    others = by_name[by_name != first]
    if coming.probe != DIFFERENCE or not others.size:
        return first, NOBODY
    apart = variances - 2.0 * joint.columns(np.array([first]))[:, 0]
    return _largest(apart, others), first


def _with_partner(by_name: Codes, coming: Coming) -> tuple[int, int]:
    if coming.probe != DIFFERENCE or by_name.size < 2:
        return int(by_name[0]), NOBODY
    return int(by_name[1]), int(by_name[0])


def _stranger(group: Codes, missing: Codes) -> int:
    """The first option that was never measured; else the first of those that most others are linked with."""
    never = missing[group[missing] < 0]
    if never.size:
        return int(never[0])
    groups, first, sizes = np.unique(group[missing], return_index=True, return_counts=True)
    largest = groups[np.lexsort((first, -sizes))[0]]  # of equals, the first by name
    return int(missing[group[missing] == largest][0])


def _largest(values: Floats, among: Codes) -> int:
    """The first of those with the largest value; differences that rounding makes do not count."""
    top = float(values[among].max())
    return int(among[np.argmax(values[among] >= top - 1e-9 * abs(top))])


def _by_name(analysis: Analysis, allowed: Mask) -> Codes:
    by_name = analysis.state.by_name()
    return np.asarray(by_name[allowed[by_name]])
