"""Small random studies to ask: all models, blocks, differences, costs, exclusions, things under way."""

import numpy as np

import noisewise as nw

MODELS = ("independent", "linear", "linear+deviation")
DAYS = (None, "Mon", "Tue", "Wed")


def asked_study(seed, *, policy=None, measured=None):
    """A study that something happened to; which, the seed decides.

    Args:
        seed: Of everything.
        policy: Who asks; default: as ever.
        measured: How many measurements there are; default: any number, none included.
    """
    rng = np.random.default_rng(seed)
    study, truth, table = _question(rng, policy)
    some = int(rng.choice([0, 1, 4, 12, 30])) if measured is None else measured
    kinds = (rng.random() < 0.5, rng.random(), rng.random() < 0.15)
    _measure(study, truth, rng, some, *kinds)
    if rng.random() < 0.3 and len(study.options) > 2:
        study.exclude(study.options[int(rng.integers(len(study.options)))], "sold out")
    if rng.random() < 0.2:
        between = {name: [float(np.mean(cells[:2]))] for name, cells in table.items() if name != "id"}
        study.add_options({"id": ["new"], **between})
    for _ in range(int(rng.choice([0, 0, 1, 3]))):
        study.ask(int(rng.integers(1, 4)), [None, 0.2][int(rng.integers(2))])
    return study


def _question(rng, policy):
    n, model = int(rng.integers(2, 7)), MODELS[int(rng.integers(3))]
    features = rng.normal(size=(n, 2))
    table = {"id": [f"o{k}" for k in range(n)]}
    sizes = {}
    if model != "independent":
        table |= {"x": features[:, 0], "y": features[:, 1]}
    if model == "linear+deviation":
        model = f"{model}:{'estimate' if rng.random() < 0.3 else 0.4}"
    if rng.random() < 0.3:
        sizes["errors"] = nw.Errors(extra="estimate" if rng.random() < 0.5 else 0.3)
    if rng.random() < 0.4:
        table["cost"] = rng.choice([1.0, 2.0, 5.0], n)
    if policy is not None:
        sizes["policy"] = policy
    goal = "min" if rng.random() < 0.3 else "max"
    study = nw.create_study(options=table, model=model, eps=0.2, goal=goal, **sizes)
    return study, features @ [0.8, -0.5] + 0.3 * rng.normal(size=n), table


def _measure(study, truth, rng, count, in_blocks, compared, without_error):
    """Values, in blocks or not, and differences: all, some or none of them."""
    n, share = truth.size, 1.0 if compared < 0.2 else 0.3 if compared < 0.4 else 0.0
    for at in range(count):
        se = None if without_error and rng.random() < 0.5 else float(rng.choice([0.1, 0.3, 0.6]))
        noise = 0.3 if se is None else se
        error = {} if se is None else {"se": se}
        one, other = rng.choice(n, 2, replace=False).tolist()
        value = float(truth[one] + noise * rng.normal())
        if rng.random() < share:
            study.tell(plus=f"o{one}", minus=f"o{other}", value=value - float(truth[other]), **error)
        else:
            block = DAYS[min(at // 4, 3)] if in_blocks else None
            study.tell(option=f"o{one}", value=value, **error, **({} if block is None else {"block": block}))
