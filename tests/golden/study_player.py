"""Play a study that is written in neutral words: the adapter between the records and today's API.

The records never change; when the interface does, this module is what has to be edited. A case is a question
and a list of steps, each a dict. Steps name options and numbers literally, so that what is told never depends
on what was asked for:

- ``ask`` (``n, se, block, probe, items``): jobs are numbered from 1 in the order of asking.
- ``tell`` (``option`` or ``plus`` and ``minus``, ``value``, an error bar, ...). With ``answers``, the number
  of a job, it is told as the answer to that job if the job is about the option; otherwise the job is
  released. Without an option it answers whatever the job is about.
- ``tell_next`` (``option``, ``values``): values of the items that come next for the option.
- ``table`` (``rows``, ``layout``, ``match``, ``unknown``, ``repeat``), ``together`` (``rows``).
- ``void``, ``amend`` (``measurement``), ``exclude``, ``include`` (``option``), ``add``, ``switch``,
  ``policy``, ``release``, ``fail`` (``jobs``), ``wait`` (``seconds``), ``look``.
"""

import re
from typing import Any

import numpy as np
import polars as pl

import noisewise as nw
from noisewise.study.creation import begin_study

#: When a study begins, in seconds since 1970; every step takes a minute.
BEGUN, MINUTE = 1_750_000_000.0, 60.0
#: What is raised when something is refused; anything else is a bug.
REFUSALS = (ValueError, TypeError, KeyError)
#: A chance below this is as good as none.
LEAST_CHANCE = 1e-12
#: How many of the largest residuals a check tells; others may tie with the last.
MOST_WORST = 5

Answer = dict[str, Any]


def play(case: dict[str, Any]) -> Answer:
    """The answer to a case: what its steps had to say, a last look, and what would be asked for next."""
    try:
        player = Player(case["question"])
    except REFUSALS:
        return {"refused": True}
    said = {}
    for number, step in enumerate(case["steps"], start=1):
        if (answer := player.step(step)) is not None:
            said[str(number)] = answer
    return {"steps": said, "end": player.look(check=True), "next": player.next()}


def in_words(asked: dict[str, Any]) -> dict[str, Any]:
    """A question of the records in the words of `create_study`."""
    found = dict(asked)
    found.pop("span", None)  # no model needs it
    bounds, pool, tails = found.pop("range", None), found.pop("pool", None), found.pop("tails", None)
    low, high = (None, None) if bounds is None else bounds
    if tails == "symmetric":
        found["measure"] = nw.Rounds(low, high)
        if pool is not None:
            raise ValueError("rounds have no pool of items")
    elif pool is not None:
        found["measure"] = nw.Items(pool, low, high)
    elif bounds is not None:
        found["measure"] = nw.Ratings(low, high)
    names = {"extra_scatter": "extra", "noise_floor": "floor", "scatter": "scatter"}
    errors = {new: found.pop(old) for old, new in names.items() if old in found}
    errors |= {"tails": tails} if tails not in (None, "symmetric") else {}
    if errors:
        found["errors"] = nw.Errors(**errors)
    if (deviation := found.pop("deviation", None)) is not None:
        found["model"] = f"{found.get('model', 'independent')}:{deviation}"
    found.setdefault("model", "independent")
    if (looks := found.pop("looks", None)) is not None:
        found["final"] = {"once": True, "any time": False}.get(looks, looks)
    return found


