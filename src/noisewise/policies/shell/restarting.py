"""Any rule with ``radius="restarted"``: the rule itself, and restarts that watch what it learns.

What to measure and what to recommend stays the rule's own matter, with the radius of the likelihood ratio
from the start; candidates, the regret bound and stopping rules use the restarts as well.
"""

import functools
from dataclasses import replace
from typing import Any, NamedTuple

from noisewise.core.choice.radius import RADII, RESTARTED
from noisewise.core.choice.restarts import (
    Restarts,
    begin_if_due,
    largest_above,
    limits_above,
    look,
    new_restarts,
)
from noisewise.core.choice.selection import Mask
from noisewise.core.model.covariances import CANCELLED, contrast_widths
from noisewise.core.model.dense import Floats
from noisewise.core.model.model import Model
from noisewise.policies.shell.rule import Rule


class RestartedParams(NamedTuple):
    """The rule's own parameters."""

    inner: Any

    @property
    def setting(self) -> Any:
        """As in all parameters."""
        return self.inner.setting


class RestartedState(NamedTuple):
    """The rule's own state, and the restarts."""

    inner: Any
    restarts: Restarts

    @property
    def model(self) -> Model:
        """As in all states."""
        model: Model = self.inner.model
        return model


def with_columns(params: Any, columns: Floats) -> Any:
    """Any rule's parameters with the actions' vectors held in another way."""
    if isinstance(params, RestartedParams):
        return RestartedParams(with_columns(params.inner, columns))
    return params._replace(setting=params.setting._replace(columns=columns))


def fitted(rule: Rule, options: dict[str, Any]) -> Rule:
    """The rule, with restarts if its options say so; refused where they would prove nothing.

    On options without features and on infinite sets they are refused with the setting.
    """
    if options.get("radius") != RADII[RESTARTED] or rule.around is not None:
        return rule
    if rule.ball is None:
        raise ValueError(
            f"`radius` must not be 'restarted' for {rule.name!r}, whose bound is not that of weighted least "
            "squares at every moment: restarts would prove nothing about it; choose another radius, or "
            "another rule."
        )
    return restarted(rule)


@functools.cache
def restarted(rule: Rule) -> Rule:
    """The rule with restarts."""
    return replace(
        rule,
        around=rule,
        **_learning(rule),
        **_certifying(rule),
        **_plain(rule),
        on_sets=None,
        # Restarts stand at moments: the order of measurements matters.
        absorb_many=None,
        catch_up=None,
        order_free=False,
        pools=False,
    )


def _learning(rule: Rule) -> dict[str, Any]:
    """What asks and learns."""
    choose_inner, absorb_inner, recommend_inner = rule.choose, rule.absorb, rule.recommend
    ball: Any = rule.ball
    found: dict[str, Any] = {}

    def choose(params: Any, state: Any, allowed: Mask, sigma: float, draws: Floats) -> int:
        return choose_inner(params.inner, state.inner, allowed, sigma, draws)

    def absorb(params: Any, state: Any, action: int, reward: float, sigma: float) -> None:
        absorb_inner(params.inner, state.inner, action, reward, sigma)
        begin_if_due(ball(params.inner), state.inner.model, state.restarts)

    def recommend(params: Any, state: Any) -> int:
        return recommend_inner(params.inner, state.inner)

    found |= {"choose": choose, "absorb": absorb, "recommend": recommend}
    if rule.wants_plan is not None:
        wants_plan_inner = rule.wants_plan

        def wants_plan(params: Any, state: Any) -> bool:
            return wants_plan_inner(params.inner, state.inner)

        found["wants_plan"] = wants_plan
    return found


def _certifying(rule: Rule) -> dict[str, Any]:
    """What bounds."""
    radius_inner, candidates_inner, recommend_inner = rule.radius, rule.candidates, rule.recommend
    bound_inner, certain_inner = rule.bound, rule.certain
    ball: Any = rule.ball

    def radius(params: Any, state: Any) -> float:
        return radius_inner(params.inner, state.inner)

    def candidates(params: Any, state: Any) -> Mask:
        leader, model = recommend_inner(params.inner, state.inner), state.inner.model
        left = candidates_inner(params.inner, state.inner)
        look(ball(params.inner), model, state.restarts, leader)
        upper = limits_above(model, state.restarts, leader, left)
        upper[leader] = 0.0
        # What is no number rules nothing out.
        return left & ~(upper < 0.0)

    def bound(params: Any, state: Any, candidates: Mask, action: int, radius: float) -> float:
        usual = bound_inner(params.inner, state.inner, candidates, action, radius)
        model = state.inner.model
        look(ball(params.inner), model, state.restarts, recommend_inner(params.inner, state.inner))
        return min(usual, max(0.0, largest_above(model, state.restarts, action, candidates)))

    def certain(params: Any, state: Any, action: int, eps: float, radius: float) -> bool:
        if certain_inner(params.inner, state.inner, action, eps, radius):
            return True
        model = state.inner.model
        look(ball(params.inner), model, state.restarts, action)
        widths = contrast_widths(model, action)
        # A copy of the action is as good as it.
        terms = model.squared_widths + model.squared_widths[action]
        others = widths * widths > 2.0 * CANCELLED * terms
        return largest_above(model, state.restarts, action, others) < eps

    return {"radius": radius, "candidates": candidates, "bound": bound, "certain": certain}


def _plain(rule: Rule) -> dict[str, Any]:
    """What is never compiled, and what may be missing."""

    def make_params(actions: Any, horizon: int | None, options: dict[str, Any]) -> RestartedParams:
        return RestartedParams(rule.make_params(actions, horizon, options))

    def init(params: RestartedParams) -> RestartedState:
        inner = rule.init(params.inner)
        return RestartedState(inner, new_restarts(inner.model.pivots.size))

    def certificate(params: RestartedParams, state: RestartedState) -> str:
        return rule.certificate(params.inner, state.inner)

    def most_sigma(params: RestartedParams) -> float:
        return rule.most_sigma(params.inner)

    def n_draws(params: RestartedParams) -> int:
        return rule.n_draws(params.inner)

    def plan(params: RestartedParams, state: RestartedState) -> None:
        assert rule.plan is not None
        rule.plan(params.inner, state.inner)

    def explain(params: RestartedParams, state: RestartedState, action: int, label: Any) -> str:
        assert rule.explain is not None
        return rule.explain(params.inner, state.inner, action, label)

    def imagine(params: RestartedParams, state: RestartedState, action: int, sigma: float) -> None:
        assert rule.imagine is not None
        rule.imagine(params.inner, state.inner, action, sigma)

    return {
        "make_params": make_params,
        "init": init,
        "certificate": certificate,
        "most_sigma": most_sigma,
        "n_draws": n_draws,
        "plan": plan if rule.plan is not None else None,
        "explain": explain if rule.explain is not None else None,
        "imagine": imagine if rule.imagine is not None else None,
    }
