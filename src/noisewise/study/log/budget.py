"""The budget of a study, where there is one: what is left of it, and the words for that."""

from typing import Any

from noisewise.core.text import counted
from noisewise.study.log.specification import BUDGET_POLICY
from noisewise.study.log.state import State


def left_of_budget(state: State) -> int | None:
    """Measurements that are left of the budget, below 0 if more were made; None without a budget.

    Those count that count in the study: one that was voided may be made again.
    """
    budget = state.specification.budget
    return None if budget is None else budget - state.measurements.n_live


def policy_in_words(state: State) -> str:
    """Who asks: "policy vage, for a budget of 200 measurements (37 left)"."""
    budget, left = state.specification.budget, left_of_budget(state)
    name = f"policy {state.policy.name}"
    if budget is None or left is None:
        return name
    # Another policy does not look at the budget, which is there all the same.
    link = ", for" if state.policy.name == BUDGET_POLICY else ";"
    remains = f"{left:,} left" if left > 0 else "spent" if left == 0 else f"spent, and {-left:,} more"
    return f"{name}{link} a budget of {counted(budget, 'measurement')} ({remains})"


def warn_of_budget(state: State, bodies: list[dict[str, Any]], now: float) -> None:
    """Add a word to the reasons of suggestions that go beyond the budget, with all that is under way."""
    left = left_of_budget(state)
    if left is None:
        return
    for body in bodies[max(0, left - len(state.open_jobs(now))) :]:
        budget = counted(state.specification.budget or 0, "measurement")
        body["why"] = f"{body['why']}; beyond the budget of {budget}"
