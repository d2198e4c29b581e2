"""Weighted OFUL (Zhou, Gu and Szepesvári 2021): optimism with variance-weighted least squares.

Each round, with ``R`` the bound on the noise and ``s`` the smallest sigma that entered so far:

1. measure the action of the largest ``<θ̂, a> + (β + √λ·B)·‖a‖``;
2. learn it with the sigma ``max(R/√d, σ)``;
3. ``β = 8·√(d·log(1 + t·A²/(s²·d·λ))·log(4t²/δ)) + 4·(R/s)·log(4t²/δ)``.

The sub-Gaussian variant learns with sigma itself, and takes its radius from the self-normalised bound.
"""

import math

from noisewise.core.checks import check_choice, check_positive
from noisewise.rules.rule import Rule, below


class WeightedOful(Rule):
    """Weighted OFUL: measure what could be the best, with variance-weighted least squares.

    Args:
        radius: Only for ``noise="sub-gaussian"``, by default ``"mixture"``; as printed the rule has its own.
        noise: ``"bounded"``: as printed, for noise within ``±noise_bound``: sigmas below ``noise_bound/√dim``
            are raised to it, and the radius is Bernstein's. ``"sub-gaussian"``: no floor and the chosen
            ``radius``, the fair opponent of VAEE.
        noise_bound: R; only for ``noise="bounded"``.
        scale: Multiplies the stochastic part of the radius; 1 is faithful.
    """

    radius: str | float | None = None  # type: ignore[assignment]
    noise: str = "bounded"
    noise_bound: float = 1.0
    scale: float = 1.0

    name = "weighted_oful"
    reference = "Zhou, Gu and Szepesvári, COLT 2021, Algorithm 1"
    year = 2021
    guarantee = "anytime certificate; cumulative regret R·√(d·T) + d·√(Σσ²), up to logarithms"
    cost = "n·dim + dim²"

    def limits_for(self, actions):
        return self.make_limits(actions, radius="mixture" if self.radius is None else self.radius)

    def prepare(self):
        check_choice("noise", self.noise, ("bounded", "sub-gaussian"))
        check_positive("noise_bound", self.noise_bound)
        check_positive("scale", self.scale)
        if self.noise == "bounded" and self.radius is not None:
            raise ValueError(
                "`radius` must be left out with noise='bounded', which has its own; "
                f"got {self.radius!r}. (noise='sub-gaussian' takes it.)"
            )
        self.rank = max(1, self.limits.rank)
        self.floor = self.noise_bound / math.sqrt(self.rank) if self.noise == "bounded" else 0.0

    def start(self):
        self.smallest = math.inf

    def choose(self, allowed, sigma):  # 1
        return self.model.most_optimistic(allowed, self.beta())

    def learn(self, action, reward, sigma):  # 2
        entering = max(self.floor, sigma)
        self.model.learn(action, reward, entering)
        self.smallest = min(self.smallest, entering)

    def imagine(self, action, sigma):
        self.model.imagine(action, sigma)

    def beta(self):  # 3, with the bias √λ·B, which is not scaled
        limits, t = self.limits, self.model.n_told
        if self.noise == "sub-gaussian":
            return self.scaled(super().beta(), self.scale)
        if t == 0.0:
            return limits.bias
        log_term = math.log(4.0 * t * t / self.delta)
        spread = t * (limits.max_norm / self.smallest) ** 2 / (self.rank * limits.ridge)
        stochastic = 8.0 * math.sqrt(self.rank * math.log1p(spread) * log_term)
        return limits.bias + self.scale * (stochastic + 4.0 * self.noise_bound / self.smallest * log_term)

    def most_sigma(self):  # noise within ±R has no larger standard deviation
        return self.noise_bound if self.noise == "bounded" else math.inf

    def certificate(self):
        bounded = [f"if noise stays within ±noise_bound={self.noise_bound:g}"] * (self.noise == "bounded")
        return self.anytime(*bounded, unproven=below("scale", self.scale))
