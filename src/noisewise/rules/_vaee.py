"""VAEE (Algorithm 1): measure the widest action, and drop those that cannot be the best."""

from noisewise.core.checks import check_choice
from noisewise.rules.rule import Rule, fixed


class Vaee(Rule):
    """Variance-aware exploration with elimination: always measure the widest action.

    Its bound holds for any recommendation among the candidates, and is smallest for the best mean. Under
    ``explore="all"`` an action may be measured only to learn from it, so ``recommendation="last"`` is
    refused, and nothing is proven about those that count how often an action was measured.

    Args:
        explore: ``"all"`` (default) may measure an action that can no longer be the best, because it may
            teach the most about those that can; ``"candidates"``, the paper's way, may not.
    """

    explore: str = "all"

    name = "vaee"
    reference = "Breaking the Total Variance Barrier, Algorithm 1"
    guarantee = (
        "anytime certificate; simple regret 2·radius·x, x the clipped level of Theorem 1, for "
        "recommendation='best' (4 for any candidate)"
    )
    cost = "n·dim"
    recommends_on_sets = ("best", "last")

    def prepare(self):
        check_choice("explore", self.explore, ("all", "candidates"))
        if self.explore == "all" and self.recommendation == "last":
            raise ValueError(
                "`recommendation` must be 'best' with explore='all': the action measured last may be one "
                "that was measured only to learn from it; got 'last'."
            )

    def chooses_by_width(self):
        return type(self) is Vaee and self.explore == "all"

    def start(self):
        self.survivors = self.model.everyone()  # line 1: all actions are candidates

    def choose(self, allowed, sigma):  # line 3: the widest action, of all or of the candidates
        if self.explore == "all":
            return self.model.widest(allowed)
        return self.model.widest(allowed, self.survivors)

    def learn(self, action, reward, sigma):  # lines 4-8: learn, then drop what is ruled out
        self.model.learn(action, reward, sigma)
        self.model.drop_ruled_out(self.survivors, self.beta())

    def beta(self):  # line 7: β by the option `radius`, a formula in core/radius.py
        return self.limits.at(self.model.arrays)

    def recommend(self):  # the best mean among the candidates (note 5)
        return self.model.best(self.survivors)

    def candidates(self):
        return self.survivors

    def imagine(self, action, sigma):  # what is under way rules nothing out
        self.model.imagine(action, sigma)


class VaeeAsPrinted(Vaee):
    """VAEE with the paper's own choices: its radius, measuring candidates only, the last as advice.

    The confidence set is the one its lemma proves; Algorithm 1 misprints it (note 1 on the paper).
    """

    radius: str | float = "paper"
    recommendation: str = "last"
    explore: str = fixed("candidates")

    name = "vaee_as_printed"
    guarantee = "anytime certificate; simple regret 4·radius·x by Theorem 1, for recommendation='last'"
