"""A matrix game: the mixture whose worst payoff is the largest. Small, dense, and by the simplex method."""

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model.dense import Floats
from noisewise.core.native.verbs import verb

Labels = NDArray[np.int64]

#: A reduced cost or a pivot below this is rounding; payoffs are brought between 1 and 2 first.
NOTHING = 1e-11


def best_mixture(payoffs: Floats) -> Floats:
    """The shares z, (n,), that maximise the smallest ``<z, payoffs_j>`` over the rows j of (J, n).

    With positive payoffs the other player's programme, maximise ``Σ q`` subject to ``payoffsᵀq <= 1``, can
    start from 0; the shares are the prices of its constraints. Bland's order of pivots cannot cycle.
    """
    shares = np.empty(payoffs.shape[1])
    solve_game(payoffs, shares)
    return shares


@verb
def solve_game(payoffs: Floats, shares: Floats) -> None:
    """Write `best_mixture`."""
    n_rows, n = payoffs.shape
    low, high = payoffs.min(), payoffs.max()
    if n_rows == 1 or high <= low:
        shares[:] = 0.0
        shares[int(np.argmax(payoffs[0]))] = 1.0
        return
    table = np.ones((n + 1, n_rows + 1))
    table[:n, :n_rows] += (payoffs.T - low) / (high - low)
    table[n] = -1.0
    table[n, n_rows] = 0.0
    # Labels of the variables: q_j is j, the slack of constraint k is n_rows + k.
    basic, free = np.arange(n_rows, n_rows + n), np.arange(n_rows)
    for _ in range(100 * (n + n_rows)):
        entering = improving(table, free)
        if entering < 0:
            break
        leaving = limiting(table, basic, entering)
        if leaving < 0:
            break
        exchange(table, leaving, entering)
        basic[leaving], free[entering] = free[entering], basic[leaving]
    prices = np.zeros(n)
    for j in range(n_rows):
        if free[j] >= n_rows:
            prices[free[j] - n_rows] = max(0.0, table[n, j])
    shares[:] = prices / prices.sum()


def improving(table: Floats, free: Labels) -> int:
    """The variable with the lowest label among those whose increase would help; -1 if none would."""
    found, n = -1, len(table) - 1
    for j in range(free.size):
        if table[n, j] < -NOTHING and (found < 0 or free[j] < free[found]):
            found = j
    return found


def limiting(table: Floats, basic: Labels, entering: int) -> int:
    """The constraint that ends the increase of the entering variable; the lowest label of equals."""
    n, last = basic.size, table.shape[1] - 1
    found, least = -1, np.inf
    for k in range(n):
        if table[k, entering] > NOTHING:
            ratio = table[k, last] / table[k, entering]
            if ratio < least - NOTHING or (ratio <= least + NOTHING and basic[k] < basic[found]):
                found, least = k, min(least, ratio)
    return found


def exchange(table: Floats, row: int, column: int) -> None:
    """Let a basic and a free variable change places, in place."""
    pivot = table[row, column]
    pivot_row, pivot_column = table[row] / pivot, table[:, column].copy()
    table -= np.outer(pivot_column, pivot_row)
    table[row] = pivot_row
    table[:, column] = -pivot_column / pivot
    table[row, column] = 1.0 / pivot
