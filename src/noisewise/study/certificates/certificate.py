"""The certificate: which option to take, how far it can be from the best, and what that rests on."""

import json
import math
import weakref
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from noisewise.core.strict_json import strict_json
from noisewise.core.text import as_html, counted, ordinal, percent, some_of
from noisewise.study.certificates.claims import NOTHING, REACHED, UNDECIDED
from noisewise.study.log.model_choice import ANY_TIME, ONCE
from noisewise.study.telling.scale import LOG, ValueScale

if TYPE_CHECKING:
    from noisewise.study.certificates.good_enough import GoodEnough
    from noisewise.study.study import Study


class WithLeague:
    """A record that a notebook shows with its study's league table while the study is at that moment."""

    def of(self, study: "Study") -> Self:
        """Remember the study, without keeping it alive; records travel without it."""
        object.__setattr__(self, "_study", (weakref.ref(study), study.head))
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_study"}

    def _league(self) -> str:
        """The league table as HTML; empty if the study has changed or is gone."""
        reference, head = getattr(self, "_study", (lambda: None, ""))
        study = reference()
        return study.league()._repr_html_() if study is not None and study.head == head else ""


#: Raised when the fields of a certificate, or the rule that bounds are computed by, change.
SCHEMA = 5
#: What a certificate says in words. All other fields are facts.
WORDS = ("sentence", "assumptions", "special", "notes", "withheld", "approximate", "radius", "amount")
#: Facts that are computed, and may differ in the last digits from one machine to another.
COMPUTED = (
    "bound", "estimate", "largest_estimate_value", "spread", "bound_ratio", "eps_ratio", "wider",
    "heterogeneous",
)  # fmt: skip
#: Left out where there is none.
OPTIONAL = ("unit", "scale", "pool", "wider", "heterogeneous", "good_enough")
#: How much they may differ, relative to their size.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Certificate(WithLeague):
    """How far the recommended option can be from the best: true at every moment, or at one look."""

    study: str
    option: str | None
    bound: float  # infinite if nothing can be said
    estimate: float | None
    confidence: float
    goal: str
    eps: float | None
    n_options: int
    n_measurements: int
    candidates: tuple[str, ...]  # options that may still be the best: all of them if it is withheld
    withheld: tuple[str, ...]  # reasons; the bound is infinite then
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    radius: str
    n_events: int
    data: str  # hash of specification and measurements
    approximate: tuple[str, ...] = ()  # reasons why the confidence holds only approximately
    head: str = ""  # the last hash of the log's chain: it stands for every event so far
    verdict: str = NOTHING  # see `noisewise.study.certificates.claims`
    largest_estimate: str | None = None  # whose estimate is largest (goal "min": smallest), if comparable
    largest_estimate_value: float | None = None
    rank: int | None = None  # of the option, by estimate, among those that can be compared
    n_compared: int = 0
    spread: float = 0.0  # the largest estimated difference between them
    looks: str = ANY_TIME  # or ONCE: then it holds for one look only
    evidence: tuple[str, ...] = ()  # the kinds that the bound was computed from; none if it was not
    unit: str | None = None  # of the values
    scale: str | None = None  # LOG: bound, eps and spread are of logarithms; None: all as it was told
    amount: str = ""  # how much was measured, such as "3,000 trials"
    special: tuple[str, ...] = ()  # the assumptions that not every such study rests on
    rests_on: int | None = None  # single measurements (readings, trials, answers) of the option
    pool: int | None = None  # how many items the claim is about, where it is about these alone
    wider: float | None = None  # the bound for the population that these items were drawn from
    heterogeneous: float | None = None  # of a network: the bound with estimated extra scatter
    good_enough: "GoodEnough | None" = None  # the options that will do, and the cheapest; only if asked for

    @property
    def value_scale(self) -> ValueScale:
        """How its numbers are shown."""
        return ValueScale(self.scale == LOG, self.goal, self.unit)

    @property
    def bound_ratio(self) -> float | None:
        """On a log scale: the recommended value over the best, at worst; None without a bound."""
        return self.value_scale.ratio(self.bound)

    @property
    def eps_ratio(self) -> float | None:
        """The same where it is just good enough."""
        return self.value_scale.ratio(self.eps)

    @property
    def bound_text(self) -> str:
        """The bound in words, never smaller than it is, in the user's unit or in per cent."""
        return self.value_scale.far(self.bound)

    @property
    def reached(self) -> bool:
        """Whether the bound is at most eps, so that measuring may stop."""
        return self.verdict == REACHED

    @property
    def once(self) -> bool:
        """Whether it holds for one look only."""
        return self.looks == ONCE

    @property
    def may_show_bounds(self) -> bool:
        """Whether bounds, and what they rule out, may be shown at all."""
        return self.option is not None and not self.withheld

    @property
    def sentence(self) -> str:
        """The certificate in one sentence, or in a few where nothing is decided yet."""
        if self.option is None:
            return self._why_nobody()
        if self.withheld:
            return f"Certificate withheld: {'; '.join(self.withheld)}."
        if math.isinf(self.bound):
            why = self.notes[0] if self.notes else "its numbers cannot be computed."
            return f"{self.option} leads, without a bound yet: {why}"
        if self.n_options == 1:
            text = f"{self.option} is the only option: there is nothing to compare it with."
        elif self.bound == 0.0:
            text = f"{self.option} is {self._best}, {self.sure}."
        elif self.verdict == UNDECIDED:
            text = f"Nothing is decided yet: {self.option} is {self._far}, {self.sure}, {self._apart}."
        else:
            text = f"{self.option} is {self._far}, {self.sure}."
        if self.eps is not None and self.once and self.bound == 0.0:
            return text
        if self.eps is not None and self.once:
            text += f" That is {'' if self.reached else 'not '}close enough ({self._eps})."
        elif self.eps is not None:
            text += f" Stopping is {'' if self.reached else 'not yet '}allowed ({self._eps})."
        return text

    @property
    def beside(self) -> str | None:
        """A sentence about the option with the largest estimate, where that is another one."""
        if self.largest_estimate is None or self.largest_estimate_value is None:
            return None
        word = "largest" if self.goal == "max" else "smallest"
        value = self.value_scale.value(self.largest_estimate_value)
        said = f"The {word} estimate is that of {self.largest_estimate}, {value}"
        if self.largest_estimate == self.option:
            return f"{said}, but nothing is certain about it yet." if self.withheld else None
        place = ordinal(self.rank or 1)
        if self.withheld:
            return f"{said}; if the error bars were right, {self.option} would have the smallest bound."
        why = "" if math.isinf(self.bound) else " and has the smallest bound"
        return f"{said}; {self.option} is {place} of {self.n_compared} by estimate{why}."

    @property
    def scope(self) -> list[str]:
        """Sentences about how far the claim reaches: what it rests on, and wider claims with their bounds."""
        if not self.may_show_bounds or math.isinf(self.bound) or self.n_options < 2:
            return []
        said = []
        if self.rests_on == 1:
            said.append(f"It rests on 1 measurement of {self.option}.")
        if self.heterogeneous is not None:
            far = self._at_most(self.heterogeneous)
            about = f"with about {percent(self.confidence)} confidence"
            said.append(f"With the heterogeneity between studies estimated: {far}, {about}.")
        if self.pool is not None:
            population = f"For the population that these {self.pool:,} items were drawn from at random"
            said.append(
                f"{population}, nothing can be said yet."
                if self.wider is None
                else f"{population}: {self._at_most(self.wider)}, {self.sure}."
            )
        return said

    @property
    def sentences(self) -> list[str]:
        """The sentence, and those that have to be read with it."""
        return [self.sentence, *([self.beside] if self.beside else []), *self.scope]

    def _at_most(self, bound: float) -> str:
        if bound == 0.0:
            return f"{self.option} is the best"
        return f"{self.option} is at most {self.value_scale.far(bound)} {self.value_scale.side} the best"

    @property
    def sure(self) -> str:
        """The confidence in words."""
        sure = f"with {'about ' if self.approximate else ''}{percent(self.confidence)} confidence"
        return f"{sure} (valid for one look only)" if self.once else sure

    @property
    def _far(self) -> str:
        return f"at most {self.bound_text} {self.value_scale.side} {self._best}"

    @property
    def _best(self) -> str:
        on = "" if self.pool is None else f" on these {self.pool:,} items"
        return f"the best of {self.n_options}{on}"

    @property
    def _eps(self) -> str:
        return "" if self.eps is None else f"eps {self.value_scale.close(self.eps)}"

    @property
    def _apart(self) -> str:
        """Why a bound decides nothing."""
        if self.n_compared < 2:
            return "and no other option can be compared with it yet"
        if not self.spread:
            return "and all estimates are equal"
        return f"which is more than any two estimates differ ({self.value_scale.amount(self.spread)})"

    def _why_nobody(self) -> str:
        if not self.n_measurements:
            return "Nothing was measured yet."
        if not self.n_options:
            return "Every option of this study is excluded: there is nothing to recommend."
        return "Nothing was measured yet of the options that are not excluded."

    def lines(self, *, why: bool = False) -> list[str]:
        """The certificate for people, line by line.

        Args:
            why: Whether to list all assumptions, and not only those that are special to this study.
        """
        lines = self.sentences
        lines += self.good_enough.lines(self) if self.good_enough is not None else []
        if self.option is not None and not self.withheld:
            others = [name for name in self.candidates if name != self.option]
            if others:
                lines.append(f"May still be better: {some_of(others)}.")
            lines += self.notes if math.isfinite(self.bound) else self.notes[1:]
            lines += [f"Approximate: {reason}." for reason in self.approximate]
            lines += [f"Evidence: {', '.join(self.evidence)}."] if self.evidence else []
            lines += self._resting(why)
        else:
            lines += self.notes
            if self.withheld:
                lines.append("The check says what to do about it: study.check(), or `noisewise check`.")
        return lines

    def _resting(self, why: bool) -> list[str]:
        listed = self.assumptions if why else self.special
        usual = len(self.assumptions) - len(listed)
        lines = [f"It rests on {self.amount}{', and on:' if listed else '.'}"]
        lines += [f"  - {assumption}" for assumption in listed]
        if usual:
            lines.append(
                f"({counted(usual, 'assumption of every such study')}: --why, or certificate.assumptions.)"
            )
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        good = None if self.option is None else False if self.withheld else True if self.reached else None
        return as_html(f"Certificate of {self.study}", self.lines(), good=good, drawn=self._league())

    def to_json(self) -> str:
        """As JSON, to be kept and re-checked with `noisewise.verify_certificate`.

        Strict: a bound that does not exist is null.
        """
        plain = asdict(self)
        for name in OPTIONAL:  # left out where there is none
            if plain[name] is None:
                del plain[name]
        if self.scale is not None:
            plain |= {"bound_ratio": self.bound_ratio, "eps_ratio": self.eps_ratio}
        return strict_json(
            {"schema": SCHEMA, **plain, "reached": self.reached, "sentence": self.sentence}, indent=2
        )


