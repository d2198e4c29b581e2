"""Studies in every state that a report may find them in."""

import numpy as np

import noisewise as nw


def told_study(count=25, n=20):
    """A linear model with a quiet instrument."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, 3))
    table = {"id": [f"A-{k}" for k in range(n)], **{f"f{j}": features[:, j] for j in range(3)}}
    study = nw.create_study(options=table, model="linear", eps=0.02, name="alloys <one>")
    rows = rng.integers(n, size=count)
    se = np.where(rng.random(count) < 0.1, 0.05, 0.5)
    values = features[rows] @ [1.0, 0.5, -0.2] + se * rng.standard_normal(count)
    instrument = np.where(se < 0.1, "beam", "probe")
    study.tell_many({"option": [f"A-{k}" for k in rows], "value": values, "se": se, "instrument": instrument})
    return study


def nothing():
    return nw.create_study(options=["A", "B"], eps=0.1)


def few():
    study = nw.create_study(options=["A", "B", "C", "D"], eps=0.1)
    study.tell(option="A", value=1.2, se=0.3)
    study.tell(option="B", value=1.0, se=0.3)
    return study


def undecided():
    study = nw.create_study(options=[f"A{k:02d}" for k in range(22)], eps=0.1)
    for k in range(22):
        study.tell(option=f"A{k:02d}", value=0.1 * k, se=0.2 if k == 6 else 5.0)
    return study


def bounded():
    study = nw.create_study(options=["A", "B", "C"], eps=0.001)
    for option, value in zip("ABCABC", (1.0, 5.0, 4.9, 1.1, 5.2, 5.1), strict=True):
        study.tell(option=option, value=value, se=0.1)
    return study


def without_eps():
    study = nw.create_study(options=["A", "B", "C"], final=True)
    for option, value in zip("ABC", (1.0, 2.0, 2.1), strict=True):
        study.tell(option=option, value=value, se=0.1)
    return study


def ready():
    rng = np.random.default_rng(3)
    study = nw.create_study(options=[f"alloy {x}" for x in "PQRSTUVW"], eps=0.3, unit="MPa", name="strength")
    for k in range(40):
        value = 430.0 + 0.7 * (k % 8) + 0.12 * rng.standard_normal()
        study.tell(option=f"alloy {'PQRSTUVW'[k % 8]}", value=value, se=0.12)
    return study


def withheld_for_misfit():
    study = nw.create_study(options=["A", "B"], eps=0.1)
    for value in (0.0, 10.0, 20.0):
        study.tell(option="A", value=value, se=0.1)
        study.tell(option="B", value=value + 1.0, se=0.1)
    return study


def heavy_misfit():
    study = nw.create_study(options=["A", "B", "C"], eps=0.1, goal="min")
    for k in range(12):
        study.tell(option="ABC"[k % 3], value=1.0 + 0.1 * (k % 3) + (99.0 if k == 7 else 0.0), se=0.01)
    return study


def days():
    """Days have levels of their own; one option is linked with no other; names are long."""
    rng = np.random.default_rng(5)
    names = [
        "control (current production configuration, nightly)",
        "B: wider beam search with re-ranking by the large model",
        "C: distilled",
        "variant_with_a_name_that_has_no_blank_in_it_at_all_v2",
    ]
    study = nw.create_study(options=names, eps=0.01, unit="share", name="conversion of the sign-up page")
    for day in range(6):
        level = rng.normal(0.1, 0.02)
        for place, name in enumerate(names[:3]):
            value = level + 0.01 * place + 0.004 * rng.standard_normal()
            study.tell(option=name, value=value, se=0.004, block=f"2026-11-{day + 1:02d}")
    study.tell(option=names[3], value=0.4, se=0.004, block="pilot")
    return study


def network():
    study = nw.create_study(
        options=["placebo", "metformin", "acarbose", "vildagliptin"], eps=0.2, unit="% HbA1c", goal="min"
    )
    for plus, minus, value in (
        ("metformin", "placebo", -1.1),
        ("acarbose", "placebo", -0.8),
        ("vildagliptin", "placebo", -0.7),
        ("metformin", "acarbose", -0.3),
    ):
        study.tell(plus=plus, minus=minus, value=value, se=0.2)
    return study


def one_look():
    study = nw.create_study(options=["A", "B", "C"], eps=0.1, final=True)
    for option, value in zip("ABCABC", (1.0, 2.0, 5.0, 1.1, 2.1, 5.1), strict=True):
        study.tell(option=option, value=value, se=0.1)
    return study


def waiting_for_sizes():
    study = nw.create_study(options=["A", "B"], eps=0.1, errors=nw.Errors(scatter="pooled"))
    study.tell(option="A", values=[1.0, 1.1, 0.9])
    study.tell(option="B", values=[2.0, 2.1])
    return study


def items():
    rng = np.random.default_rng(1)
    study = nw.create_study(options=["m1", "m2", "m3"], eps=0.2, measure=nw.Items(40), seed=0)
    for name, share in (("m1", 0.4), ("m2", 0.6), ("m3", 0.95)):
        order = [study._log.state.items.names[k] for k in range(40)]
        study.tell(option=name, items={one: float(rng.random() < share) for one in order})
    return study


def counts():
    study = nw.create_study(options=[f"page {k}" for k in range(6)], eps=0.02)
    for k in range(6):
        for _ in range(5):
            study.tell(option=f"page {k}", successes=30 + 3 * k, trials=300)
    return study


def excluded():
    study = ready()
    study.exclude("alloy W", "it corrodes")
    study.exclude("alloy P", "too dear")
    return study


def all_excluded():
    study = bounded()
    for option in "ABC":
        study.exclude(option, "broken")
    return study


def alone():
    study = nw.create_study(options=["A"], eps=0.1)
    study.tell(option="A", value=1.0, se=0.1)
    study.tell(option="A", value=1.1, se=0.1)
    return study


def timings(*, goal="min", unit="ms", rounds=10, gap=1.03, blocks=False, seed=1, eps="2%"):
    """Values on a log scale, option after option, or in rounds that share a load."""
    rng = np.random.default_rng(seed)
    study = nw.create_study(options=["sort", "awk", "uniq"], goal=goal, eps=eps, unit=unit, scale="log")
    for round in range(rounds):
        load = np.exp(0.1 * rng.standard_normal()) if blocks else 1.0
        for place, option in enumerate(study.options):
            readings = 12.0 * gap**place * load * np.exp(0.01 * rng.standard_normal(3))
            if blocks:
                study.tell(option=option, value=readings[0], block=f"round {round + 1}")
            else:
                study.tell(option=option, values=readings)
    return study


def log_nothing():
    return nw.create_study(options=["A", "B"], eps="2%", scale="log")


def log_undecided():
    return timings(gap=1.0, rounds=4)


def log_bounded():
    return timings(gap=1.004, rounds=9, eps="0.1%")


def log_ready():
    return timings(goal="max", unit="MB/s", gap=1.002, rounds=20)


def log_rounds():
    return timings(blocks=True, gap=1.01, rounds=14, eps="0.1%")


def log_far_apart():
    """Ratios that need an axis of their own."""
    return timings(blocks=True, gap=3.0, rounds=12)


def log_withheld():
    return timings(blocks=True, rounds=2)


def log_without_unit():
    study = nw.create_study(options=["A", "B", "C"], eps="5%", goal="min", scale="log")
    for option, value in zip("ABCABC", (1.0, 1.9, 2.0, 1.01, 1.91, 1.98), strict=True):
        study.tell(option=option, value=value, se=0.02)
    return study


LOGS = (
    log_nothing, log_undecided, log_bounded, log_ready, log_rounds, log_far_apart, log_withheld,
    log_without_unit,
)  # fmt: skip
STATES = (
    nothing, few, undecided, bounded, without_eps, ready, withheld_for_misfit, heavy_misfit, days, network,
    one_look, waiting_for_sizes, items, counts, excluded, all_excluded, alone, told_study,
    *LOGS,
)  # fmt: skip
