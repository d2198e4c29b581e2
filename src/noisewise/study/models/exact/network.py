"""Networks of measured differences, solved without taking a difference: exact for weights over any range.

Nodes are unknown numbers; a **link** of weight w says that one exceeds another by a value, give or take
``1/√w``. The precision of the unknowns is a matrix whose off-diagonal entries are minus the links, and whose
rows sum to the node's **excess** (its own precision, or its link to a node that is set to 0). Written in
links and excesses instead of diagonal entries, elimination only adds and multiplies positive numbers
(Grassmann, Taksar, Heyman 1985; O'Cinneide 1993): every entry of the inverse has nearly all its digits,
whether weights differ by a factor of 10 or of 1e24. In blocks it is a handful of matrix products.

Estimates (`settle_values`) use as unknowns the differences along a spanning tree of the heaviest links, each
in units of its own error. Every other link is then a sum of such differences, none of which is less certain
than it: the least-squares problem is well-conditioned, whatever the weights are.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.support.blocks import Floats
from noisewise.study.models.exact.twofold import Twofold, add, product_of, subtract, total, twofold

Codes = NDArray[np.int64]

#: The most refinements of estimates, and by which part of its error no difference along the tree moves then.
REFINED, SETTLED = 4, 1e-12


def totals(codes: Codes, weights: Floats, size: int) -> Floats:
    """The sum of the weights of each code, (size,)."""
    return np.asarray(np.bincount(codes, weights, size), dtype=np.float64)


def invert_network(links: Floats, excess: Floats) -> tuple[Floats, Floats]:
    """The inverse of ``diag(Σ links + excess) - links`` and the logarithm of the determinant.

    Args:
        links: ``(..., n, n)``, symmetric, not negative; the diagonal is not looked at.
        excess: ``(..., n)``, not negative; every node must be linked to one where it is above 0.
    """
    n = links.shape[-1]
    if n == 0:
        return links.copy(), np.zeros(links.shape[:-2])
    if n == 1:
        return 1.0 / excess[..., None], np.log(excess[..., 0])
    if n == 2:
        return _pair(links[..., 0, 1], excess[..., 0], excess[..., 1])
    half = n // 2
    across = links[..., :half, half:]
    turned = np.swapaxes(across, -1, -2)
    first, first_log = invert_network(links[..., :half, :half], excess[..., :half] + across.sum(axis=-1))
    reach = first @ across
    passed = (first @ excess[..., :half, None])[..., 0]
    rest, rest_log = invert_network(
        links[..., half:, half:] + turned @ reach,
        excess[..., half:] + (turned @ passed[..., None])[..., 0],
    )
    shared = reach @ rest
    inverse = np.empty(links.shape)
    inverse[..., :half, :half] = first + shared @ np.swapaxes(reach, -1, -2)
    inverse[..., :half, half:] = shared
    inverse[..., half:, :half] = np.swapaxes(shared, -1, -2)
    inverse[..., half:, half:] = rest
    return inverse, first_log + rest_log


def _pair(link: Floats, one: Floats, other: Floats) -> tuple[Floats, Floats]:
    # det = link·(one + other) + one·other, divided by its larger factor so that nothing overflows.
    scale = np.maximum(link, np.maximum(one, other))
    determinant = (link / scale) * (one + other) + (one / scale) * other
    inverse = np.empty((*np.shape(link), 2, 2))
    inverse[..., 0, 0] = (link + other) / scale / determinant
    inverse[..., 1, 1] = (link + one) / scale / determinant
    inverse[..., 0, 1] = inverse[..., 1, 0] = link / scale / determinant
    return inverse, np.log(determinant) + np.log(scale)


class Links(NamedTuple):
    """What was measured: ``x[one] - x[other] = value ± weight^-½`` for every row."""

    one: Codes  # (rows,)
    other: Codes  # (rows,)
    weight: Floats  # (rows,)
    value: Twofold  # (rows,)


def settle_values(size: int, links: Links, gone: NDArray[np.bool_], root: int) -> tuple[Twofold, float]:
    """The least-squares values of all nodes of a connected network, with ``x[root] = 0``.

    Args:
        size: How many nodes there are.
        links: What was measured.
        gone: ``(size,)``: nodes to eliminate first; no two of them may be linked.
        root: A node.

    Returns:
        The values, and how far the last step of refinement moved any difference of the tree, in its errors.
    """
    stay = np.flatnonzero(~gone)
    place = np.full(size, -1)
    place[stay] = np.arange(stay.size)
    reduced = merge_links(stay.size, reduce_links(links, gone, place))
    values, moved = _settle_dense(stay.size, reduced)
    found = Twofold(np.zeros(size), np.zeros(size))
    found.put(stay, values)
    if gone.any():
        _fill_in(found, links, gone)
    return subtract(found, found.at(root)), moved


def reduce_links(links: Links, gone: NDArray[np.bool_], place: Codes) -> Links:
    """Links between the nodes that stay, which say the same about them as all links do (star to mesh).

    A node with links ``w_i`` leaves one link ``w_i·w_j/Σw`` between each two of its neighbours.
    """
    from_gone = gone[links.one]
    hub = np.where(from_gone, links.one, np.where(gone[links.other], links.other, -1))
    kept = hub < 0
    parts = [
        Links(place[links.one[kept]], place[links.other[kept]], links.weight[kept], links.value.at(kept))
    ]
    spokes = np.flatnonzero(~kept)
    if spokes.size:
        spokes = spokes[np.argsort(hub[spokes], kind="stable")]
        hubs, weight = hub[spokes], links.weight[spokes]
        tip = place[np.where(from_gone, links.other, links.one)[spokes]]
        turned = np.where(from_gone[spokes], -1.0, 1.0)  # as "tip minus hub"
        value = Twofold(turned * links.value.high[spokes], turned * links.value.low[spokes])
        whole = totals(hubs, weight, gone.size)[hubs]
        for step in range(1, int(np.bincount(hubs).max())):
            first = np.flatnonzero(hubs[:-step] == hubs[step:])
            second = first + step
            first, second = (ends[tip[first] != tip[second]] for ends in (first, second))
            mesh = weight[first] / whole[first] * weight[second]
            parts.append(Links(tip[first], tip[second], mesh, subtract(value.at(first), value.at(second))))
    return Links(
        np.concatenate([part.one for part in parts]),
        np.concatenate([part.other for part in parts]),
        np.concatenate([part.weight for part in parts]),
        Twofold(
            np.concatenate([part.value.high for part in parts]),
            np.concatenate([part.value.low for part in parts]),
        ),
    )


def merge_links(size: int, links: Links) -> Links:
    """At most one link between two nodes, from the lower to the higher number: weighted means."""
    turn = links.one > links.other
    one, other = np.where(turn, links.other, links.one), np.where(turn, links.one, links.other)
    sign = np.where(turn, -1.0, 1.0)
    value = Twofold(sign * links.value.high, sign * links.value.low)
    pair = one * size + other
    order = np.lexsort((-links.weight, pair))
    codes, first, inverse = np.unique(pair[order], return_index=True, return_inverse=True)
    # Deviations from the heaviest of equal links are small, so that their mean may be taken in doubles.
    base = value.at(order[first])
    apart = subtract(value.at(order), base.at(inverse)).plain
    weight = totals(inverse, links.weight[order], codes.size)
    with np.errstate(invalid="ignore"):
        share = links.weight[order] / weight[inverse]
    moved = totals(inverse, share * apart, codes.size)
    live = weight > 0.0
    return Links(
        (codes // size)[live], (codes % size)[live], weight[live], add(base, twofold(moved)).at(live)
    )


def _settle_dense(size: int, links: Links) -> tuple[Twofold, float]:
    if size == 1:
        return twofold(np.zeros(1)), 0.0
    weights = np.zeros((size, size))
    weights[links.one, links.other] = weights[links.other, links.one] = links.weight
    parent, order = _heaviest_tree(weights)
    value = Twofold(np.zeros((size, size)), np.zeros((size, size)))
    for part, given in zip(value, links.value, strict=True):
        part[links.one, links.other], part[links.other, links.one] = given, -given
    below = np.eye(size)  # below[i, t]: whether i is t or hangs below t
    for node in order[:0:-1]:
        below[:, parent[node]] += below[:, node]
    tips = order[1:]
    scale = weights[tips, parent[tips]] ** -0.5
    under = below[:, tips]
    outside = 1.0 - under
    # Two edges of the tree share the links that lead out of both of their subtrees (one within the other),
    # or from one to the other (then with opposite signs): sums of positive numbers in either case.
    nested = below[tips][:, tips] > 0.0  # [s, t]: s hangs below t
    leaving = (under.T @ weights) @ outside
    gram = np.where(nested, leaving, np.where(nested.T, leaving.T, -((under.T @ weights) @ under)))
    gram *= np.outer(scale, scale)
    steps = value.at((tips, parent[tips]))
    moved = math.inf
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor(0.5 * (gram + gram.T), check_finite=False)
    for _ in range(REFINED):
        heights = _heights(under, steps)
        apart = subtract(heights.at((slice(None), None)), heights.at((None, slice(None))))
        flow = weights * subtract(value, apart).plain
        rise = cho_solve(factor, scale * np.einsum("it,it->t", under, flow @ outside), check_finite=False)
        steps = add(steps, product_of(scale, rise))
        moved = float(np.abs(rise).max())
        if moved < SETTLED:
            break
    return _heights(under, steps), moved


def _heaviest_tree(weights: Floats) -> tuple[Codes, Codes]:
    """A spanning tree of the heaviest links (Prim): each node's parent, and the nodes from the root on."""
    size = len(weights)
    parent, order = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    best, outside = weights[0].copy(), np.ones(size, dtype=bool)
    outside[0] = False
    for at in range(1, size):
        node = int(np.argmax(np.where(outside, best, -1.0)))
        order[at], outside[node] = node, False
        closer = weights[node] > best
        parent[closer & outside] = node
        np.maximum(best, weights[node], out=best)
    return parent, order