def claimed_in(text: str) -> dict[str, Any]:
    """Read a certificate as JSON, by itself or as the field `certificate` of an answer."""
    try:
        claimed = json.loads(
            text, object_pairs_hook=_each_name_once, parse_constant=_no_number, parse_int=_whole_number
        )
    except (ValueError, TypeError, RecursionError):
        claimed = None
    if isinstance(claimed, dict) and isinstance(claimed.get("certificate"), dict):
        claimed = claimed["certificate"]
    count = claimed.get("n_events") if isinstance(claimed, dict) else None
    if not isinstance(claimed, dict) or type(count) is not int or count < 0:
        raise ValueError("`certificate` must be a certificate as JSON, as `Certificate.to_json` writes it.")
    return claimed


def wrong_fact(claimed: dict[str, Any], found: Certificate) -> str | None:
    """Compare the facts of a certificate with those of the log: what is wrong, in a sentence, or None.

    The name of the study is not compared: studies can be renamed.
    """
    again = json.loads(found.to_json())
    if type(claimed.get("schema")) is not int or claimed["schema"] != SCHEMA:
        return f"the certificate has schema {claimed.get('schema')!r}; this noisewise verifies {SCHEMA}."
    if missing := [name for name in again if name not in claimed]:
        return f"the certificate lacks {', '.join(missing)}."
    if unknown := [name for name in claimed if name not in again]:
        return f"the certificate has fields that no certificate has: {', '.join(map(repr, unknown))}."
    # The question comes first: where it differs, everything else does as well.
    order = ("confidence", "goal", "eps", "n_options", "n_measurements", "n_events", "data")
    for name in sorted(again, key=lambda name: name not in order):
        said, value = claimed[name], again[name]
        # Whether there is any text at all, such as a reason to withhold, is a fact.
        if type(said) is type(value) and (name == "study" or (name in WORDS and bool(said) == bool(value))):
            continue
        if _equal(said, value, computed=name in COMPUTED):
            continue
        return f"the certificate says {name}={said!r}; the log says {value!r}."
    return None


def other_words(claimed: dict[str, Any], found: Certificate) -> tuple[str, ...]:
    """The fields of a certificate whose text differs from what follows from its facts."""
    again = json.loads(found.to_json())
    return tuple(name for name in WORDS if claimed[name] != again[name])


def _equal(said: Any, value: Any, *, computed: bool) -> bool:
    if isinstance(value, float) and type(said) in (int, float):  # some programs write 1.0 as 1
        return said == value or (computed and math.isclose(said, value, rel_tol=ROUNDING))
    return type(said) is type(value) and bool(said == value)


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _whole_number(digits: str) -> int:
    """No number of a certificate has more digits than this; very many could not be compared with a float."""
    if len(digits) > 300:
        raise ValueError("a number has too many digits")
    return int(digits)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
