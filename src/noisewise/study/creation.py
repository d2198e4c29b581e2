"""Making and opening studies, and re-checking a certificate from a log."""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from noisewise.core.text import check_text
from noisewise.core.version import __version__
from noisewise.study.certificates.bound import certify
from noisewise.study.certificates.certificate import Certificate, claimed_in, other_words, wrong_fact
from noisewise.study.log.events import first_row
from noisewise.study.log.looks import check_blind
from noisewise.study.log.model_choice import facts_of
from noisewise.study.log.specification import (
    ANY_TIME,
    BLIND,
    BUDGET_POLICY,
    DEFAULT_POLICY,
    NORMAL,
    ONCE,
    Specification,
    check_question,
)
from noisewise.study.log.state import State, replay
from noisewise.study.models.analysis import Analysis
from noisewise.study.stores.address import MEMORY, PATIENCE, find_study, open_store
from noisewise.study.stores.protocol import Storage, check_name
from noisewise.study.study import Study
from noisewise.study.telling.scale import LINEAR

if TYPE_CHECKING:
    from noisewise.study.telling.catalogue import OptionCatalogue
    from noisewise.study.telling.understanding import HowToRead, Understood


def create_study(
    store: str | Path | Storage = MEMORY,
    *,
    options: Any = None,
    results: Any = None,
    name: str = "study",
    id: str | None = None,
    features: Sequence[str] | None = None,
    cost: str | None = None,
    model: str = "independent",
    goal: str = "max",
    eps: float | str | None = None,
    confidence: float = 0.95,
    span: float | str | None = None,
    deviation: float | str | None = None,
    extra_scatter: float | str | None = None,
    budget: int | None = None,
    looks: str = ANY_TIME,
    bounds: tuple[float, float] | None = None,
    scatter: str | None = None,
    noise: str = NORMAL,
    items: Iterable[Any] | int | None = None,
    unit: str | None = None,
    scale: str = LINEAR,
    policy: str | None = None,
    policy_options: dict[str, Any] | None = None,
    noise_floor: float | str | None = None,
    lease: float | None = None,
    seed: int | None = None,
    clock: Callable[[], float] = time.time,
    token: "str | Path | None" = None,
    **reading: "Unpack[HowToRead]",
) -> Study:
    """Begin a study: which of these options is the best?

    Args:
        store: Where it is kept: a file, which is made if need be, ``"postgresql://..."``, ``":memory:"``, a
            storage of your own, or the address of a server, ``"https://host/prefix"``.
        options: A file (csv, tsv, txt, xlsx, parquet, arrow), a data frame, or a plain list of names.
            Default: the options that `results` are about.
        results: A table of measurements to begin with, as `Study.tell_many` takes it. If one of its rows is
            bad, no study is made. Features and costs are taken from it as well unless there are `options`;
            they must be the same in all rows of an option.
        name: The study's name in its store.
        id: The column with the options' names.
        features: The columns the linear models use; default: all others. Text becomes categories. The
            independent model keeps those that are named, for `Study.switch`.
        cost: The column with what measuring an option costs.
        model: ``"independent"``: every option on its own, always right. ``"linear"``: an option's value is a
            weighted sum of its features, so that measuring one teaches about all.
            ``"linear+deviation"``: that sum plus a deviation of the option's own.
        goal: ``"max"`` or ``"min"``.
        eps: How far from the best is good enough, in the unit of your values.
        confidence: Of the certificate.
        span: A number, in the unit of your values, by which no two options differ more. Plans need it
            that look ahead before two options were measured.
        deviation: How far options typically deviate from the weighted sum (a standard deviation, in the unit
            of your values), or ``"estimate"``, the default of that model.
        extra_scatter: What every error bar lacks (a standard deviation that is added in squares), or
            ``"estimate"``.
        budget: How many measurements there will be, if that is fixed beforehand. Nothing is refused when it
            is spent.
        looks: ``"any time"``: the certificate holds however often it is looked at, and whenever measuring
            ends. ``"once"``, for finished tables: bounds are smaller, and hold for one look only, at
            measurements that nobody chose or ended by looking at values.
        bounds: The least and the largest that a single reading can be, if there are such: 1 and 5 for
            ratings, say. Values without an error bar are then readings between them, nothing else is
            assumed about how they scatter, and each of ``values=[...]`` is kept.
        scatter: Of readings without bounds. ``"own"``: every option's readings have an unknown scatter of
            their own (independent options, without blocks and differences). ``"pooled"``: readings of all
            options, or of one instrument, scatter alike. Default: ``"own"`` if readings that name
            neither instrument nor block are told first: by the first call, or in the first table.
        noise: Of measurements with error bars. ``"normal"``: tails no heavier than normal ones.
            ``"heavy"``: any tails, as long as error bars are true standard errors; then a measurement that
            is far off moves neither estimates nor bounds much (independent options, without blocks and
            differences). ``"symmetric"``: options are measured in rounds, told as items, and ratios (or
            differences) of a round lie as easily above as below the true one, however far: see the page on
            timings.
        items: The questions, inputs or seeds that every option is measured on: a list of names, or n for
            "1" to "n". All options are told them in one random order, `ask` says which come next, and the
            certificate is about the mean over all of them. Items may be told without such a list: then
            they have no end, and must come in random order.
        unit: Of your values, such as "ms" or "%", for sentences, tables and charts; default: as the header
            of `results` says.
        scale: ``"log"`` where ratios matter (times, costs, throughputs): values, which must be above 0,
            enter as logarithms, estimates are geometric means, and the bound is in per cent. Then `eps` is a
            part of the best value, ``"2%"`` or 0.02: at most 2 % above the best (goal "max": below). `span`
            is a factor, 3 or ``"3x"``; `deviation`, `extra_scatter` and `noise_floor` are parts of a value.
        policy: Who asks; default: ``"race"``, which lowers the certificate's bound; with a budget ``"vage"``,
            which aims at the smallest regret at the end. Or any other name of `noisewise.rules.POLICIES`.
        policy_options: Its options.
        noise_floor: Standard errors below it are raised to it: your instrument's resolution.
        lease: Seconds for which a suggestion is reserved; default: one week.
        seed: Of the order of `items` and the policy's random choices; the same seed makes the same study.
            Default: with a pool of items a random one, which the study keeps; else 0. Anyone
            who knows the seed of a pool can fit an option to the items that come first.
        clock: Where the time comes from.
        token: For a server, as in `load_study`.
        reading: How to read the tables: ``map=``, ``ignore=``, ``decimal=``, ``allow_missing_se=``; see
            `Study.tell_many`.

    Example:
        >>> study = create_study(options=["A", "B", "C"], eps=0.5)
        >>> for option, value in (("A", 1.0), ("B", 3.0), ("C", 2.0)):
        ...     _ = study.tell(option=option, value=value, se=0.05)
        >>> study.certificate().option
        'B'
    """
    # What only a new study needs, all rules among it, is loaded here.
    from noisewise.study.asking.ask import rehearse_asking
    from noisewise.study.asking.policy import pinned_policy

    _check_reading(reading, token)
    question = check_question(
        model=model, goal=goal, eps=eps, confidence=confidence, span=span, noise_floor=noise_floor,
        lease=lease, seed=seed, deviation=deviation, extra_scatter=extra_scatter,
        budget=budget, looks=looks, bounds=bounds, scatter=scatter, noise=noise, items=items, unit=unit,
        scale=scale,
    )  # fmt: skip
    usual = BLIND[0] if question["looks"] == ONCE else DEFAULT_POLICY if budget is None else BUDGET_POLICY
    policy = usual if policy is None else check_blind(policy, question["looks"])
    catalogue, understood = _tables(model, options, results, id, features, cost, reading)
    if question["bounds"] is None and understood is not None:
        question["bounds"] = understood.bounds
    question["unit"] = question["unit"] or (understood and understood.units.get("value"))
    specification = Specification(
        name=check_text("name", check_name(name)),
        catalogue=catalogue,
        policy=pinned_policy(
            policy, policy_options or {}, delta=1.0 - question["confidence"], seed=question["seed"]
        ),
        version=__version__,
        **question,
    )
    rehearse_asking(State(specification))
    return _told(store, specification, clock, understood)


