"""One replication after another, as asked on standard input: run by the Python of this tree and of 0.2.0."""

import inspect
import json
import sys
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import noisewise as nw
from noisewise.simulation.simulate import make_run

NEEDED: dict[str, dict[str, Any]] = {
    "vaee_as_printed": {"sigma_min": 1e-3},
    "lingame": {"learners": "single"},
    "voful": {"directions": 8, "cubes": 256},
    "voful2": {"directions": 8, "cubes": 256},
}


def replication(case: dict[str, Any]) -> Any:
    """A function that runs the same replication again and again."""
    rng = np.random.default_rng(0)
    n, dim, horizon = case["n"], case["dim"], case["horizon"]
    if "set" in case:
        instance = nw.instances.random_parameter(getattr(nw.sets, case["set"])(dim))
        env = instance.environment(nw.schedules.log_uniform)
    else:
        vectors, theta = rng.standard_normal((n, dim)), rng.standard_normal(dim)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        theta *= 0.8 / np.linalg.norm(theta)
        env = nw.Environment(nw.ActionSet(vectors), theta, nw.schedules.log_uniform, announced=True)
    options = NEEDED.get(case["rule"], {}) | case.get("options", {})
    constructor = getattr(nw.rules, case["rule"])
    if "horizon" in inspect.signature(constructor).parameters:
        options = options | {"horizon": horizon}
    run: Any = make_run(
        constructor(env.actions, **options), env, horizon, 0, np.array([horizon]), (case.get("stop"), None)
    )
    if not hasattr(run, "loop"):
        return lambda: run.replicate(0)["stopped"]

    loop, results = run.loop(False), run.empty(1)

    def replicate() -> int:
        run.replicate(0, loop, False, results, 0)
        return int(results.stopped[0])

    return replicate


def main() -> None:
    """Answer each case with the microseconds of thread time that a round took."""
    known: dict[str, Any] = {}
    with threadpool_limits(1):
        for line in sys.stdin:
            try:
                replicate = known.get(line) or known.setdefault(line, replication(json.loads(line)))
                begun = time.thread_time()
                rounds = replicate()
                answer = 1e6 * (time.thread_time() - begun) / max(1, rounds)
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
