"""Making and opening studies, and re-checking a certificate from a log."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from noisewise.core.text import check_text
from noisewise.core.version import __version__
from noisewise.study.certificates.bound import certify
from noisewise.study.certificates.certificate import Certificate, claimed_in, other_words, wrong_fact
from noisewise.study.certificates.good_enough import find_good_enough
from noisewise.study.log.events import first_row
from noisewise.study.log.looks import check_blind
from noisewise.study.log.model_choice import check_room, facts_of
from noisewise.study.log.specification import (
    BLIND,
    BUDGET_POLICY,
    DEFAULT_POLICY,
    ONCE,
    Specification,
    check_question,
)
from noisewise.study.log.state import State, replay
from noisewise.study.measure import Errors, Measure, read_errors, read_measure, read_model, read_policy
from noisewise.study.models.analysis import Analysis
from noisewise.study.stores.address import MEMORY, PATIENCE, find_study, open_store
from noisewise.study.stores.protocol import Storage, check_name
from noisewise.study.study import Study
from noisewise.study.telling.scale import LINEAR

if TYPE_CHECKING:
    from noisewise.study.telling.catalogue import OptionCatalogue
    from noisewise.study.telling.understanding import HowToBegin, Understood


def create_study(
    store: str | Path | Storage = MEMORY,
    *,
    name: str = "study",
    options: Any = None,
    results: Any = None,
    roles: Mapping[str, Any] | None = None,
    features: Sequence[str] | None = None,
    model: str | None = None,
    measure: Measure | None = None,
    errors: Errors | Mapping[str, Any] | str | None = None,
    scale: str = LINEAR,
    unit: str | None = None,
    goal: str = "max",
    eps: float | str | None = None,
    confidence: float = 0.95,
    budget: int | None = None,
    policy: str | tuple[str, Mapping[str, Any]] | None = None,
    final: bool = False,
    seed: int | None = None,
    **reading: "Unpack[HowToBegin]",
) -> Study:
    """Begin a study: which of these options is the best?

    Args:
        store: Where it is kept: a file, which is made if need be, ``"postgresql://..."``, ``":memory:"``, a
            storage of your own, or the address of a server, ``"https://host/prefix"``.
        name: The study's name in its store.
        options: A file (csv, tsv, txt, xlsx, parquet), a data frame, or a plain list of names.
            Default: the options that `results` are about.
        results: A table of measurements to begin with, as `Study.tell_many` takes it. If one of its rows is
            bad, no study is made. Features and costs are taken from it as well unless there are `options`;
            they must be the same in all rows of an option.
        roles: Columns of the tables by their role, where they are not called so: ``{"option": "alloy",
            "cost": "price", "value": "HV"}``. ``cost`` is what measuring an option costs.
        features: Columns for the linear models; default there: all others. Text becomes categories. An
            independent model keeps those that are named, for `Study.switch`.
        model: ``"independent"``: every option on its own, always right; the default without `features`.
            ``"linear"``: an option's value is a weighted sum of its features, so that measuring one teaches
            about all; the default with `features`. ``"linear+deviation"``: that sum plus a deviation of the
            option's own, whose typical size is estimated, or stated: ``"linear+deviation:0.3"``.
            ``"smooth"``: deviations that are alike where features are, for response surfaces; a certificate
            is then approximate, as it rests on how far "alike" reaches, which is estimated.
        measure: What a measurement is: ``"error bars"``, ``"counts"``, ``"readings"``, ``"rounds"`` (all
            options are measured in rounds, and compared within them), ``nw.Ratings(1, 5)`` (readings within
            bounds), or ``nw.Items(pool)`` (every option is measured on the same questions, inputs or seeds,
            in one random order). Default: whatever is recorded first.
        errors: How errors behave, ``nw.Errors(...)``: heavy tails, a floor, extra scatter, scatter of
            readings. Default: normal errors, as large as error bars say.
        scale: ``"log"`` where ratios matter (times, costs, throughputs): values, which must be above 0,
            enter as logarithms, estimates are geometric means, and the bound is in per cent. Then `eps` is a
            part of the best value, ``"2%"`` or 0.02; extra scatter, floor and deviation are parts of a value.
        unit: Unit of the values, such as "ms" or "%"; default: as the header of `results` says.
        goal: ``"max"`` or ``"min"``.
        eps: How far from the best is good enough, in the unit of the values. Only a finished table needs
            none.
        confidence: Confidence of the certificate.
        budget: How many measurements there will be, if that is fixed beforehand. Nothing is refused when it
            is spent.
        policy: Who asks; default: ``"race"``, which lowers the certificate's bound; with a budget ``"vage"``,
            which aims at the smallest regret at the end. Or any other rule, with its options if need be:
            ``"vaee"``, ``"varcb:horizon=50"``, ``("varcb", {"horizon": 50})``.
        final: Whether this table is all there will be: bounds are smaller, and hold for one look only, at
            measurements that nobody chose or ended by looking at values.
        seed: Seed of the order of items and of the policy's random choices. Default: with a pool of items a
            random one, which the study keeps; else 0. Anyone who knows the seed of a pool can fit an option
            to the items that come first.
        reading: How to read the tables: ``ignore=``, ``decimal=``, ``allow_missing_se=``; see
            `Study.tell_many`.

    Example:
        >>> study = create_study(options=["A", "B", "C"], eps=0.5)
        >>> for option, value in (("A", 1.0), ("B", 3.0), ("C", 2.0)):
        ...     _ = study.tell(option=option, value=value, se=0.05)
        >>> study.certificate().option
        'B'
    """
    asked = {
        "options": options, "results": results, "roles": roles, "features": features, "model": model,
        "measure": measure, "errors": errors, "scale": scale, "unit": unit, "goal": goal, "eps": eps,
        "confidence": confidence, "budget": budget, "policy": policy, "final": final, "seed": seed, **reading,
    }  # fmt: skip
    return begin_study(store, name, time.time, **asked)


def begin_study(
    store: str | Path | Storage,
    name: str,
    clock: Callable[[], float],
    *,
    options: Any = None,
    results: Any = None,
    roles: Mapping[str, Any] | None = None,
    features: Sequence[str] | None = None,
    model: str | None = None,
    measure: Any = None,
    errors: Any = None,
    budget: int | None = None,
    policy: Any = None,
    **asked: Any,
) -> Study:
    """Begin a study whose time comes from a clock; the other arguments are those of `create_study`."""
    # What only a new study needs, all rules among it, is loaded here.
    from noisewise.study.asking.ask import rehearse_asking
    from noisewise.study.asking.policy import pinned_policy

    reading = {part: given for part, given in asked.items() if part not in QUESTION}
    question = {**QUESTION, **{part: given for part, given in asked.items() if part in QUESTION}}
    if reading:
        from noisewise.study.telling.understanding import check_reading

        check_reading(reading, "create_study")
    chosen, deviation = read_model(model)
    chosen = chosen or ("linear" if features else "independent")
    behave = read_errors(errors)
    question = check_question(
        **question, **read_measure(measure, behave), model=chosen, deviation=deviation, budget=budget,
        extra_scatter=behave.extra, noise_floor=behave.floor, scatter=behave.scatter,
    )  # fmt: skip
    usual = BLIND[0] if question["looks"] == ONCE else DEFAULT_POLICY if budget is None else BUDGET_POLICY
    rule, settings = read_policy(policy)
    rule = usual if rule is None else check_blind(rule, question["looks"])
    catalogue, understood = _tables(chosen, options, results, dict(roles or {}), features, reading)
    if question["bounds"] is None and understood is not None:
        question["bounds"] = understood.bounds
    question["unit"] = question["unit"] or (understood and understood.units.get("value"))
    specification = Specification(
        name=check_text("name", check_name(name)),
        catalogue=catalogue,
        policy=pinned_policy(rule, settings, delta=1.0 - question["confidence"], seed=question["seed"]),
        version=__version__,
        **question,
    )
    rehearse_asking(State(specification))
    return _told(store, specification, clock, understood)


#: What `check_question` takes as it is given, with defaults.
QUESTION: dict[str, Any] = {
    "scale": LINEAR, "unit": None, "goal": "max", "eps": None, "confidence": 0.95, "final": False,
    "seed": None,
}  # fmt: skip


def _told(
    store: str | Path | Storage,
    specification: Specification,
    clock: Callable[[], float],
    understood: "Understood | None",
) -> Study:
    """Make a study with its first measurements, if there are any; if one of them is bad, no study is made."""
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
    storage.create(specification.name, draft._log.storage.read(draft.name))
    return Study(storage, specification.name, clock)


def _tables(
    model: str, options: Any, results: Any, roles: dict[str, Any], features: Sequence[str] | None,
    reading: dict[str, Any],
) -> "tuple[OptionCatalogue, Understood | None]":  # fmt: skip
    """The catalogue of a new study, and its first measurements if there are any."""
    from noisewise.study.tables.sheet import is_plain_list
    from noisewise.study.telling.options import read_catalogue

    uses_features = facts_of(model).uses_features
    id, cost = roles.get("option"), roles.pop("cost", None)
    if results is None and (other := next((role for role in roles if role != "option"), None)) is not None:
        raise ValueError(f"`roles` may name option and cost where there are no results; got {other!r}.")
    if options is not None and results is not None and is_plain_list(options):
        id = None  # the role is about the results
    understood = None if results is None else _understood(results, features, cost, roles, reading)
    if options is None:
        options, id = _options_of(understood, features, cost, uses_features)
    catalogue = read_catalogue(
        options, id=id, features=features, cost=cost, needs_features=uses_features,
        decimal=reading.get("decimal"),
    )  # fmt: skip
    check_room(facts_of(model), len(catalogue.ids))
    return catalogue, understood


def _understood(
    results: Any, features: Sequence[str] | None, cost: str | None, roles: dict[str, Any],
    reading: dict[str, Any],
) -> "Understood":  # fmt: skip
    from noisewise.study.readers.readout import Readout
    from noisewise.study.telling.understanding import Understood, understand

    if isinstance(results, Understood | Readout):
        return understand(results)
    described = [*([features] if isinstance(features, str) else features or ()), *([cost] if cost else [])]
    return understand(results, what="results", others=described, roles=roles or None, **reading)


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
            'Without features use `model="independent"`.'
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
    it differently, or it was edited), that is a warning: use the text of the certificate returned here.

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
    now = Analysis(replay(study.specification, events))
    found = replace(certify(now), head=head)
    if claimed.get("good_enough") is not None and found.eps is not None:
        found = replace(found, good_enough=find_good_enough(now, found))
    if (wrong := wrong_fact(claimed, found)) is not None:
        raise ValueError(wrong)
    return Compared(found, other_words(claimed, found), length)
