"""What the choice itself takes in `ask`, beside the certificate and the store: 1000 options, and 10^5.

The certificate's part (the fit and the recommended option) is computed beforehand, as it is in a study that
was just looked at; what is timed is the making of one suggestion.
"""

import functools
import statistics
from typing import Any

import numpy as np

import noisewise as nw
from benchmarks.timing import Row, seconds
from noisewise.study.asking.ask import Asking

DIM, EPS, SE, TIMES = 10, 0.3, 0.5, 7
#: Model, options, measurements, measurements in a block (0: no blocks), and the most milliseconds.
SIZES = (
    ("independent", 1000, 3000, 0, 8.0),
    ("independent", 1000, 3000, 20, 8.0),
    ("linear", 1000, 3000, 0, 8.0),
    ("linear", 1000, 3000, 5, 8.0),
    ("linear+deviation", 1000, 3000, 0, 8.0),
    ("linear+deviation", 1000, 300, 5, 8.0),
    ("independent", 100_000, 150_000, 0, 150.0),
)


def measured_study(model: str, n: int, told: int, block: int) -> Any:
    """Options with features, every one measured where there is time for it."""
    rng = np.random.default_rng(0)
    names, features = [f"o{k}" for k in range(n)], rng.normal(size=(n, DIM))
    table = {"id": names, **{f"x{j}": features[:, j] for j in range(DIM)}}
    question: dict[str, Any] = {"options": table, "roles": {"option": "id"}, "model": model}
    if model == "independent":
        question = {"options": names}
    elif model != "linear":
        question["deviation"] = 0.3
    study = nw.create_study(eps=EPS, **question)
    rows = np.concatenate([np.arange(n), rng.integers(n, size=max(0, told - n))])[:told]
    if block:
        rows = np.insert(rows, np.arange(0, rows.size, block - 1), 0)  # what links the blocks
    values = features[rows] @ rng.normal(size=DIM) / 2.0 + SE * rng.standard_normal(rows.size)
    told_rows = {"option": [names[k] for k in rows], "value": values, "se": np.full(rows.size, SE)}
    if block:
        told_rows["block"] = [f"b{at // block:05d}" for at in range(rows.size)]
    study.tell_many(told_rows)
    return study


def rows() -> list[Row]:
    """Milliseconds of one suggestion, the median of several."""
    made = []
    for model, n, told, block, most in SIZES:
        study = measured_study(model, n, told, block)
        analysis, taken = study.analysis(), []
        for _ in range(TIMES):
            suggest = functools.partial(
                Asking(analysis, 0.0).suggest, n=1, sigma=SE, block="b00003" if block else None, now=0.0,
                lease=1.0, by=None,
            )  # fmt: skip
            taken.append(seconds(suggest))
        where = f", in blocks of {block}" if block else ""
        detail = f"{model}, {n:,} options, {told:,} measurements{where}"
        made.append(
            Row("ask beside the certificate", 1e3 * statistics.median(taken), "ms", most, False, detail)
        )
    return made
