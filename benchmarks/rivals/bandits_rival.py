"""bayesianbandits: Thompson sampling with the conjugate model of each world, and its prior as it truly is."""

import numpy as np
from bayesianbandits import (
    Agent,
    Arm,
    DirichletClassifier,
    FunctionArmFeaturizer,
    LipschitzContextualAgent,
    NormalRegressor,
    ThompsonSampling,
)

from benchmarks.rivals.player import Played, step_by_step
from benchmarks.rivals.worlds import READINGS, Drawn, Result


def play(drawn: Drawn) -> Played:
    """Named is the option with the best posterior mean."""
    world, x = drawn.world, drawn.x
    if world.features:
        learner = NormalRegressor(alpha=world.features, beta=1.0 / world.se[0] ** 2)

        def features(_: object, tokens: list[int]) -> np.ndarray:
            return x[np.asarray(tokens)][None].transpose(0, 2, 1)

        shared = LipschitzContextualAgent(
            [Arm(k) for k in range(world.options)],
            ThompsonSampling(),
            FunctionArmFeaturizer(features),
            learner,
            random_seed=drawn.seed,
        )
        context = np.ones((1, 1))

        def tell_shared(option: int, result: Result) -> None:
            shared.select_for_update(option).update(context, np.array([result.value]))

        def best_shared() -> int:
            return int(np.argmax(x @ np.asarray(learner.coef_)))

        return step_by_step(
            drawn, Played(drawn.seed), lambda: shared.pull(context)[0], tell_shared, best_shared
        )
    if world.kind == READINGS:
        arms = [Arm(k, learner=NormalRegressor(alpha=1.0, beta=1.0)) for k in range(world.options)]
    else:
        arms = [
            Arm(k, reward_function=_second, learner=DirichletClassifier({0: 1.0, 1: 1.0}))
            for k in range(world.options)
        ]
    agent = Agent(arms, ThompsonSampling(), random_seed=drawn.seed)
    sums: np.ndarray = np.zeros((2, world.options))

    def tell(option: int, result: Result) -> None:
        agent.select_for_update(option)
        if result.answers:
            agent.update(np.array(result.answers))
            sums[:, option] += sum(result.answers), len(result.answers)
        else:
            weight = 1.0 / result.se**2
            agent.update(np.array([result.value]), sample_weight=np.array([weight]))
            sums[:, option] += weight * result.value, weight

    def best() -> int:
        # The means of the conjugate posteriors: normal(0, 1) and beta(1, 1) before any measurement.
        before = (1.0, 2.0) if world.kind != READINGS else (0.0, 1.0)
        return int(np.argmax((sums[0] + before[0]) / (sums[1] + before[1])))

    return step_by_step(drawn, Played(drawn.seed), lambda: agent.pull()[0], tell, best)


def _second(draws: np.ndarray) -> np.ndarray:
    return np.asarray(draws[..., 1])
