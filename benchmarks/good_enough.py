"""Good-enough sets: how often one is wrong, or the certificate, looked at after every measurement.

Options lie just within and just beyond eps of the best, so that both kinds of claim are hard; one lies far
below. Every option is measured once, then those at random whose claims are not settled. ``GOOD_ENOUGH=200``
plays fewer studies of each kind.
"""

import functools
import os
import warnings
from typing import Any

import numpy as np
from scipy.stats import binom

import noisewise as nw
from benchmarks.timing import Row
from noisewise.core.parallel import spread

RUNS, LOOKS, FALSE_ALARM = int(os.environ.get("GOOD_ENOUGH", "2000")), 24, 1e-3
EPS, NAMES = 0.1, list("ABCDEF")
#: Distances from the best, in units of eps.
BEHIND = np.array([0.0, 0.9, 0.95, 1.05, 1.1, 3.0])
KINDS = ("error bars", "counts", "readings", "ratings", "items", "blocks", "linear", "one look")
#: Features whose first is the value, so that the linear model is true.
FEATURES = np.column_stack([-BEHIND, [0.3, -0.2, 0.5, -0.4, 0.1, 0.2]])


def begun(kind: str) -> nw.Study:
    """A study without measurements."""
    options: Any = NAMES
    more: dict[str, Any] = {}
    if kind == "linear":
        options = {"option": NAMES, "u": FEATURES[:, 0], "v": FEATURES[:, 1]}
        more = {"model": "linear"}
    elif kind == "ratings":
        more = {"measure": nw.Ratings(0, 1)}
    elif kind == "one look":
        more = {"final": True}
    return nw.create_study(options=options, eps=EPS, **more)


def tell(study: nw.Study, kind: str, option: int, look: int, rng: np.random.Generator) -> None:
    """Record one measurement of an option, or an item of all."""
    value = 0.6 - EPS * BEHIND
    name, here = NAMES[option], float(value[option])
    if kind == "items":
        hard = rng.random() * 0.4 - 0.2  # the same for all
        answers = (rng.random((20, len(NAMES))) < value + hard).astype(float)
        rows = [(one, f"i{look}-{k}", answers[k, at]) for at, one in enumerate(NAMES) for k in range(20)]
        study.tell_many(
            {key: [row[at] for row in rows] for at, key in enumerate(("option", "item", "value"))}
        )
    elif kind == "counts":
        study.tell(option=name, successes=int(rng.binomial(400, here)), trials=400)
    elif kind in ("readings", "ratings"):
        readings = rng.normal(here, 0.1, 20) if kind == "readings" else rng.beta(8 * here, 8 - 8 * here, 40)
        study.tell(option=name, values=readings.tolist())
    else:
        se = float(rng.uniform(0.2, 0.6)) * EPS
        level = rng.normal() * 5.0 if kind == "blocks" else 0.0
        block: dict[str, Any] = {"block": f"day {look}"} if kind == "blocks" else {}
        for at in (option, (option + 1) % len(NAMES)) if block else (option,):
            study.tell(option=NAMES[at], value=float(rng.normal(value[at] + level, se)), se=se, **block)


def one_study(seed: int, kind: str) -> str:
    """What was wrong first: "within", "worse", "certificate" or nothing; and whether anything was claimed."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    study, claimed, found = begun(kind), False, None
    behind = dict(zip(NAMES, EPS * BEHIND, strict=True))
    for look in range(LOOKS):
        open_ = [NAMES.index(name) for name in found.undecided] if found is not None else []
        option = int(rng.choice(open_)) if open_ and rng.random() < 0.7 else int(rng.integers(len(NAMES)))
        tell(study, kind, look if look < len(NAMES) else option, look, rng)
        if kind == "one look" and look + 1 < LOOKS:
            continue
        certificate = study.certificate(cheapest=True)
        found = certificate.good_enough
        if found is None or certificate.option is None or certificate.withheld:
            continue
        claimed = claimed or bool(found.options or found.worse)
        if any(behind[name] > EPS for name in found.options):
            return "within"
        if any(behind[name] <= EPS for name in found.worse):
            return "worse"
        if behind[certificate.option] > certificate.bound or NAMES[0] not in certificate.candidates:
            return "certificate"
    return "right" if claimed else "nothing claimed"


def rows() -> list[Row]:
    """Studies in which anything was wrong at any look."""
    allowed, found = int(binom.isf(FALSE_ALARM, RUNS, 0.05)), []
    for kind in KINDS:
        ended = [how for _, how in spread(functools.partial(one_study, kind=kind), range(RUNS))]
        wrong = [ended.count(how) for how in ("within", "worse", "certificate")]
        detail = "{} within, {} worse, {} certificates".format(*wrong)
        detail += f"; nothing claimed in {ended.count('nothing claimed')}"
        found.append(Row(f"good enough, {kind}: wrong", sum(wrong), f"of {RUNS}", allowed, detail=detail))
    return found