class Player:
    """One study, in memory, with a clock of its own."""

    def __init__(self, question: dict[str, Any]) -> None:
        self._now = BEGUN
        asked = dict(question)
        costs, features = asked.pop("costs", None), asked.pop("features", None)
        self._lease = asked.pop("lease", None)
        if costs is not None or features is not None:
            asked["options"] = _catalogue(asked["options"], features, costs)
            asked |= {} if features is None else {"features": list(features)}
            asked["roles"] = {"option": "option"} | ({} if costs is None else {"cost": "cost"})
        asked = in_words(asked)
        if "results" in asked:
            asked["results"] = _table(asked["results"])
        self._has_features, self._has_costs = features is not None, costs is not None
        self.study = begin_study(":memory:", "study", lambda: self._now, **asked)
        self._jobs: list[Any] = []

    def step(self, step: dict[str, Any]) -> Answer | None:
        """What a step had to say, if anything: suggestions, a look, or that it was refused."""
        self._now += MINUTE
        given = dict(step)
        try:
            return getattr(self, f"_{given.pop('do')}")(**given)
        except REFUSALS:
            return {"refused": True}

    def next(self) -> Answer:
        """What would be asked for next; nothing is reserved."""
        try:
            return {"jobs": [_job(job) for job in self.study.ask(2, dry_run=True)]}
        except REFUSALS:
            return {"refused": True}

    def _ask(self, se: Any = None, **asked: Any) -> Answer:
        jobs = self.study.ask(sigma=se, **{"lease": self._lease, **asked})
        self._jobs += jobs
        return {"jobs": [_job(job) for job in jobs]}

    def _tell(self, answers: int | None = None, **told: Any) -> None:
        if answers is None:
            self.study.tell(**told)
            return
        job = self._job(answers)
        about = told.get("plus") or told.get("option"), told.get("minus")
        if about[0] is not None and about != (job.option, job.minus):
            self.study.release(job)
            self.study.tell(**told)
            return
        about_it = ("option", "plus", "minus")
        self.study.tell(job, **{name: given for name, given in told.items() if name not in about_it})

    def _tell_next(self, option: str, values: list[float]) -> None:
        names = self.study.next_items(option, len(values))
        known = len(self.study.frame("items"))
        names += [f"new-{known}-{k}" for k in range(len(values) - len(names))]
        self.study.tell(option=option, items=dict(zip(names, values, strict=True)))

    def _job(self, number: int) -> Any:
        if not 1 <= number <= len(self._jobs):
            raise KeyError(number)
        return self._jobs[number - 1]

    def _table(self, rows: list[dict[str, Any]], **how: Any) -> None:
        if "layout" not in how:
            how["allow_missing_se"] = True
        self.study.tell_many(_table(rows), **how)

    def _together(self, rows: list[dict[str, Any]]) -> None:
        self.study.tell_all(rows)

    def _void(self, measurement: int) -> None:
        self.study.void(f"m-{measurement}", "wrong")

    def _amend(self, measurement: int, **told: Any) -> None:
        self.study.amend(f"m-{measurement}", "corrected", **told)

    def _exclude(self, option: str) -> None:
        self.study.exclude(option, "not available")

    def _include(self, option: str) -> None:
        self.study.include(option)

    def _add(self, options: list[str], features: Any = None, costs: Any = None) -> None:
        described = features is not None or costs is not None
        self.study.add_options(_catalogue(options, features, costs) if described else options)

    def _switch(self, **to: Any) -> None:
        looks = to.pop("looks", None)
        to.pop("span", None)  # no model needs it
        self.study.switch(**to, **({} if looks is None else {"final": looks == "once"}))

    def _policy(self, name: str, **options: Any) -> None:
        self.study.set_policy(name, **options)

    def _release(self, jobs: list[int]) -> None:
        self.study.release([self._job(number) for number in jobs])

    def _fail(self, jobs: list[int]) -> None:
        self.study.fail([self._job(number) for number in jobs], "broken")

    def _wait(self, seconds: float) -> None:
        self._now += seconds

    def _look(self) -> Answer:
        return self.look()

    def look(self, check: bool = False) -> Answer:
        """Where the study stands; with the whole check, which takes as long as all the rest."""
        study = self.study
        certificate = study.certificate()
        options = study.frame("options")
        shown = [
            name for name in options.columns if name not in ("option", "recommended", "cost", "good_enough")
        ]
        answer = {
            "certificate": _certificate(certificate),
            "options": {name: options[name].to_list() for name in shown}
            | {"excluded": [reason is not None for reason in options["excluded"]]},
            "model": study.model,
            "policy": study.policy,
            "deviation": study.deviation,
            "extra_scatter": study.extra_scatter,
            "pending": len(study.pending),
            "budget_left": study.budget_left,
        }
        if certificate.may_show_bounds:
            boundary = study.analysis().boundary
            at = study.options.index(certificate.option)
            answer["half_widths"] = {
                "better": _floats(boundary.half_widths(at)),
                "worse": _floats(boundary.lead_widths(at)),
            }
        return answer | ({"check": _check(study.check())} if check else {})


