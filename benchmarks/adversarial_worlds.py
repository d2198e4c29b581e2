"""Worlds in which somebody who knows the truth, and chooses what is measured, wants a wrong certificate.

A world makes a `Game`: a study, the true values, and a step that tells it something. Nobody here breaks an
assumption that certificates list, except in the worlds marked so; error bars are true and noise is normal.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import noisewise as nw

Rng = np.random.Generator
EPS = 0.5


class Game(NamedTuple):
    """One study and those who play against it."""

    study: nw.Study
    truth: dict[str, float]  # of the options that are not excluded now
    step: Callable[[nw.Certificate], None]  # tell something, in view of the last certificate
    steps: int = 60
    every: int = 1  # steps between looks


class World(NamedTuple):
    """How a game is made, and what it is about."""

    make: Callable[[Rng, float], Game]
    about: str
    at_stopping: bool = False  # the promise is about the moment of stopping alone
    broken: bool = False  # an assumption is broken: no promise, the study should notice


class Spoiler:
    """Knows the truth, and measures whatever is not yet wrong in the direction that would make a miss.

    A miss needs one rival, the target, to look too good beside the best option. Both are measured until
    their difference errs that way; then what is known least is, so that the study may come to an end. All
    that is looked at are differences between estimates, and error bars.
    """

    def __init__(self, study: nw.Study, truth: dict[str, float], rng: Rng) -> None:
        self.study, self.truth, self.rng = study, truth, rng
        self._order = [str(name) for name in rng.permutation(list(truth))]
        self.se: dict[str, float] = {}
        self._wrong: dict[str, float] = {}

    @property
    def best(self) -> str:
        """The option that is truly best now."""
        return max(self.truth, key=lambda name: self.truth[name])

    @property
    def target(self) -> str:
        """The rival that is to look too good: the same as long as it is there."""
        return next(name for name in self._order if name in self.truth and name != self.best)

    def look(self) -> None:
        """Read the estimates; their errors are taken from the mean error."""
        frame = self.study.frame("options")
        rows = zip(frame["option"], frame["estimate"], frame["se"], frame["measurements"], strict=True)
        known = {name: (est, se) for name, est, se, n in rows if n and est is not None and name in self.truth}
        off = {name: est - self.truth[name] for name, (est, _) in known.items()}
        middle = float(np.mean(list(off.values()))) if off else 0.0
        self._wrong = {name: one - middle for name, one in off.items()}
        self.se = {name: se for name, (_, se) in known.items() if se is not None and np.isfinite(se)}

    @property
    def lucky(self) -> bool:
        """Whether the target looks too good beside the best option."""
        wrong = self._wrong
        return wrong.get(self.target, -np.inf) > wrong.get(self.best, -np.inf)

    def option(self) -> str:
        """What to measure next."""
        self.look()
        unseen = [name for name in self.truth if name not in self._wrong]
        if unseen:
            return str(self.rng.choice(unseen))
        if self.rng.random() < 0.1:
            return str(self.rng.choice(list(self.truth)))
        # The least known: it moves most when luck must be turned, and ends the study soonest when it lasts.
        among = self.truth if self.lucky else (self.target, self.best)
        return max(among, key=lambda name: self.se.get(name, np.inf))

    def error_bar(self, option: str) -> float:
        """Rough as long as luck lasts, fine where it must be turned."""
        before = self.se.get(option, 2.0 * EPS)
        return float(np.clip(before * (2.0 if self.lucky else 1.2), 0.05 * EPS, 10.0 * EPS))


def close(rng: Rng, n: int, eps: float = EPS) -> dict[str, float]:
    """The hardest to certify: rivals just more than eps below the best."""
    values = -eps * rng.uniform(1.0, 1.5, n)
    values[rng.integers(n)] = 0.0
    return {f"o{k}": float(value) for k, value in enumerate(values)}


def spoiled(rng: Rng, n: int, confidence: float) -> tuple[dict[str, float], nw.Study, Spoiler]:
    """Close rivals, a study of them, and an adversary who sees everything."""
    truth = close(rng, n)
    study = nw.create_study(options=list(truth), eps=EPS, confidence=confidence)
    return truth, study, Spoiler(study, truth, rng)


def some_se(rng: Rng) -> float:
    """An error bar within a factor of ten."""
    return float(10.0 ** rng.uniform(-0.9, 0.1))


def adaptive(rng: Rng, confidence: float) -> Game:
    """Error bars chosen in view of everything."""
    truth, study, spoiler = spoiled(rng, 4, confidence)

    def step(_: nw.Certificate) -> None:
        option = spoiler.option()
        se = spoiler.error_bar(option)
        study.tell(option=option, value=truth[option] + se * rng.standard_normal(), se=se)

    return Game(study, truth, step, steps=80)


def favourites(rng: Rng, confidence: float) -> Game:
    """Only what may still be the best is measured."""
    truth = close(rng, 5)
    study = nw.create_study(options=list(truth), eps=EPS, confidence=confidence)

    def step(certificate: nw.Certificate) -> None:
        option, se = str(rng.choice(certificate.candidates or list(truth))), some_se(rng)
        study.tell(option=option, value=truth[option] + se * rng.standard_normal(), se=se)

    return Game(study, truth, step)


def blocks(rng: Rng, confidence: float, *, size: int = 4, picks: bool = False) -> Game:
    """Days of ``size`` measurements; with ``picks`` the day is chosen as well, old ones among them."""
    truth = close(rng, 4)
    study = nw.create_study(options=list(truth), eps=EPS, confidence=confidence)
    spoiler, offsets, told = Spoiler(study, truth, rng), [float(rng.normal(0.0, 20.0))], [0]

    def step(_: nw.Certificate) -> None:
        option, se = spoiler.option(), 0.4 * some_se(rng)
        full = told[0] % size == 0 and told[0]
        if full and not (picks and spoiler.lucky):
            offsets.append(float(rng.normal(0.0, 20.0)))
        day = int(rng.integers(len(offsets))) if picks and rng.random() < 0.3 else len(offsets) - 1
        told[0] += 1
        value = truth[option] + offsets[day] + se * rng.standard_normal()
        study.tell(option=option, value=value, se=se, block=f"day {day}")

    return Game(study, truth, step, steps=80)


def differences(rng: Rng, confidence: float) -> Game:
    """Only differences of two options are measured."""
    truth, study, spoiler = spoiled(rng, 4, confidence)

    def step(_: nw.Certificate) -> None:
        plus, se = spoiler.option(), some_se(rng)
        others = [name for name in truth if name != plus]
        aimed = plus == spoiler.target and rng.random() < 0.7
        minus = spoiler.best if aimed else str(rng.choice(others))
        value = truth[plus] - truth[minus] + se * rng.standard_normal()
        study.tell(plus=plus, minus=minus, value=value, se=se)

    return Game(study, truth, step)


def readings(rng: Rng, confidence: float) -> Game:
    """Two readings each, of unknown scatter; what is measured next depends on what they were."""
    truth, study, spoiler = spoiled(rng, 3, confidence)

    def step(_: nw.Certificate) -> None:
        option = spoiler.option()
        study.tell(option=option, values=(truth[option] + 0.6 * rng.standard_normal(2)).tolist())

    return Game(study, truth, step)


def counts(rng: Rng, confidence: float) -> Game:
    """One to three trials at a time, as many as luck asks for."""
    truth = {name: 0.75 + value for name, value in close(rng, 3, 0.3).items()}
    study = nw.create_study(options=list(truth), eps=0.3, confidence=confidence)
    spoiler = Spoiler(study, truth, rng)

    def step(_: nw.Certificate) -> None:
        option = spoiler.option()
        trials = 1 if spoiler.lucky else 3
        study.tell(option=option, successes=int(rng.binomial(trials, truth[option])), trials=trials)

    return Game(study, truth, step, steps=160, every=2)


def catalogue(rng: Rng, confidence: float) -> Game:
    """Options are excluded and added at the worst moments."""
    truth = close(rng, 4)
    everybody = dict(truth)
    study = nw.create_study(options=list(truth), eps=EPS, confidence=confidence)
    spoiler = Spoiler(study, truth, rng)

    def step(_: nw.Certificate) -> None:
        option, se = spoiler.option(), some_se(rng)
        study.tell(option=option, value=everybody[option] + se * rng.standard_normal(), se=se)
        if spoiler.lucky and len(truth) > 2 and rng.random() < 0.08:
            gone = next(name for name in truth if name not in (spoiler.best, spoiler.target))
            study.exclude(gone, "in the way")
            del truth[gone]
        elif len(everybody) < 10 and rng.random() < 0.06:
            # A new one that is better than all others by just more than eps, or as bad as the rivals.
            name = f"o{len(everybody)}"
            value = max(truth.values()) + float(rng.choice([1.1, -1.1])) * EPS
            study.add_options([name])
            everybody[name] = truth[name] = value

    return Game(study, truth, step)


def linear(
    rng: Rng, confidence: float, *, ratio: float = 1.0, with_blocks: bool = False, deviation: float = 0.0
) -> Game:
    """Options in two features; two are measured that much more precisely."""
    n = 12
    features = rng.normal(size=(n, 2))
    values = features @ rng.normal(size=2)
    values *= 3.0 * EPS / float(np.ptp(values))
    values = values + deviation * rng.standard_normal(n)
    truth = {f"o{k}": float(value) for k, value in enumerate(values)}
    table = pl.DataFrame({"id": list(truth), "a": features[:, 0], "b": features[:, 1]})
    model: dict[str, Any] = {"model": "linear"}
    if deviation:
        model = {"model": f"linear+deviation:{deviation}"}
    study = nw.create_study(options=table, eps=EPS, confidence=confidence, **model)
    spoiler, offsets, told = Spoiler(study, truth, rng), rng.normal(0.0, 20.0, 60), iter(range(60))

    def step(certificate: nw.Certificate) -> None:
        # Deviations are drawn by chance: whoever knew them would know the future. And where error bars span
        # many decades a look may be slow, so that there are fewer.
        likely = certificate.candidates or list(truth)
        option = str(rng.choice(likely)) if deviation or ratio > 1.0 else spoiler.option()
        se = some_se(rng) / (ratio if option in ("o0", "o1") else 1.0)
        day = next(told) // 6
        where = {"block": f"day {day}"} if with_blocks else {}
        value = truth[option] + (offsets[day] if with_blocks else 0.0) + se * rng.standard_normal()
        study.tell(option=option, value=value, se=se, **where)

    return Game(study, truth, step) if ratio == 1.0 else Game(study, truth, step, steps=40, every=8)


def precise_and_rough(rng: Rng, confidence: float, *, ratio: float) -> Game:
    """Each day has one option measured precisely, and others roughly: differences are known roughly only."""
    truth = {name: value * 2.0 for name, value in close(rng, 3).items()}
    study = nw.create_study(options=list(truth), eps=0.2, confidence=confidence)
    offsets, names, fine = rng.normal(0.0, 5.0, 3), list(truth), 1.0 / ratio

    def step(_: nw.Certificate) -> None:
        day = int(rng.integers(3))
        precise = rng.random() < 0.4
        option = names[day] if precise else str(rng.choice(names))
        se = float(rng.uniform(1.0, 2.0)) * (fine if precise else 1.0)
        value = truth[option] + offsets[day] + se * rng.standard_normal()
        study.tell(option=option, value=value, se=se, block=f"day {day}")

    return Game(study, truth, step, steps=30)


def wild(rng: Rng, confidence: float, *, offset: float, decades: float, pairs: float) -> Game:
    """Days far apart, error bars over many decades, some differences; gaps of every size between."""
    gaps = np.concatenate([[0.0], 10.0 ** rng.uniform(1.0 - decades, 0.5, 3)])
    truth = {f"o{k}": -float(gap) for k, gap in enumerate(rng.permutation(gaps))}
    eps = float(np.sort(gaps)[1]) * 0.9
    study = nw.create_study(options=list(truth), eps=eps, confidence=confidence)
    names, offsets = list(truth), rng.normal(0.0, offset, 5)

    def step(_: nw.Certificate) -> None:
        one, other = (str(name) for name in rng.permutation(names)[:2])
        se = float(10.0 ** rng.uniform(-decades, decades))
        noise = se * rng.standard_normal()
        if rng.random() < pairs:
            study.tell(plus=one, minus=other, value=truth[one] - truth[other] + noise, se=se)
        else:
            day = int(rng.integers(offsets.size))
            study.tell(option=one, value=truth[one] + offsets[day] + noise, se=se, block=f"day {day}")

    return Game(study, truth, step, steps=40)


def abandoned(rng: Rng, confidence: float) -> Game:
    """Days have no offsets, and somebody knows it: a day whose first reading is low is left."""
    truth = close(rng, 3)
    study = nw.create_study(options=list(truth), eps=EPS, confidence=confidence)
    best, days = max(truth, key=lambda name: truth[name]), iter(range(1000))
    rivals = [name for name in truth if name != best]

    def step(_: nw.Certificate) -> None:
        day, rival = f"day {next(days)}", str(rng.choice(rivals))
        noise = rng.standard_normal()
        study.tell(option=rival, value=truth[rival] + noise, se=1.0, block=day)
        if noise > 0.5:
            study.tell(option=best, value=truth[best] + rng.standard_normal(), se=1.0, block=day)

    return Game(study, truth, step, steps=240, every=12)
