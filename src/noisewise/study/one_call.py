"""A whole study in one call: which of these options is the best, by a function that measures one."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from noisewise.core.checks import nearest
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.creation import create_study
from noisewise.study.log.jobs import Job
from noisewise.study.stores.address import MEMORY

#: Arguments of `create_study` that a study in memory, made for one call, has no use for.
_WITHOUT = ("store", "name", "results")


def pick(
    options: Any,
    measure: Callable[..., Any],
    *,
    eps: float | str,
    confidence: float = 0.95,
    goal: str = "max",
    budget: Any = None,
    workers: int = 1,
    timeout: float | None = None,
    retries: int = 0,
    on_error: str = "raise",
    on: Any = None,
    progress: bool = True,
    **study: Any,
) -> Certificate:
    """Find the best option: ask, measure and record in memory until the certificate says you may stop.

    To keep what was measured, to go on another day, or to look at more than the certificate, make a study
    with `create_study` and call its `run`.

    Args:
        options: Names; a mapping from names to features, each a mapping of numbers or texts; or a table as
            `create_study` takes it.
        measure: A function of an option's name that measures it once, and returns a number, ``(value, se)``,
            or a mapping with the arguments of `Study.tell`. With ``measure=nw.Items(...)`` it is called
            with the name and
            the list of items, and returns their values by item. It may be ``async``.
        eps: How far from the best is good enough, in the unit of your values.
        confidence: Of the certificate.
        goal: ``"max"`` or ``"min"``.
        budget: What may be spent: a number of measurements, a time such as ``"2h"``, or as `Study.run` takes
            it. When it is spent first, the certificate says what is known by then.
        workers: How many measurements at a time.
        timeout: Seconds that a measurement may take.
        retries: How often a measurement that failed is tried again.
        on_error: What happens then: ``"raise"``, ``"fail"`` (it may be asked for again) or ``"exclude"``
            (its option is out).
        on: ``"threads"``, ``"processes"``, an executor, or a Dask cluster.
        progress: Whether a terminal shows a line with bound, leader and rate.
        study: Whatever else `create_study` takes: ``model=``, ``measure=``, ``errors=``, ...

    Example:
        >>> pick(["A", "B"], lambda name: ({"A": 1.0, "B": 3.0}[name], 0.1), eps=0.5).option
        'B'
    """
    if not callable(measure):
        raise TypeError(
            f"`measure` must be a function of an option's name that returns a number or (value, se); got "
            f"{measure!r}."
        )
    _check_study(study)
    table, ways = _table(options, study)
    made = create_study(MEMORY, options=table, eps=eps, confidence=confidence, goal=goal, **(ways | study))
    run = made.run(
        by_name(measure, with_items=made.specification.items is not None), workers=workers, budget=budget,
        timeout=timeout, retries=retries, on_error=on_error,
        on=on, progress=progress,
    )  # fmt: skip
    return run.certificate


class ByName:
    """A function of a job that calls one of an option's name; it can be sent to another process."""

    def __init__(self, measure: Callable[..., Any], with_items: bool) -> None:
        self._measure, self._with_items = measure, with_items

    def __call__(self, job: Job) -> Any:
        """Measure the option of a job."""
        return self._measure(job.option, list(job.items)) if self._with_items else self._measure(job.option)


class ByNameAsync(ByName):
    """`ByName` for a function that is awaited."""

    async def __call__(self, job: Job) -> Any:
        """Measure the option of a job."""
        return await super().__call__(job)


def by_name(measure: Callable[..., Any], *, with_items: bool) -> ByName:
    """A measuring function of names as one of jobs."""
    own = inspect.iscoroutinefunction(measure) or inspect.iscoroutinefunction(type(measure).__call__)
    return (ByNameAsync if own else ByName)(measure, with_items)


def _check_study(study: dict[str, Any]) -> None:
    known = [name for name in inspect.signature(create_study).parameters if name != "reading"]
    known += ["ignore", "decimal"]
    for name in study:
        if name in _WITHOUT:
            raise TypeError(
                f"`pick` keeps its study in memory and takes no `{name}`; `create_study` and `Study.run` do."
            )
        if name not in known:
            raise TypeError(
                f"`pick` has no argument `{name}`, and neither has `create_study`.{nearest(name, known)}"
            )


def _table(options: Any, study: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Options as `create_study` takes them, and what it has to know about such a table."""
    if not isinstance(options, Mapping) or not options or not _by_name(options):
        return options, {}
    names, rows = list(options), [dict(row) for row in options.values()]
    columns = list(rows[0])
    for name, row in zip(names, rows, strict=True):
        if set(row) != set(columns):
            raise ValueError(
                f"`options` must say the same of every option: {names[0]!r} has {', '.join(columns)}, and "
                f"{name!r} has {', '.join(row) or 'nothing'}."
            )
    id = (study.get("roles") or {}).get("option", "option")
    if id in columns:
        raise ValueError(f"`options` must not have a feature called {id!r}: that is the column of names.")
    return {id: names, **{column: [row[column] for row in rows] for column in columns}}, {
        "roles": {"option": id}
    }


def _by_name(options: Mapping[Any, Any]) -> bool:
    """Whether a mapping describes each option, and is not a table of columns."""
    rows = list(options.values())
    if all(isinstance(row, Mapping) and row for row in rows):
        return True
    if all(isinstance(row, Sequence) and not isinstance(row, str) for row in rows):
        return False  # a table: columns by name
    raise TypeError(
        '`options` must be names, a table, or a mapping such as {"A": {"width": 2}, "B": {"width": 3}}; '
        f"got a mapping to {type(rows[0]).__name__}."
    )