def _floats(widths: Any) -> list[float]:
    return [float(width) for width in np.asarray(widths)]


def _catalogue(options: list[str], features: Any, costs: Any) -> pl.DataFrame:
    columns = {"option": options, **(features or {}), **({} if costs is None else {"cost": costs})}
    return pl.DataFrame(columns)


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows as a table: intervals in two columns, readings separated by semicolons."""
    flat = []
    for row in rows:
        row = dict(row)
        if "ci" in row:
            row["lo"], row["hi"] = row.pop("ci")
        if "values" in row:
            row["values"] = "; ".join(map(repr, row["values"]))
        flat.append(row)
    return pl.DataFrame(flat, infer_schema_length=None)


def _job(job: Any) -> Answer:
    """A suggestion, without its words."""
    said = {"option": job.option, "minus": job.minus, "block": job.block, "together": job.together}
    said |= {"items": list(job.items), "fresh": job.fresh, "fresh_from": job.fresh_from}
    return {name: value for name, value in said.items() if value or name == "option"}


def _certificate(found: Any) -> Answer:
    return {
        "option": found.option,
        "bound": found.bound,
        "verdict": found.verdict,
        "candidates": list(found.candidates),
        "estimate": found.estimate,
        "largest_estimate": found.largest_estimate,
        "rank": found.rank,
        "n_compared": found.n_compared,
        "spread": found.spread,
        "n_options": found.n_options,
        "n_measurements": found.n_measurements,
        "withheld": len(found.withheld),
        "approximate": len(found.approximate),
        "looks": found.looks,
    }


def _check(found: Any) -> Answer:
    """The facts of a check, without its sentences."""
    fits = found.freedom > 0
    return {
        "ok": found.ok,
        "problems": len(found.problems),
        "freedom": found.freedom,
        "chi_square": found.reduced if fits else None,
        "chance": _chance(found.p_value) if fits else None,
        "expected": list(found.expected) if fits else None,
        "worst": _worst(found.worst),
        "causes": [_cause(cause.as_dict()) for cause in found.causes],
        "advice": dict(found.advice),
        "left_out": [
            {"what": row["what"], "name": _name(row), "chi_square": row["reduced_chi_square"]}
            for row in getattr(found, "left_out", ())
        ],
        "compared": found.compared,
        "without_error_bar": found.unbarred,
        "far_off": None if found.far_off is None else [found.far_off.many, found.far_off.of],
    }


def _worst(rows: Any) -> list[Answer]:
    """The largest residuals, ties sorted by name; those that tie with the last are left out."""
    size = {(row["what"], row["name"]): float(f"{abs(row['residual']):.6g}") for row in rows}
    least = min(size.values()) if len(rows) == MOST_WORST else 0.0
    told = [row for row in rows if size[row["what"], row["name"]] > least]
    told.sort(key=lambda row: (-size[row["what"], row["name"]], _name(row)))
    return [{"what": row["what"], "name": _name(row), "residual": row["residual"]} for row in told]


def _cause(cause: dict[str, Any]) -> Answer:
    fit = cause["fit"]
    return {
        "cause": cause["cause"],
        "rows": [row["measurement"] for row in cause["rows"]],
        "remedy": cause["remedy"],
        "fit": None if fit is None else [fit["reduced_chi_square"], fit["freedom"], _chance(fit["p_value"])],
    }


def _chance(chance: float) -> float:
    return max(chance, LEAST_CHANCE)


def _name(row: dict[str, Any]) -> str:
    """The name of an option or a block, or the number of a measurement."""
    if row["what"] != "measurement":
        return str(row["name"])
    found = re.match(r"m-\d+", row["name"])
    return found[0] if found else str(row["name"])
