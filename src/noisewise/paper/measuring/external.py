"""A published table: stopping times on Soare's instance."""

from typing import Any

import numpy as np

from noisewise.paper.measuring.runs import make_world, mean_and_error, run

#: Nobody needs as many rounds.
LONGEST = 120_000


def stopping_times(
    rule: str, options: dict[str, Any], delta: float, length: float, replications: int, seed: int
) -> dict[str, Any]:
    """The mean number of rounds until the likelihood ratio passes ``log((1 + log t)/δ)``, and the errors."""
    env = make_world("soare", {"dim": 6, "angle": 0.1, "length": length}, np.ones(LONGEST))
    simulation = run(
        rule,
        options | {"delta": delta, "norm_bound": length},
        env,
        horizon=LONGEST,
        replications=replications,
        seed=seed,
        stop="glr-log-log",
    )
    return mean_and_error(simulation.stopped.astype(float)) | {
        "wrong": int((simulation.simple_regret[:, -1] > 1e-12).sum()),
        "unfinished": int((~simulation.fired).sum()),
        "runs": replications,
    }
