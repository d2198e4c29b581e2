"""Optuna with repeats: the options are a categorical parameter, every suggestion is measured three times."""

import numpy as np
import optuna

from benchmarks.rivals.player import Clock, Played, Tally
from benchmarks.rivals.worlds import Drawn

REPEATS = 3


def play(drawn: Drawn) -> Played:
    """Its default sampler (TPE), told the mean of the repeats; named is the best mean of all measurements."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    world, played = drawn.world, Played(drawn.seed)
    clock, tally = Clock(played), Tally(world)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=drawn.seed))
    while played.decisions < world.budgets[-1]:
        with clock:
            trial = study.ask()
            option = drawn.names.index(trial.suggest_categorical("option", drawn.names))
        values = []
        for _ in range(REPEATS):
            if played.decisions == world.budgets[-1]:
                break
            result = drawn.measure(option)
            tally.add(option, result)
            values.append(result.value)
            played.decisions += 1
            if played.decisions in world.budgets:
                played.losses.append(drawn.loss(int(np.argmax(tally.means))))
        with clock:
            study.tell(trial, float(np.mean(values)))
    return played
