"""What is asked of every sample: answers as plain values, by the public interface alone."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from tests.samples import policies

import noisewise as nw

DATA = Path(__file__).parent / "data"
ESTIMATED = ("theta", "means", "widths", "covariance", "radius", "candidates", "recommended", "mean", "width")
ESTIMATED += ("regret_bound", "total_precision", "n_told", "delta", "label", "certificate")
SIMULATED = ("policy", "options", "world", "stop", "horizon", "seed", "checkpoints", "pulled", "advised")
SIMULATED += ("simple_regret", "cumulative_regret", "total_precision", "radius", "distance", "bound")
SIMULATED += ("stopped", "fired")


def plain(answer: Any) -> Any:
    """As JSON has it; numbers that JSON does not have become text."""
    if isinstance(answer, dict):
        return {str(name): plain(value) for name, value in answer.items()}
    if isinstance(answer, np.ndarray | np.generic):
        return plain(answer.tolist())
    if isinstance(answer, list | tuple):
        return [plain(value) for value in answer]
    if isinstance(answer, float) and not math.isfinite(answer):
        return str(answer)
    return answer


def differences(found: Any, kept: Any, where: str = "", *, relative: float = 1e-9) -> list[str]:
    """Where an answer is not the one that was kept: floats up to rounding, all else exactly."""
    if isinstance(found, dict) and isinstance(kept, dict) and found.keys() == kept.keys():
        pairs = [(f"{where}.{name}", found[name], kept[name]) for name in kept]
    elif isinstance(found, list) and isinstance(kept, list) and len(found) == len(kept):
        pairs = [(f"{where}[{k}]", *both) for k, both in enumerate(zip(found, kept, strict=True))]
    elif type(found) is float and type(kept) is float:
        same = math.isclose(found, kept, rel_tol=relative, abs_tol=1e-3 * relative)
        return [] if same else [f"{where}: {found!r}, was {kept!r}"]
    else:
        same = type(found) is type(kept) and found == kept
        return [] if same else [f"{where}: {found!r}, was {kept!r}"]
    return [line for place, new, old in pairs for line in differences(new, old, place, relative=relative)]


def of_study(study: Any) -> dict[str, Any]:
    """What a study says of itself, and what it asks for next; the last writes to it."""
    check, certificate = study.check(), study.certificate()
    said = {
        name: getattr(study, name)
        for name in ("model", "policy", "options", "notes", "deviation", "extra_scatter", "head")
    }
    said["certificate"] = json.loads(certificate.to_json()) | {"text": str(certificate)}
    said["check"] = {
        name: getattr(check, name)
        for name in ("ok", "reduced", "freedom", "p_value", "expected", "problems", "notes", "remedies")
    } | {"worst": check.worst, "advice": check.advice, "text": str(check)}
    said["frames"] = {
        name: study.frame(name).to_dict(as_series=False) for name in ("options", "measurements")
    }
    said["kinds"] = study.frame("events")["kind"].to_list()
    said["pending"] = [(job.id, job.option, job.why, job.expires.isoformat()) for job in study.pending]
    said["repr"] = repr(study)
    said["next"] = [(job.id, job.option, job.why) for job in study.ask(3, sigma=0.2)]
    return plain(said)


def of_policy(policy: Any) -> dict[str, Any]:
    """What a policy believes, what it asks for in the rounds that come, and what it believes then."""
    before = _estimate(policy)
    action = policy.ask(sigma=policies.SIGMAS[policy.n_told])
    why = policy.why(action) if isinstance(action, int) else None
    pulls = policies.proceed(policy)
    return plain({"before": before, "why": why, "pulls": pulls, "after": _estimate(policy)})


def _estimate(policy: Any) -> dict[str, Any]:
    found = policy.estimate()
    # `means` and `widths` of an estimate on an infinite set are functions.
    said = {name: getattr(found, name) for name in ESTIMATED if hasattr(found, name)}
    return {name: value for name, value in said.items() if not callable(value)}


def of_simulation(simulation: Any) -> dict[str, Any]:
    """Everything that a simulation holds."""
    return plain({name: getattr(simulation, name) for name in SIMULATED})


def of_rule(name: str, *, compiled: bool = False) -> dict[str, Any]:
    """What a rule measures and recommends in a short simulation."""
    found = policies.simulated(policies.make_policy(name), compiled=compiled)
    return plain({field: getattr(found, field) for field in ("pulled", "advised", "bound", "simple_regret")})


def of_designs() -> dict[str, Any]:
    """A few designs."""
    rng = np.random.default_rng(99)
    many, some = rng.standard_normal((60, 4)), policies.VECTORS
    optimal = {
        "tight": nw.optimal_design(some, gap=1e-6),
        "many": nw.optimal_design(many),
        "core": nw.optimal_design(many, support="core"),
        "caratheodory": nw.optimal_design(many, support="caratheodory"),
        "few": nw.optimal_design(many, max_support=6),
    }
    transductive = {
        "directions": nw.transductive_design(some, np.eye(3), gap=1e-4),
        "pairs": nw.transductive_design(some, nw.Pairs(some[:5])),
        "weighted": nw.transductive_design(some, np.eye(3), weights=np.linspace(1.0, 4.0, len(some))),
    }
    found: dict[str, Any] = {
        name: {"indices": one.indices, "weights": one.weights, "g_value": one.g_value, "rank": one.rank}
        for name, one in optimal.items()
    }
    found |= {
        name: {"indices": one.indices, "weights": one.weights, "value": one.value}
        for name, one in transductive.items()
    }
    return plain(found)


def of_theory() -> dict[str, Any]:
    """The paper's numbers for a few schedules."""
    theory, found = nw.theory, {}
    schedules = {
        "decaying": nw.schedules.fast_decaying(200),
        "flat": nw.schedules.flat(200, 4),
        "spikes": nw.schedules.moderate_spikes(200),
        "front": nw.schedules.front_loaded(200),
    }
    for name, sigma in schedules.items():
        found[name] = {
            "sigma": [sigma.min(), sigma.max(), sigma.sum()],
            "information_budget": theory.information_budget(sigma, 4),
            "water_level": theory.water_level(sigma, 10.0),
            "harmonic_level": theory.harmonic_level(sigma, 10.0),
            "harmonic_gain": theory.harmonic_gain(sigma),
            "vaee_bound": theory.vaee_bound(sigma, 4, max_norm=2.0, norm_bound=50.0, form="printed"),
            "vaee_clipped": theory.vaee_bound(sigma, 4, max_norm=2.0, norm_bound=50.0),
            "vaee_as_printed": theory.vaee_bound(sigma, 4, norm_bound=50.0, as_printed=True, radius="paper"),
            "vagd_bound": theory.vagd_bound(sigma, 4, 30, norm_bound=50.0),
            "lower_bound": theory.lower_bound(sigma, 4),
            "robust_vaee_bound": theory.robust_vaee_bound(sigma, 4, norm_bound=1e4),
            "total_variance": {
                rule: theory.total_variance_bound(rule, sigma, 4, n_actions=30)
                for rule in theory.TOTAL_VARIANCE_ROWS
            },
        }
    found["core_set_size"] = [theory.core_set_size(dim) for dim in (1, 3, 20)]
    return plain(found)