def _told(
    store: str | Path | Storage,
    specification: Specification,
    clock: Callable[[], float],
    understood: "Understood | None",
) -> Study:
    """A new study, with its first measurements if there are any; if one of them is bad, there is no study."""
    from noisewise.study.telling.options import check_eps

    def made(place: str | Path | Storage) -> Study:
        storage = open_store(place, create=True)
        storage.create(specification.name, [first_row(specification.to_plain())])
        return Study(storage, specification.name, clock)

    if understood is None:
        return made(store)
    check_eps(understood, specification)
    draft = made(MEMORY)
    draft.tell_many(understood, match=True)
    storage = open_store(store, create=True)
    storage.create(specification.name, draft._storage.read(draft.name))
    return Study(storage, specification.name, clock)


def _check_reading(reading: "HowToRead", token: Any) -> None:
    """Refuse arguments that `create_study` does not have, or not here."""
    if token is not None:
        raise ValueError("`token` goes with the address of a server, such as https://host/prefix.")
    if reading:
        from noisewise.study.telling.understanding import check_reading

        check_reading(reading, "create_study")


def _tables(
    model: str,
    options: Any,
    results: Any,
    id: str | None,
    features: Sequence[str] | None,
    cost: str | None,
    reading: "HowToRead",
) -> "tuple[OptionCatalogue, Understood | None]":
    """The catalogue of a new study, and its first measurements if there are any."""
    from noisewise.study.telling.options import read_catalogue

    uses_features = facts_of(model).uses_features
    understood = None if results is None else _understood(results, id, features, cost, reading)
    if options is None:
        options, id = _options_of(understood, features, cost, uses_features)
    catalogue = read_catalogue(
        options, id=id, features=features, cost=cost, needs_features=uses_features,
        decimal=reading.get("decimal"),
    )  # fmt: skip
    return catalogue, understood


