"""Connected parts of a study with independent options: options and blocks as nodes of a network.

A value in a block is the option's value plus the block's offset: the difference of two nodes, the option and
minus the offset. A measured difference is one between two options. So everything measured is a link, and
only differences within a connected part mean anything.
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model.dense import Floats
from noisewise.study.log.measurements import Codes
from noisewise.study.models.exact.network import (
    Links,
    invert_network,
    merge_links,
    reduce_links,
    settle_values,
)
from noisewise.study.models.exact.twofold import Twofold, twofold
from noisewise.study.models.sums import Sums

UNMEASURED = -1


class Grounded(NamedTuple):
    """The covariance of nodes when one of them is set to 0."""

    stay: Codes  # (r,): the nodes whose covariance is kept; the others follow from them
    covariance: Floats  # (r, r)
    own: Floats  # (gone,): what an eliminated node varies by itself
    loads: Floats  # (gone, r): how it follows those that stay
    log_det: float


class Component:
    """One connected part: its options come first among its nodes, then its blocks."""

    def __init__(self, options: Codes, blocks: Codes, links: Links) -> None:
        self.options, self.blocks, self.links = options, blocks, links
        self.size = options.size + blocks.size
        self._grounded: dict[int, Grounded] = {}
        between = links.other < options.size
        self.compared = np.zeros(self.size, dtype=bool)
        self.compared[links.one[between]] = self.compared[links.other[between]] = True

    @functools.cached_property
    def degrees(self) -> Codes:
        """How many links each node has, (size,)."""
        return np.asarray(
            np.bincount(self.links.one, minlength=self.size)
            + np.bincount(self.links.other, minlength=self.size)
        )

    @functools.cached_property
    def gone(self) -> NDArray[np.bool_]:
        """Nodes that are best eliminated first: all blocks, or all options that were never compared."""
        is_block = np.arange(self.size) >= self.options.size
        alone = ~is_block & ~self.compared
        return is_block if self._cost(is_block) <= self._cost(alone) else alone

    def _cost(self, gone: NDArray[np.bool_]) -> float:
        return 20.0 * float(np.sum(self.degrees[gone].astype(float) ** 2)) + float((~gone).sum()) ** 3

    def values(self, root: int) -> tuple[Twofold, float]:
        """The values of all nodes, that of ``root`` being 0; and what the last refinement still moved."""
        gone = self.gone
        if gone.all():
            gone = gone & (np.arange(self.size) != root)
        return settle_values(self.size, self.links, gone, root)

    def weights(self, gone: NDArray[np.bool_]) -> tuple[Codes, Floats]:
        """The nodes that stay when others are eliminated, and the links between them, (r, r)."""
        stay = np.flatnonzero(~gone)
        place = np.full(self.size, -1)
        place[stay] = np.arange(stay.size)
        reduced = merge_links(stay.size, reduce_links(self.links, gone, place))
        weights = np.zeros((stay.size, stay.size))
        weights[reduced.one, reduced.other] = weights[reduced.other, reduced.one] = reduced.weight
        return stay, weights

    def couplings(self, gone: NDArray[np.bool_], stay: Codes) -> Floats:
        """The links of the nodes that go to those that stay, (gone, r)."""
        row, column = np.full(self.size, -1), np.full(self.size, -1)
        row[gone], column[stay] = np.arange(int(gone.sum())), np.arange(stay.size)
        found = np.zeros((int(gone.sum()), stay.size))
        for one, other in ((self.links.one, self.links.other), (self.links.other, self.links.one)):
            here = (row[one] >= 0) & (column[other] >= 0)
            np.add.at(found, (row[one[here]], column[other[here]]), self.links.weight[here])
        return found

    def grounded(self, root: int) -> Grounded:
        """The covariance of all nodes when ``root`` is set to 0; found once."""
        if root not in self._grounded:
            self._grounded[root] = self._ground(root)
        return self._grounded[root]

    def _ground(self, root: int) -> Grounded:
        gone = self.gone & (np.arange(self.size) != root)
        stay, weights = self.weights(gone)
        others = stay != root
        covariance, log_det = invert_network(
            weights[np.ix_(others, others)], weights[others][:, ~others][:, 0]
        )
        couplings = self.couplings(gone, stay)
        total = couplings.sum(axis=1)
        loads = (couplings / total[:, None])[:, others]
        logs = float(log_det) + float(np.log(total).sum())
        return Grounded(stay[others], covariance, 1.0 / total, loads, logs)

    def variances(self, grounded: Grounded, root: int) -> Floats:
        """The variances of all nodes, (size,)."""
        gone = self.gone & (np.arange(self.size) != root)
        found = np.zeros(self.size)
        found[grounded.stay] = np.diagonal(grounded.covariance)
        reach = np.einsum("ij,ij->i", grounded.loads @ grounded.covariance, grounded.loads)
        found[gone] = grounded.own + reach
        return found


def find_components(n: int, sums: Sums) -> list[Component]:
    """The connected parts with at least one measurement, that with the lowest option first."""
    level = sums.minus < 0
    partner = np.where(level, n + sums.block, sums.minus)
    labels = _connected(n + len(sums.blocks), sums.plus, partner)
    of_row = labels[sums.plus]
    found = []
    used = np.zeros(labels.size, dtype=bool)
    used[sums.plus] = used[partner] = True
    place = np.full(labels.size, -1)
    # A block's node is minus its offset, so that "option + offset" is a difference.
    values = twofold(sums.value, sums.fine)
    for label in np.unique(of_row):
        nodes = np.flatnonzero(used & (labels == label))
        place[nodes] = np.arange(nodes.size)
        rows = of_row == label
        links = Links(place[sums.plus[rows]], place[partner[rows]], sums.weight[rows], values.at(rows))
        found.append(Component(nodes[nodes < n], nodes[nodes >= n] - n, links))
    return found


def _connected(size: int, one: Codes, other: Codes) -> Codes:
    """The lowest number that each number is connected with: small labels spread along edges."""
    labels = np.arange(size)
    while True:
        least = np.minimum(labels[one], labels[other])
        spread = labels.copy()
        np.minimum.at(spread, one, least)
        np.minimum.at(spread, other, least)
        spread = spread[spread]
        if (spread == labels).all():
            return labels
        labels = spread
