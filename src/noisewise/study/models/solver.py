"""The one solver: every model of a study is ``y = node - node + <x, w> + error`` with known variances.

A **node** is an unknown number, such as the value of an option or minus the offset of a block; the **ground**
is 0. The rows of the models are

    independent, in blocks     option - block              (a block's node is minus its offset)
    difference                 option - option
    linear                     block - ground + <features, w>
    linear difference          <features - features, w>
    linear + deviation         as independent; per option also   option - ground - <features, w> = 0 ± size

Where nothing ties connected nodes to the ground, one of them, the **anchor**, is put there: differences do
not depend on which. Nodes that share no row with each other (the blocks, or the options that were never
compared, whichever are more) are eliminated: each is the weighted mean of its rows, which is taken off them.
What is left, the **border**, is a small dense least-squares problem, solved by Cholesky where its rounding
costs nothing and else by QR with rows and columns sorted by size, which is accurate row by row (Powell and
Reid 1969; Cox and Higham 1998). Estimates are corrected by their residuals, computed in doubled precision.

With H = R⁻ᵀL, R the border's triangle and L how each unknown follows the border, all covariances are

    cov(a, b) = own(a)·[a is b] + <H_a, H_b>.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats, routines

Codes = NDArray[np.int64]

GROUND = -1
#: Error bars may differ by this factor.
RANGE = 1e8
#: What rounding may cost by Cholesky, relatively; corrections of estimates end at this part of an error.
PLAIN, SETTLED, CORRECTIONS = 1e-9, 1e-11, 6
#: A triangle whose diagonal spreads by more is not trusted without QR; what counts as 0 beside 1.
ROUNDING = 1e-8
#: A row whose fit it decides by more than this is the only one that says what it says.
DECIDES = 1.0 - 1e-7
#: Of more entries, rows are kept sparse.
SMALL = 2_000_000
_EPS, _SPLIT = 2.0**-52, 134217729.0


class Observations(NamedTuple):
    """What was measured, and what is known beforehand."""

    plus: Codes  # (m,): nodes, or GROUND
    minus: Codes  # (m,)
    dense: Floats  # (m, d): x
    value: Floats  # (m,)
    low: Floats  # (m,): what the values lack as doubles
    weight: Floats  # (m,): 1/variance


class Targets(NamedTuple):
    """The options, each a node (or GROUND) plus <x, w>."""

    node: Codes  # (n,)
    dense: Floats  # (n, d)


class LeftOut(NamedTuple):
    """What happens without one row, for each; infinite where nothing else says what it says."""

    leverage: Floats
    residual: Floats  # its value less what the others say
    variance: Floats  # of that
    fall: Floats  # of the sum of squares


class Layout:
    """What does not depend on weights and values.

    Args:
        plus: A node of each row, or GROUND, (m,).
        minus: The other one, (m,).
        dense: x of each row, (m, d).
        nodes: How many nodes there are.
        anchors: Nodes in the order in which they are taken as anchors; default: by number.
        basis: The directions of w that the rows determine, (d, r); default: all.
    """

    def __init__(
        self, plus: Codes, minus: Codes, dense: Floats, nodes: int, anchors: Codes | None = None,
        basis: Floats | None = None,
    ) -> None:  # fmt: skip
        self.nodes, self.d = nodes, dense.shape[1]
        self.basis = np.eye(self.d) if basis is None else basis
        self.part = _parts(plus, minus, nodes)
        ends = [np.where(end < 0, nodes, end) for end in (plus, minus)]
        as_plus, as_minus = (np.bincount(end, minlength=nodes + 1)[:nodes] > 0 for end in ends)
        self.measured = as_plus | as_minus
        self.anchored = np.zeros(nodes + 1, dtype=bool)
        order = np.arange(nodes) if anchors is None else anchors
        order = order[self.measured[order] & (self.part[order] != self.part[nodes])]
        _, first = np.unique(self.part[order], return_index=True)
        self.anchored[order[first]] = True
        self.plus, self.minus = (np.where(self.anchored[end], GROUND, end) for end in (plus, minus))
        as_plus, as_minus = (
            np.bincount(end + 1, minlength=nodes + 1)[1:] > 0 for end in (self.plus, self.minus)
        )
        only_plus, only_minus = as_plus & ~as_minus, as_minus & ~as_plus
        turned = bool(only_minus.sum() > only_plus.sum())
        self.gone, self.sign = (only_minus, -1.0) if turned else (only_plus, 1.0)
        lead = self.minus if turned else self.plus
        # Rows of eliminated nodes, sorted by node.
        inside = np.flatnonzero(np.append(self.gone, False)[lead])
        self.inside = inside[np.argsort(lead[inside], kind="stable")]
        self.owner = lead[self.inside]
        self.starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        self.centres = self.owner[self.starts]  # the nodes, in order
        self.group = np.repeat(np.arange(self.starts.size), np.diff(np.append(self.starts, self.owner.size)))
        self.kept = np.flatnonzero((as_plus | as_minus) & ~self.gone)
        self.columns = self.kept.size + self.basis.shape[1]
        self.dense = dense
        self.matrix = self._matrix()

    @property
    def rank(self) -> int:
        """How many unknowns the rows determine."""
        return int(self.gone.sum()) + int(self.columns)

    def _matrix(self) -> Any:
        """The rows over the border, with the sign that eliminated nodes have in them, (m, columns)."""
        m, place = self.plus.size, np.full(self.nodes + 1, -1)
        place[self.kept] = np.arange(self.kept.size)
        dense = self.dense @ self.basis
        if m * self.columns <= SMALL:
            found = np.zeros((m, self.columns))
            for end, sign in ((self.plus, self.sign), (self.minus, -self.sign)):
                there = np.flatnonzero(place[end] >= 0)
                found[there, place[end[there]]] += sign
            found[:, self.kept.size :] = self.sign * dense
            return found
        from scipy import sparse

        both = place[np.concatenate([self.plus, self.minus])]
        there = np.flatnonzero(both >= 0)
        signs = np.where(there < m, self.sign, -self.sign)
        found = sparse.csr_array((signs, (there % m, both[there])), shape=(m, self.kept.size))
        return sparse.hstack([found, sparse.csr_array(self.sign * dense)], format="csr")

    def means(self, columns: Any, weight: Floats, total: Floats) -> Any:
        """Weighted means of the rows of each eliminated node, (centres, ...)."""
        if isinstance(columns, np.ndarray):
            if not self.starts.size:
                return columns[:0]
            some = columns[self.inside]
            heavy = weight[self.inside] if some.ndim == 1 else weight[self.inside, None]
            sums = np.add.reduceat(heavy * some, self.starts, axis=0)
            return sums / (total if some.ndim == 1 else total[:, None])
        from scipy import sparse

        share = weight[self.inside] / total[self.group]
        shape = (self.starts.size, weight.size)
        return sparse.csr_array((share, (self.group, self.inside)), shape=shape) @ columns


def undetermined(x: Floats, size: float | None = None) -> tuple[Floats, Floats]:
    """Orthonormal directions of w that rows x determine, and those that they do not, (d, r) and (d, s)."""
    d = x.shape[1]
    scale = float(np.abs(x).max(initial=0.0)) if size is None else size
    products = x.T @ x
    if d and len(x) >= d and np.linalg.eigvalsh(products)[0] > 1e-9 * scale**2 * len(x):
        return np.eye(d), np.zeros((d, 0))
    upper = np.linalg.qr(np.vstack([x, np.zeros((d, d))]), mode="r")
    _, sizes, turned = np.linalg.svd(upper)
    rank = int((sizes > ROUNDING * max(scale, 1e-300) * math.sqrt(max(1, len(x)))).sum())
    return turned[:rank].T, turned[rank:].T


class Gaussian:
    """What rows say about nodes, w, and the options made of them.

    Args:
        rows: The rows.
        targets: The options.
        nodes: How many nodes there are.
        layout: That of rows with the same ends; made if it is not given.
    """

    def __init__(
        self, rows: Observations, targets: Targets, nodes: int, layout: Layout | None = None
    ) -> None:
        self.rows, self.targets, self.nodes = rows, targets, nodes
        self.layout = Layout(rows.plus, rows.minus, rows.dense, nodes) if layout is None else layout
        layout, weight = self.layout, rows.weight
        self._total = (
            np.add.reduceat(weight[layout.inside], layout.starts) if layout.starts.size else np.zeros(0)
        )
        self._centre = layout.means(layout.matrix, weight, self._total)
        self._order, self._exact = np.arange(layout.columns), False
        self._upper = np.zeros((0, 0))
        if layout.columns and not self._by_cholesky():
            self._by_reflections()
        self.slack, self.moved = 0.0, False
        self._settle()

    # The border

    def _centred(self) -> Floats:
        """Rows without the means of their nodes, in units of their errors, (m, columns)."""
        layout, rows = self.layout, _plain(self.layout.matrix).copy()
        rows[layout.inside] -= _plain(self._centre)[layout.group]
        rows *= np.sqrt(self.rows.weight)[:, None]
        return rows

    def _gram(self) -> Floats:
        matrix = self.layout.matrix
        if isinstance(matrix, np.ndarray):
            rows = self._centred()
            return rows.T @ rows
        from scipy import sparse

        heavy = sparse.diags_array(np.sqrt(self.rows.weight)) @ matrix
        means = sparse.diags_array(np.sqrt(self._total)) @ self._centre
        return np.asarray((heavy.T @ heavy - means.T @ means).toarray())

    def _by_cholesky(self) -> bool:
        from scipy.linalg import lapack

        gram = self._gram()
        diagonal = np.diagonal(gram).copy()
        if not ((diagonal > 0.0) & np.isfinite(diagonal)).all():
            return False
        scale = 1.0 / np.sqrt(diagonal)
        upper, failed = lapack.dpotrf(gram * np.multiply.outer(scale, scale), clean=1)
        if failed:
            return False
        matrix, rcond = self.layout.matrix, lapack.dtrcon(upper)[0]
        longest = math.sqrt(float((self.rows.weight * ((matrix * matrix) @ scale**2)).max()))
        self._upper = upper / scale
        return bool(_EPS * (longest / max(rcond, 1e-300)) ** 2 < PLAIN)

    def _by_reflections(self) -> None:
        from scipy.linalg import lapack

        rows, self._exact = self._centred(), True
        m, q = rows.shape
        self._falling = np.argsort(-np.einsum("ij,ij->i", rows, rows), kind="stable")
        self._order = np.argsort(-np.einsum("ij,ij->j", rows, rows), kind="stable")
        sorted_rows = np.zeros((max(m, q), q), order="F")
        sorted_rows[:m] = rows[np.ix_(self._falling, self._order)]
        self._raw, self._tau, _, _ = lapack.dgeqrf(sorted_rows, lwork=64 * q, overwrite_a=1)
        self._upper = np.triu(self._raw[:q])

    def _whitened(self, columns: Floats) -> Floats:
        """``R⁻ᵀc`` for columns over the border, (columns, k)."""
        if not self._upper.size:
            return np.zeros((0, columns.shape[1]))
        # dtrtrs starts threads for several columns, however small the triangle is.
        return np.asarray(routines().solve_many(1.0, self._upper, columns[self._order], trans_a=1))

    def _along(self, right: Floats) -> Floats:
        """``Qᵀb`` for a right-hand side over the rows, centred and in units of their errors, (columns, 1)."""
        from scipy.linalg import lapack

        if self._exact:
            padded = np.zeros((len(self._raw), 1), order="F")
            padded[: right.size, 0] = right[self._falling]
            return np.asarray(
                lapack.dormqr("L", "T", self._raw, self._tau, padded, 64)[0][: len(self._upper)]
            )
        return self._whitened((self.layout.matrix.T @ (np.sqrt(self.rows.weight) * right))[:, None])

    # Estimates

    def _solve(self, values: Floats) -> tuple[Floats, float]:
        """The nodes and w that fit these values of the rows best; the longest step in standard errors."""
        layout, weight = self.layout, self.rows.weight
        left = layout.sign * values
        means = layout.means(left, weight, self._total)
        left[layout.inside] -= means[layout.group]
        found, longest = np.zeros(self.nodes + layout.d), 0.0
        centre = 0.0
        if self._upper.size:
            from scipy.linalg import lapack

            along = self._along(left * np.sqrt(weight))
            border = np.zeros(layout.columns)
            border[self._order] = lapack.dtrtrs(self._upper, along)[0][:, 0]
            found[layout.kept] = border[: layout.kept.size]
            found[self.nodes :] = layout.basis @ border[layout.kept.size :]
            longest, centre = float(np.abs(along).max()), self._centre @ border
        found[layout.centres] = means - centre
        return found, max(longest, float((np.abs(means) * np.sqrt(self._total)).max(initial=0.0)))

    def _settle(self) -> None:
        size, before = self.nodes + self.layout.d, math.inf
        self.high, self.low = np.zeros(size), np.zeros(size)
        left = self.rows.value + self.rows.low
        with np.errstate(all="ignore"):
            for _ in range(CORRECTIONS):
                step, moved = self._solve(left)
                self.high, lost = two_sum(self.high, step)
                self.low = self.low + lost
                self.high, self.low = two_sum(self.high, self.low)
                left = self.residuals
                self.slack = moved * min(1.0, moved / before) if before < math.inf else moved
                before = moved
                if not self.slack > SETTLED:
                    break
        if not np.isfinite(self.high).all():
            self.slack = math.inf

    @property
    def residuals(self) -> Floats:
        """Value less fit of every row, (m,): rounded once, at the end."""
        rows, nodes = self.rows, self.nodes
        high, low = (np.append(part[:nodes], 0.0) for part in (self.high, self.low))  # GROUND is the last
        plus, minus = self.layout.plus, self.layout.minus
        w, fine = self.high[nodes:], self.low[nodes:]
        large = np.abs(rows.value) + np.abs(high[plus]) + np.abs(high[minus]) + np.abs(rows.dense) @ np.abs(w)
        if _EPS * float((large * np.sqrt(rows.weight)).max(initial=0.0)) < SETTLED:  # doubles are enough
            left = (rows.value - high[plus] + high[minus]) - rows.dense @ w
            return np.asarray(left + (rows.low - rows.dense @ fine - low[plus] + low[minus]))
        terms, lost = _two_product(-rows.dense.T, w[:, None])
        lost = lost.sum(axis=0) + rows.low - rows.dense @ fine - low[plus] + low[minus]
        terms = np.vstack([rows.value, -high[plus], high[minus], terms])
        while len(terms) > 1:
            half = len(terms) // 2
            whole, errors = two_sum(terms[:half], terms[half : 2 * half])
            terms, lost = np.vstack([whole, terms[2 * half :]]), lost + errors.sum(axis=0)
        return np.asarray(terms[0] + lost)

    @property
    def squares(self) -> float:
        """The weighted sum of squares that the fit leaves."""
        return float(self.rows.weight @ self.residuals**2)

    @property
    def rank(self) -> int:
        """How many unknowns are determined."""
        return self.layout.rank

    @functools.cached_property
    def log_det(self) -> float:
        """Of the precision of what is determined."""
        return 2.0 * float(np.log(np.abs(np.diagonal(self._upper))).sum()) + float(np.log(self._total).sum())

    def values(self) -> tuple[Floats, Floats]:
        """The options' estimates, and what they lack as doubles, (n,) each; anchors are 0."""
        node, dense, nodes = self.targets.node, self.targets.dense, self.nodes
        high, low = (np.append(part[:nodes], 0.0) for part in (self.high, self.low))
        if not dense.shape[1]:
            return high[node], low[node]
        whole, lost = two_sum(high[node], dense @ self.high[nodes:])
        return whole, lost + low[node] + dense @ self.low[nodes:]

    # Covariances

    @functools.cached_property
    def _loads(self) -> Floats:
        """How nodes and w follow the border, (columns, nodes + d)."""
        layout = self.layout
        loads = np.zeros((layout.columns, self.nodes + layout.d))
        loads[:, layout.centres] = -_plain(self._centre).T
        loads[np.arange(layout.kept.size), layout.kept] = 1.0
        loads[layout.kept.size :, self.nodes :] = layout.basis.T
        return loads

    @functools.cached_property
    def half(self) -> Floats:
        """H: a root of the covariance of nodes and w but for `own`, (columns, nodes + d)."""
        return self._whitened(self._loads)

    @functools.cached_property
    def own(self) -> Floats:
        """What nodes vary by themselves, (nodes + 1,): infinite without a row; the ground is the last."""
        own = np.zeros(self.nodes + 1)
        own[self.layout.centres] = 1.0 / self._total
        own[: self.nodes][~self.layout.measured] = np.inf
        return own

    def of(self, root: Floats, plus: Codes, minus: Codes, dense: Floats) -> Floats:
        """The columns of "node - node + <x, w>", (len(root), k)."""
        found = root[:, self.nodes :] @ dense.T if dense.size else np.zeros((len(root), plus.size))
        for end, sign in ((plus, 1.0), (minus, -1.0)):
            there = np.flatnonzero(end >= 0)
            found[:, there] += sign * root[:, end[there]]
        return np.asarray(found)

    def options(self, root: Floats, some: Any = slice(None)) -> Floats:
        """The columns of the options, (len(root), k)."""
        node, dense = self.targets.node[some], self.targets.dense[some]
        return self.of(root, node, np.full(node.size, GROUND), dense)

    @functools.cached_property
    def halves(self) -> Floats:
        """H of all options, (columns, n)."""
        return self.options(self.half)

    def apart(self, leader: int) -> Floats:
        """H of the differences of all options to one, (columns, n); close ones lose no digits."""
        whole = self.halves
        apart = whole - whole[:, [leader]]
        short = np.einsum("ij,ij->j", apart, apart) < 1e-6 * np.einsum("ij,ij->j", whole, whole)
        short[leader] = False
        if short.any() and not self.moved:
            loads = self.options(self._loads, np.flatnonzero(short)) - self.options(self._loads, [leader])
            apart[:, short] = self._whitened(loads)
        return np.asarray(apart)

    def variances_apart(self, leader: int) -> Floats:
        """Of the differences of all options to one, (n,)."""
        apart, own = self.apart(leader), self.own[self.targets.node]
        found = own + own[leader] + np.einsum("ij,ij->j", apart, apart)
        found[leader] = 0.0
        return np.asarray(found)

    # One more, one less

    def left_out(self, count: int) -> LeftOut:
        """Leaving out each of the first rows, without a new fit."""
        layout, weight = self.layout, self.rows.weight[:count]
        plus, minus = layout.plus[:count], layout.minus[:count]
        half = self.of(self.half, plus, minus, layout.dense[:count])
        spread = np.einsum("ij,ij->j", half, half) + self.own[plus] + self.own[minus]
        # Of an eliminated node, the row's own mean is taken twice otherwise: own and half are independent.
        leverage, residual = np.clip(weight * spread, 0.0, 1.0), self.residuals[:count]
        rest = np.where(leverage < DECIDES, 1.0 - leverage, 0.0)
        with np.errstate(all="ignore"):
            return LeftOut(
                leverage, residual / rest, np.where(rest > 0.0, leverage / (weight * rest), np.inf),
                np.where(rest > 0.0, weight * residual**2 / rest, 0.0),
            )  # fmt: skip

    def learn(
        self, plus: int, minus: int, dense: Floats, variance: float, value: float | None = None,
        *, remove: bool = False,
    ) -> float:  # fmt: skip
        """Take in (or out) one row, in place; returns by how much the log-determinant grows.

        `squares` and `left_out` do not know of it. A row between parts without a common level, or the only
        one that says what it says, needs a new fit.
        """
        ends = [GROUND if end >= 0 and self.layout.anchored[end] else end for end in (plus, minus)]
        if self.own[ends[1]] > self.own[ends[0]]:
            turned = None if value is None else -value
            return self.learn(ends[1], ends[0], -dense, variance, turned, remove=remove)
        plus, minus = ends
        own, noise = self.own, -variance if remove else variance
        if own[minus] > 0.0:  # both vary by themselves: what they will share gets a place in the border
            if math.isinf(own[minus]):
                raise ValueError("neither end of this row was measured before: a new fit is needed.")
            more = np.zeros((1, self.half.shape[1]))
            more[0, minus], own[minus] = math.sqrt(own[minus]), 0.0
            self.half = np.vstack([self.half, more])
        codes = np.array([plus]), np.array([minus]), dense[None]
        row = self.of(self.half, *codes)[:, 0]
        mean = float(self.of(np.stack([self.high, self.low]), *codes).sum())
        self.moved = True
        self.__dict__.pop("halves", None)
        mine = self.half[:, plus].copy() if plus >= 0 else np.zeros(row.size)
        rest = row - mine
        if plus >= 0 and math.isinf(own[plus]):
            own[plus], self.half[:, plus] = noise, -rest
            self.high[plus] += (0.0 if value is None else value) - mean
            return math.inf
        alone, square = noise + own[plus], float(row @ row)
        read = alone + square
        if remove and (read >= -1e-7 * variance or alone >= 0.0):
            raise ValueError("nothing else says what this row says: a new fit is needed.")
        if value is not None:
            gain = row @ self.half
            gain[plus if plus >= 0 else slice(0, 0)] += own[plus]
            self.high, lost = two_sum(self.high, gain * ((value - mean) / read))
            self.low = self.low + lost
        if plus >= 0 and own[plus] > 0.0:
            share = noise / alone
            self.half[:, plus] = share * mine - (1.0 - share) * rest
            own[plus] *= share
        if square > 0.0:
            step = (math.sqrt(alone / read) - 1.0) / square
            self.half += np.multiply.outer(row * step, row @ self.half)
        return math.log(read / noise)


def _parts(plus: Codes, minus: Codes, nodes: int) -> Codes:
    """A label of the connected part of each node; the ground is the last, (nodes + 1,)."""
    one, other = (np.where(end < 0, nodes, end) for end in (plus, minus))
    part = np.arange(nodes + 1)
    # Nodes take the least label around them, and labels that of their node, until nothing changes: importing
    # SciPy's connected_components takes longer than a certificate.
    while True:
        least, before = np.minimum(part[one], part[other]), part.copy()
        for end in (one, other):
            np.minimum.at(part, before[end], least)
        part = part[part]
        if (part == before).all():
            return part


def _plain(rows: Any) -> Floats:
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.toarray())


def two_sum(one: Any, other: Any) -> tuple[Any, Any]:
    """The sum and what its rounding lost (Knuth)."""
    whole = one + other
    part = whole - one
    return whole, (one - (whole - part)) + (other - part)


def _two_product(one: Any, other: Any) -> tuple[Any, Any]:
    """The product and what its rounding lost (Dekker, Veltkamp)."""
    whole, split, second = one * other, _SPLIT * one, _SPLIT * other
    high, top = split - (split - one), second - (second - other)
    low, end = one - high, other - top
    return whole, ((high * top - whole) + high * end + low * top) + low * end