def _understood(
    results: Any, id: str | None, features: Sequence[str] | None, cost: str | None, reading: "HowToRead"
) -> "Understood":
    from noisewise.study.readers.readout import Readout
    from noisewise.study.telling.understanding import Understood, understand

    if isinstance(results, Understood | Readout):
        return understand(results)
    described = [*([features] if isinstance(features, str) else features or ()), *([cost] if cost else [])]
    if id is not None:
        reading = reading.copy()
        reading["map"] = {**(reading.get("map") or {}), "option": id}
    return understand(results, what="results", others=described, **reading)


def _options_of(
    understood: "Understood | None", features: Sequence[str] | None, cost: str | None,
    needs_features: bool,
) -> tuple[Any, str]:  # fmt: skip
    """The options that results are about, as a table, and the column with their names."""
    from noisewise.study.telling.options import options_of

    if understood is None:
        raise TypeError("`options` must be given, or `results` whose options are meant.")
    if needs_features and not features:
        raise ValueError(
            "`features` must name the columns of the results that describe options, for a linear model. "
            'Without features use model="independent".'
        )
    table = options_of(understood, features, cost)
    return table, table.frame.columns[0]


def load_study(
    store: str | Path | Storage,
    name: str | None = None,
    *,
    read_only: bool = False,
    timeout: float = PATIENCE,
    clock: Callable[[], float] = time.time,
) -> Study:
    """Open a study that is in a store.

    Args:
        store: A file, ``"postgresql://..."``, or a storage of your own.
        name: The study; default: the only one there is.
        read_only: Only look; asking and telling are refused.
        timeout: Seconds to wait for other writers.
        clock: Where the time comes from.
    """
    storage, found = find_study(store, name, read_only=read_only, timeout=timeout)
    return Study(storage, found, clock)


def verify_certificate(certificate: str | Path | Certificate, study: Study) -> Certificate:
    """Recompute a certificate from the specification and the log alone; refuse it if a fact differs.

    What counts are the facts. If only the text differs from what follows from them (another version may word
    it differently, or somebody changed it), that is a warning: use the text of the certificate returned here.

    Args:
        certificate: The certificate, its JSON, or a file with it.
        study: The study whose log is read, up to the event the certificate was made after.
    """
    compared = compare_certificate(certificate, study)
    if compared.words:
        warnings.warn(compared.about_words, stacklevel=2)
    return compared.certificate


class Compared(NamedTuple):
    """A certificate whose facts agree with the log."""

    certificate: Certificate  # recomputed
    words: tuple[str, ...]  # fields whose text is not what follows from the facts
    n_events: int  # of the log

    @property
    def about_words(self) -> str:
        """A sentence about text that differs; empty if none does."""
        if not self.words:
            return ""
        return (
            f"the facts of the certificate agree with the log, but its text does not say what follows from "
            f"them ({', '.join(self.words)}). What follows is: {self.certificate.sentence}"
        )

    @property
    def about_time(self) -> str:
        """Since when the log has grown; empty if it has not."""
        later = self.n_events - self.certificate.n_events
        return f" as of event {self.certificate.n_events} of {self.n_events}" if later else ""


def compare_certificate(certificate: str | Path | Certificate, study: Study) -> Compared:
    """Recompute a certificate from the log; refuse it if a fact differs, and name text that does."""
    text = certificate.to_json() if isinstance(certificate, Certificate) else certificate
    if isinstance(text, Path):
        text = text.read_text(encoding="utf-8")
    claimed = claimed_in(text)
    count, length = claimed["n_events"], study.n_events
    if length < count:
        raise ValueError(f"the certificate was made after {count} events; the log has {length}.")
    events = study.events(until=count)
    head = study.head_at(count)
    if claimed.get("head", head) != head:
        raise ValueError(
            f"the certificate was made from another log: event {count} has the hash {head}; the "
            f"certificate says {claimed['head']!r}."
        )
    found = replace(certify(Analysis(replay(study.specification, events))), head=head)
    if (wrong := wrong_fact(claimed, found)) is not None:
        raise ValueError(wrong)
    return Compared(found, other_words(claimed, found), length)
