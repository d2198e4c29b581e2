"""Rounds of the compiled rules against those of VAEE, and the minute that VOFUL may take."""

import functools
from typing import Any

import noisewise as nw
from benchmarks.timing import Row, alternating, seconds
from benchmarks.worlds import sphere

N_ACTIONS, DIM, HORIZON, REPLICATIONS = 100, 10, 4000, 8
TIMES_VAEE = 4.0
#: For rules that need bounded noise, or sigma before they choose.
ANNOUNCED: dict[str, Any] = {"noise": "rademacher", "announced": True}
#: Rules, and the options that are not their defaults.
RULES: dict[str, dict[str, Any]] = {
    "weighted_oful": {},
    "weighted_oful, sub-gaussian": {"noise": "sub-gaussian"},
    "weighted_oful_plus": {"horizon": HORIZON},
    "oful": {},
    "linear_thompson": {},
    "lingape": {},
    "weighted_lingape": {},
    "save": {"horizon": HORIZON},
    "save, scale 0.001": {"horizon": HORIZON, "scale": 0.001},
    "varcb": {"horizon": HORIZON},
    "varcb, scale 0.01": {"horizon": HORIZON, "scale": 0.01},
    "linnats": {"horizon": HORIZON},
    "linnats_unknown": {"horizon": HORIZON},
}


def against_vaee(label: str, options: dict[str, Any], env: nw.Environment) -> Row:
    """Time per round of a rule in units of VAEE's, in alternating blocks."""
    run = functools.partial(
        nw.simulate,
        env=env,
        horizon=HORIZON,
        replications=REPLICATIONS,
        on=1,
        checkpoints=[HORIZON],
    )
    policy, vaee = nw.make_policy(label.split(",")[0], env.actions, **options), nw.vaee(env.actions)
    rule, reference = alternating(lambda: run(policy), lambda: run(vaee))
    unit = 1e6 / (HORIZON * REPLICATIONS)
    detail = f"{rule * unit:.2f} against {reference * unit:.2f} µs a round"
    name = f"{label}, {N_ACTIONS} x {DIM}: time of a round against vaee"
    return Row(name, rule / reference, "x", TIMES_VAEE, detail=detail)


def voful_run(name: str, scale: float, horizon: int = 2000) -> Row:
    """One run in the plane with 20 actions, compiled before."""
    env = sphere(20, 2, horizon, **ANNOUNCED)
    policy = nw.make_policy(name, env.actions, horizon=horizon, scale=scale)
    run = functools.partial(nw.simulate, policy, env, horizon=horizon, replications=1, on=1)
    nw.simulate(policy, env, horizon=10, replications=1, on=1)
    taken = seconds(run)
    return Row(
        name=f"{name}, 20 x 2, scale {scale:g}: {horizon} rounds",
        figure=taken,
        unit="s",
        target=60.0,
        detail=f"cumulative regret {run().cumulative_regret[0, -1]:.0f}",
    )


def rows() -> list[Row]:
    """All rules, then VOFUL: as printed, where it is idle most of the time, and scaled, where it works."""
    env = sphere(N_ACTIONS, DIM, HORIZON, **ANNOUNCED)
    compared = [against_vaee(label, options, env) for label, options in RULES.items()]
    return compared + [voful_run(name, scale) for name in ("voful", "voful2") for scale in (1.0, 0.05)]
