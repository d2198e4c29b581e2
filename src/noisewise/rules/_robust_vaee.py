"""VAEE for heavy tails (Algorithm 3): the widest action, with an estimate that no outlier can carry away."""

from noisewise.rules._vaee import Vaee
from noisewise.rules.robust import Robust


class RobustVaee(Robust, Vaee):
    """VAEE for noise with heavy tails or outliers: sigma must be its standard deviation, no more.

    Args:
        radius: ``"paper"``: the certificate published with the estimator, at ``delta/4`` where that holds
            with probability ``1 - 4·delta``; or a number.
        estimator: ``"huber"``: the adaptive pseudo-Huber estimate, exactly, from all measurements;
            ``"one-pass"``: the same loss without a history, at a constant cost; ``"median-of-means"``: the
            tightest certificate, under any noise, if what is measured never depends on values.
        tau0: How many of its error bars one measurement may move the estimate; or ``"lemma"``, the value that
            the proof needs, which clips next to nothing. Not for medians.
        floor: Raise small sigmas as the proof needs it, at a price in accuracy; the paper prints no floor.
        explore: ``"all"`` or ``"candidates"``, as for `vaee`; medians need ``"all"``.
        blocks: How many blocks the median is taken over, an odd number; default: what is best for delta.
        horizon: Measurements to plan for; what is proven holds for no more. Default: 10,000.
    """

    estimator: str = "huber"
    blocks: int | None = None  # type: ignore[assignment]

    name = "robust_vaee"
    reference = "Breaking the Total Variance Barrier, Algorithm 3"
    guarantee = "anytime certificate with floor=True and tau0='lemma'; fixed-design one by medians of means"
    cost = "n·dim, and for estimator='huber' all measurements so far"

    def prepare(self):
        Vaee.prepare(self)
        Robust.prepare(self)
        if self.estimator == "median-of-means" and self.explore != "all":
            raise ValueError(
                "`explore` must be 'all' with estimator='median-of-means', whose certificate needs "
                "measurements that are not chosen by looking at values; got 'candidates'."
            )

    def start(self):
        Vaee.start(self)
        Robust.start(self)

    def learn(self, action, reward, sigma):  # lines 4-8: learn, then drop what is ruled out
        self.estimate.learn(self.model.arrays, self.model.row_of(action), reward, sigma)
        if self.estimate.holds_anytime:  # medians hold at one moment: what they rule out is not kept
            self.model.drop_ruled_out(self.survivors, self.beta())

    def candidates(self):
        return self.survivors if self.estimate.holds_anytime else self.model.not_ruled_out(self.beta())
