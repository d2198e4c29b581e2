"""All rounds of a policy on a catalogue, from which everything that is asked for later is computed."""

import math
from array import array
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.lowers import LowerQuestion
from noisewise.actions.catalogue.replay import SEGMENT, PastRounds
from noisewise.core.model.dense import DenseModel, Floats, fold, new_dense, theta
from noisewise.core.model.factor import solve_lower, solve_upper
from noisewise.core.model.vectors import place


class Past:
    """What was measured, in order; and on demand what was believed after each measurement.

    Args:
        dim: Numbers in a vector.
        ridge: Of the model.
        radius: The radius of the certificate, from the model.
    """

    def __init__(self, dim: int, ridge: float, radius: Callable[[DenseModel], float]) -> None:
        self.dim, self.ridge, self.radius = dim, ridge, radius
        self.vectors, self.rewards, self.sigmas = array("d"), array("d"), array("d")
        self._begin()

    def _begin(self) -> None:
        self._model = new_dense(np.zeros((self.dim, 1)), self.ridge)
        self._thetas: list[Floats] = []
        self._steps: list[Floats] = []
        self._radii: list[float] = []
        self._uppers: list[Floats] = []
        self._reciprocals: list[Floats] = []

    def __len__(self) -> int:
        return len(self.sigmas)

    def append(self, vector: Floats, reward: float, sigma: float) -> None:
        """One more measurement."""
        self.vectors.extend(vector)
        self.rewards.append(reward)
        self.sigmas.append(sigma)

    def copy(self) -> Self:
        """An independent copy; what was believed is computed again when it is asked for."""
        twin = type(self)(self.dim, self.ridge, self.radius)
        twin.vectors, twin.rewards, twin.sigmas = self.vectors[:], self.rewards[:], self.sigmas[:]
        return twin

    def rows(self) -> Floats:
        """The vectors that were measured, (rounds, dim)."""
        return np.array(self.vectors).reshape(-1, self.dim)

    def rounds(self, target: Floats, prior: float) -> PastRounds:
        """What the test of every round needs.

        Args:
            target: The present estimate.
            prior: The largest width there ever was.
        """
        self._catch_up()
        thetas, steps, radii = np.array(self._thetas), np.array(self._steps), np.array(self._radii)
        uppers, reciprocals = np.array(self._uppers), np.array(self._reciprocals)
        distances = self._distances(thetas - target, uppers, reciprocals)
        return PastRounds(thetas, steps, radii, uppers, reciprocals, radii - distances, prior)

    def lowers(self, count: int) -> LowerQuestion:
        """What to ask about lower ends in the last ``count`` rounds; how many rows is left open."""
        self._catch_up()
        first = len(self) - count
        return LowerQuestion(
            thetas=np.array(self._thetas[first:]),
            radii=np.array(self._radii[first:]),
            steps=np.array(self._steps[first + 1 :]).reshape(-1, self.dim),
            most=0,
            floor=-math.inf,
            few=0,
        )

    def _catch_up(self) -> None:
        """Replay what was measured since the last time, one measurement after the other."""
        vectors, model = self.rows(), self._model
        for t in range(len(self._thetas), len(self)):
            if t % SEGMENT == 0:
                self._uppers.append(np.array(model.factor[:, : self.dim]))
                self._reciprocals.append(model.reciprocals.copy())
            half = solve_lower(model, vectors[t])
            weighted = half * model.reciprocals
            variance = self.sigmas[t] ** 2 + float(half @ weighted)
            self._steps.append(solve_upper(model, weighted) / math.sqrt(variance))
            place(model, vectors[t])
            fold(model, 0, self.rewards[t], self.sigmas[t])
            self._thetas.append(theta(model))
            self._radii.append(float(self.radius(model)))

    def _distances(
        self, apart: Floats, uppers: NDArray[np.float64], reciprocals: NDArray[np.float64]
    ) -> Floats:
        """``‖θ_t - target‖`` in the norm of V_t: that at the begin of the segment, and what came since."""
        squares = np.empty(len(apart))
        vectors, weights = self.rows(), np.array(self.sigmas) ** -2.0
        for number in range(len(uppers)):
            some = slice(number * SEGMENT, min((number + 1) * SEGMENT, len(apart)))
            here = apart[some]
            turned = here + here @ np.triu(uppers[number], 1).T
            squares[some] = np.square(turned) @ (1.0 / reciprocals[number])
            along = np.square(here @ vectors[some].T) * weights[some]
            squares[some] += np.tril(along).sum(axis=1)
        return np.sqrt(squares)