def _heights(under: Floats, steps: Twofold) -> Twofold:
    """The nodes' values: the sum of the steps of the tree that a node is under, (size,)."""
    return total(Twofold(*(part[:, None] * under.T for part in steps)))


def _fill_in(values: Twofold, links: Links, gone: NDArray[np.bool_]) -> None:
    """The value of every eliminated node: the weighted mean of what its neighbours say."""
    from_gone = gone[links.one]
    hub = np.where(from_gone, links.one, np.where(gone[links.other], links.other, -1))
    spokes = np.flatnonzero(hub >= 0)
    spokes = spokes[np.lexsort((-links.weight[spokes], hub[spokes]))]
    sign = np.where(from_gone[spokes], 1.0, -1.0)
    tip = np.where(from_gone, links.other, links.one)[spokes]
    step = Twofold(sign * links.value.high[spokes], sign * links.value.low[spokes])
    said = add(values.at(tip), step)
    hubs, first, inverse = np.unique(hub[spokes], return_index=True, return_inverse=True)
    base = said.at(first)
    apart = subtract(said, base.at(inverse)).plain
    weight = totals(inverse, links.weight[spokes], hubs.size)
    moved = totals(inverse, links.weight[spokes] / weight[inverse] * apart, hubs.size)
    values.put(hubs, add(base, twofold(moved)))
