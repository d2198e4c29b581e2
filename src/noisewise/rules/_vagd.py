"""VAGD (Algorithm 2): track a near-G-optimal design in precision."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.core.selection import first_largest
from noisewise.rules.rule import Rule

if TYPE_CHECKING:
    from noisewise.designs import Design


class Vagd(Rule):
    """Variance-aware G-optimal design: give the actions of a small design their shares of the precision.

    Its bound is the fixed-design one (no √dim, but only if neither what is measured, nor sigma, nor the
    moment of stopping depends on the values) as long as only actions of the design were measured, and
    the anytime one after that.

    Args:
        design: A `Design` on these actions; default: a core design, ``optimal_design(support="core")``.
    """

    design: "Design | dict[str, Any] | None" = None

    name = "vagd"
    reference = "Breaking the Total Variance Barrier, Algorithm 2"
    guarantee = "fixed-design certificate, anytime after leaving the design; simple regret by Theorem 2"
    cost = "n·dim, and a design once"
    lists_only = fixed_set = pools = True
    is_ball = False
    by_count = False

    def __post_init__(self):  # as plain lists, so that a policy can be saved with it
        if self.design is not None and not isinstance(self.design, dict):
            self.design = as_lists(self.design)

    def prepare(self):  # line 1: find the design, or take the one that was brought
        self.shares = (
            core_shares(self.actions) if self.design is None else checked(self.actions, **self.design)
        )
        # One-sided, over all ordered pairs; the ridge shifts a contrast by at most its width times the bias.
        pairs = max(2, self.actions.n_actions * (self.actions.n_actions - 1))
        self.union_radius = math.sqrt(2.0 * math.log(pairs / self.delta)) + self.limits.bias

    def start(self):  # line 2: nothing measured, and none lags
        self.given = np.zeros(self.shares.size)  # Σ 1/σ², or the number of measurements
        # -given/share. Off the design the ratio is 0/0 in the paper (note 17): only the support takes part.
        self.lag = np.where(self.shares > 0.0, 0.0, -np.inf)
        self.strayed = False

    def choose(self, allowed, sigma):  # line 4: the action of the design that lags most
        action = first_largest(self.lag, allowed)
        return action if self.lag[action] > -np.inf else self.model.widest(allowed)

    def learn(self, action, reward, sigma):  # lines 5-6: learn, and book what the action was given
        self.model.learn(action, reward, sigma)
        self.given[action] += 1.0 if self.by_count else 1.0 / (sigma * sigma)
        if self.shares[action] > 0.0:
            self.lag[action] = -self.given[action] / self.shares[action]
        else:
            self.strayed = True

    def beta(self):  # without looking at values: a union over all pairs; after straying: anytime (note 10)
        return super().beta() if self.strayed else self.union_radius

    def certificate(self):
        if self.strayed:
            return self.anytime()
        return "fixed design: if neither what was measured nor when to stop depended on the values"


class StaticDesign(Vagd):
    """The design of `vagd`, tracked by counts as if all measurements were equally good."""

    name = "static_design"
    reference = "Soare, Lazaric and Munos, Best-arm identification in linear bandits: G-allocation, by counts"
    year = 2014
    guarantee = "fixed-design certificate, anytime after leaving the design"
    pools = False
    by_count = True


def core_shares(actions):
    from noisewise.designs import optimal_design  # loads SciPy

    return optimal_design(actions.vectors, support="core").dense()


def as_lists(design):
    try:
        return {
            "indices": design.indices.tolist(),
            "weights": design.weights.tolist(),
            "g_value": design.g_value,
            "shape": [design.n_actions, design.dim],
        }
    except AttributeError:
        raise TypeError(f"`design` must be what nw.optimal_design returns; got {design!r}.") from None


def checked(actions, indices, weights, g_value, shape):
    """The design's weights on all actions, refused if it was made for another set."""
    shares = np.zeros(actions.n_actions)
    fits = tuple(shape) == actions.vectors.shape
    if fits:
        shares[indices] = weights
        support = actions.vectors[indices].astype(np.float64)
        inverse = inverse_moment(support, shares[indices], actions.rank)
        largest = math.inf  # if the design misses a direction
        if inverse is not None:
            largest = np.einsum("ij,jk,ik->i", actions.vectors, inverse, actions.vectors, optimize=True).max()
        fits = math.isclose(largest, g_value, rel_tol=1e-3)
    if not fits:
        raise ValueError(
            f"`design` must be made for these actions, in this order; got one of {shape[0]} actions in "
            f"{shape[1]} features whose g_value {g_value:.6g} does not fit."
        )
    return shares


def inverse_moment(support, weights, rank):
    """``V(π)⁺``; None if the design misses a direction."""
    moment = (support * weights[:, None]).T @ support
    if np.linalg.matrix_rank(moment, tol=1e-12 * np.trace(moment), hermitian=True) < rank:
        return None
    return np.linalg.pinv(moment, rcond=1e-13, hermitian=True)
