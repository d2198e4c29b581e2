"""How the values of options vary together, given the measurements: what a coming measurement would teach.

Given everything measured, the values are normal around their estimates. A measurement that is not made yet
lowers the variance of the difference of two options by ``covariance²/(variance of the measurement)``,
whatever comes out: these two are all that a rule needs, and are found here for every model.

Values are known up to a shift of all of them, where nothing fixes their level. Only differences may be taken
of what these classes say.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.separate import SeparateOptions
from noisewise.study.log.measurements import Codes
from noisewise.study.models.connected_parts import Component


class Joint(ABC):
    """The joint law of the options' values."""

    #: Whether a measurement of an option says nothing about any other.
    separate: bool = False

    @abstractmethod
    def variances(self) -> Floats:
        """Of every option, (n,)."""

    @abstractmethod
    def columns(self, options: Codes) -> Floats:
        """The covariances of every option with some, (n, k)."""

    @abstractmethod
    def mixed(self, options: Codes, weights: Floats) -> Floats:
        """The covariances of every option with a weighted sum of some, (n,); one may be in it twice."""


class SeparateJoint(Joint):
    """Options that share nothing: variances alone, infinite for options that were never measured."""

    separate = True

    def __init__(self, own: Floats) -> None:
        self._own = own

    def variances(self) -> Floats:
        """Of every option, (n,)."""
        return self._own

    def columns(self, options: Codes) -> Floats:
        """0 but for an option with itself."""
        found = np.zeros((self._own.size, options.size))
        found[options, np.arange(options.size)] = self._own[options]
        return found

    def mixed(self, options: Codes, weights: Floats) -> Floats:
        """0 but for those in the sum."""
        found = np.zeros(self._own.size)
        np.add.at(found, options, self._own[options] * weights)
        return found


class LoadedJoint(Joint):
    """Options that follow common unknowns, which are independent with variance 1, and vary by themselves.

    Args:
        own: What each varies by itself, (n,).
        loads: How each follows the common unknowns, (n, q).
    """

    def __init__(self, own: Floats, loads: Floats) -> None:
        self._own, self._loads = own, loads

    def variances(self) -> Floats:
        """Of every option, (n,)."""
        return np.asarray(self._own + np.einsum("ij,ij->i", self._loads, self._loads))

    def columns(self, options: Codes) -> Floats:
        """The covariances of every option with some, (n, k)."""
        found = self._loads @ self._loads[options].T
        found[options, np.arange(options.size)] += self._own[options]
        return np.asarray(found)

    def mixed(self, options: Codes, weights: Floats) -> Floats:
        """The covariances of every option with a weighted sum of some, (n,)."""
        found = self._loads @ (weights @ self._loads[options])
        np.add.at(found, options, self._own[options] * weights)
        return np.asarray(found)


class NetworkJoint(Joint):
    """Options that blocks and differences connect; those outside of the connected part vary without limit.

    Args:
        n: How many options there are.
        part: The connected part.
        root: Its node that is set to 0.
    """

    def __init__(self, n: int, part: Component, root: int) -> None:
        self._n, self._options = n, part.options
        grounded = part.grounded(root)
        gone = np.flatnonzero(part.gone & (np.arange(part.size) != root))
        self._covariance = grounded.covariance
        # Where each option stands: among nodes that stay, among those that follow them, or it is the root.
        self._stays = np.full(part.size, -1)
        self._stays[grounded.stay] = np.arange(grounded.stay.size)
        follows = gone < part.options.size
        self._gone, self._own, self._loads = gone[follows], grounded.own[follows], grounded.loads[follows]
        self._follows = np.full(part.size, -1)
        self._follows[self._gone] = np.arange(self._gone.size)
        self._variances = part.variances(grounded, root)[: part.options.size]

    def variances(self) -> Floats:
        """Of every option, (n,)."""
        found = np.full(self._n, np.inf)
        found[self._options] = self._variances
        return found

    def columns(self, options: Codes) -> Floats:
        """The covariances of every option with some of this part, (n, k)."""
        nodes = np.searchsorted(self._options, options)
        stays, follows = self._stays[nodes], self._follows[nodes]
        shared = np.zeros((self._covariance.shape[0], options.size))
        here, there = np.flatnonzero(stays >= 0), np.flatnonzero(follows >= 0)
        shared[:, here] = self._covariance[:, stays[here]]
        shared[:, there] = self._covariance @ self._loads[follows[there]].T
        found = self._reached(shared)
        found[options[there], there] += self._own[follows[there]]
        return found

    def mixed(self, options: Codes, weights: Floats) -> Floats:
        """The covariances of every option with a weighted sum of some of this part, (n,)."""
        nodes = np.searchsorted(self._options, options)
        stays, follows = self._stays[nodes], self._follows[nodes]
        here, there = np.flatnonzero(stays >= 0), np.flatnonzero(follows >= 0)
        along = np.zeros(self._covariance.shape[0])
        np.add.at(along, stays[here], weights[here])
        along += weights[there] @ self._loads[follows[there]]
        found = self._reached((self._covariance @ along)[:, None])[:, 0]
        np.add.at(found, options[there], self._own[follows[there]] * weights[there])
        return found

    def _reached(self, shared: Floats) -> Floats:
        """What all options have in common with columns over the nodes that stay, (n, k)."""
        found = np.zeros((self._n, shared.shape[1]))
        stays = self._stays[: self._options.size]
        here = np.flatnonzero(stays >= 0)
        found[self._options[here]] = shared[stays[here]]
        found[self._options[self._gone]] = self._loads @ shared
        return found


class Knowledge(NamedTuple):
    """What is known of the options' values, and how half-widths of differences follow from it.

    Without deviations a half-width is a radius times the standard error of the difference. With them it is
    the sum of two parts: the same for the weights of the features, and ``quantile`` times the standard error
    that is left once these weights are known. Where options share nothing, half-widths after a measurement
    follow from the evidence itself, and the joint law is that of its precision.
    """

    joint: Joint
    given_weights: Joint | None = None
    quantile: float = 0.0
    offsets_given: bool = False  # whether offsets of blocks are known, too, once the weights are
    evidence: SeparateOptions | None = (
        None  # where half-widths follow from what is known of each option alone
    )
