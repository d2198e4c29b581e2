"""Making and opening studies, and re-checking a certificate from a log."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from noisewise.core.version import __version__
from noisewise.study.analysis import Analysis
from noisewise.study.catalogue import read_catalogue
from noisewise.study.certificate import Certificate
from noisewise.study.certifying import certify
from noisewise.study.choosing import Chooser, complete_options
from noisewise.study.specification import DEFAULT_POLICY, PolicyChoice, Specification, check_question
from noisewise.study.state import State, replay
from noisewise.study.storage import MemoryStorage, Storage
from noisewise.study.study import Study

MEMORY = ":memory:"


def create_study(
    store: str | Storage = MEMORY,
    *,
    options: Any,
    name: str = "study",
    id: str | None = None,
    features: Sequence[str] | None = None,
    cost: str | None = None,
    model: str = "independent",
    goal: str = "max",
    eps: float | None = None,
    confidence: float = 0.95,
    span: float | None = None,
    policy: str = DEFAULT_POLICY,
    policy_options: dict[str, Any] | None = None,
    noise_floor: float | None = None,
    lease: float | None = None,
    seed: int = 0,
    clock: Callable[[], float] = time.time,
) -> Study:
    """Begin a study: which of these options is the best?

    Args:
        store: ``":memory:"``, or a storage of your own.
        options: A file (csv, tsv, parquet, arrow), a data frame, or a plain list of names.
        name: The study's name in its store.
        id: The column with the options' names.
        features: The columns the linear model uses; default: all others. Text becomes categories.
        cost: The column with what measuring an option costs.
        model: ``"independent"``: every option on its own, always right. ``"linear"``: an option's value is a
            weighted sum of its features, so that measuring one teaches about all.
        goal: ``"max"`` or ``"min"``.
        eps: How far from the best is good enough, in the unit of your values.
        confidence: Of the certificate.
        span: A number, in the unit of your values, by which no two options differ more; the linear model
            needs it.
        policy: Who asks; any name of `noisewise.POLICIES`.
        policy_options: Its options.
        noise_floor: Standard errors below it are raised to it: your instrument's resolution.
        lease: Seconds for which a suggestion is reserved; default: one week.
        seed: Of the policy's random choices.
        clock: Where the time comes from.

    Example:
        >>> study = create_study(options=["A", "B", "C"], eps=0.5)
        >>> for option, value in (("A", 1.0), ("B", 3.0), ("C", 2.0)):
        ...     _ = study.tell(option=option, value=value, se=0.05)
        >>> study.certificate().option
        'B'
    """
    question = check_question(
        model=model, goal=goal, eps=eps, confidence=confidence, span=span, noise_floor=noise_floor,
        lease=lease, seed=seed,
    )  # fmt: skip
    catalogue = read_catalogue(options, id=id, features=features, cost=cost, model=model)
    pinned = complete_options(
        policy, policy_options or {}, delta=1.0 - question["confidence"], seed=question["seed"]
    )
    specification = Specification(
        name=str(name),
        catalogue=catalogue,
        policy=PolicyChoice(policy, __version__, pinned),
        version=__version__,
        **question,
    )
    Chooser(Analysis(State(specification)), specification.policy)  # refuses what this model cannot do
    storage = _storage(store)
    storage.create(specification.name, specification.to_plain())
    return Study(storage, specification.name, clock)


def load_study(store: Storage, name: str = "study", *, clock: Callable[[], float] = time.time) -> Study:
    """Open a study that is in a store."""
    return Study(_storage(store), name, clock)


def verify_certificate(certificate: str | Path | Certificate, study: Study) -> Certificate:
    """Recompute a certificate from the specification and the log alone; refuse it if it differs.

    Args:
        certificate: The certificate, its JSON, or a file with it.
        study: The study whose log is read, up to the event the certificate was made after.
    """
    text = certificate.to_json() if isinstance(certificate, Certificate) else certificate
    if isinstance(text, Path):
        text = text.read_text(encoding="utf-8")
    claimed = json.loads(text)
    events = study.events(until=claimed["n_events"])
    found = certify(Analysis(replay(study.specification, events)))
    again = json.loads(found.to_json())
    for name, value in again.items():
        said = claimed.get(name)
        close = (
            isinstance(value, float) and isinstance(said, float) and abs(value - said) <= 1e-9 * abs(value)
        )
        if said != value and not close:
            raise ValueError(f"the certificate says {name}={said!r}; the log says {value!r}.")
    return found


def _storage(store: Any) -> Storage:
    if isinstance(store, str):
        if store != MEMORY:
            raise ValueError(f"`store` must be ':memory:' or a storage; got {store!r}.")
        return MemoryStorage()
    if not all(hasattr(store, method) for method in ("create", "names", "specification", "append", "read")):
        raise TypeError(f"`store` must be ':memory:' or a storage; got {store!r}.")
    kept: Storage = store
    return kept
