"""AdaOFUL (Li and Sun 2024): optimism with the adaptive pseudo-Huber estimate, for heavy tails."""

from noisewise.rules.robust import Robust


class Adaoful(Robust):
    """AdaOFUL: measure what could be the best, by a pseudo-Huber estimate that outliers cannot carry away.

    Args:
        radius: ``"paper"``: the lemma's, at ``delta/4``; or a number (public code uses 1).
        tau0: How many of its error bars one measurement may move the estimate; ``"lemma"`` is faithful.
        floor: Raise small sigmas as the proof needs it; True is faithful.
        horizon: Measurements to plan for; the certificate holds for no more. Default: 10,000.
    """

    tau0: float | str = "lemma"
    floor: bool = True

    name = "adaoful"
    reference = "Li and Sun 2024, AdaOFUL"
    year = 2024
    guarantee = "anytime certificate; regret"
    cost = "n·dim, and all measurements so far"
    reconstruction = True
    lists_only = True

    def choose(self, allowed, sigma):
        return self.model.most_optimistic(allowed, self.beta())
