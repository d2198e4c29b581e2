"""The certificate: which option to take, how far it can be from the best, and what that rests on."""

import json
import math
from dataclasses import asdict, dataclass

from noisewise.study.catalogue import some_of
from noisewise.study.show import as_html, percent, rounded_up

SCHEMA = 1


@dataclass(frozen=True, eq=False)
class Certificate:
    """How far the recommended option can be from the best: a sentence that is true at every moment."""

    study: str
    option: str | None
    bound: float  # infinite if nothing can be said
    estimate: float | None
    confidence: float
    goal: str
    eps: float | None
    n_options: int
    n_measurements: int
    candidates: tuple[str, ...]  # options that may still be the best
    withheld: tuple[str, ...]  # reasons; the bound is infinite then
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    radius: str
    n_events: int
    data: str  # hash of specification and measurements
    approximate: tuple[str, ...] = ()  # reasons why the confidence holds only approximately
    head: str = ""  # the last hash of the log's chain: it stands for every event so far

    @property
    def reached(self) -> bool:
        """Whether the bound is at most eps, so that measuring may stop."""
        return self.eps is not None and not self.withheld and self.bound <= self.eps

    @property
    def sentence(self) -> str:
        """The certificate in one sentence."""
        if self.option is None:
            return self._why_nobody()
        if self.withheld:
            return f"Certificate withheld: {'; '.join(self.withheld)}."
        side = "below" if self.goal == "max" else "above"
        if math.isinf(self.bound):
            return (
                f"{self.option} leads, without a bound yet: {self.notes[0]}"
                if self.notes
                else f"{self.option} leads."
            )
        sure = f"with {'about ' if self.approximate else ''}{percent(self.confidence)} confidence"
        if self.n_options == 1:
            text = f"{self.option} is the only option: there is nothing to compare it with."
        elif self.bound == 0.0:
            text = f"{self.option} is the best of {self.n_options}, {sure}."
        else:
            far = f"at most {rounded_up(self.bound)} {side}"
            text = f"{self.option}: {far} the best of {self.n_options}, {sure}."
        if self.eps is not None:
            text += f" Stopping is {'' if self.reached else 'not yet '}allowed (eps {self.eps:g})."
        return text

    def _why_nobody(self) -> str:
        if not self.n_measurements:
            return "Nothing was measured yet."
        if not self.n_options:
            return "Every option of this study is excluded: there is nothing to recommend."
        return "Nothing was measured yet of the options that are not excluded."

    def __str__(self) -> str:
        lines = [self.sentence]
        if self.option is not None and not self.withheld:
            others = [name for name in self.candidates if name != self.option]
            if others:
                lines.append(f"May still be better: {some_of(others)}.")
            lines += self.notes if math.isfinite(self.bound) else self.notes[1:]
            lines += [f"Approximate: {reason}." for reason in self.approximate]
            lines.append("It rests on:")
            lines += [f"  - {assumption}" for assumption in self.assumptions]
        else:
            lines += self.notes
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        good = None if self.option is None else False if self.withheld else True if self.reached else None
        return as_html(f"Certificate of {self.study}", str(self).splitlines(), good=good)

    def to_json(self) -> str:
        """As JSON, to be kept and re-checked with `noisewise.verify_certificate`."""
        plain = asdict(self)
        plain["bound"] = None if math.isinf(self.bound) else self.bound
        return json.dumps(
            {"schema": SCHEMA, **plain, "reached": self.reached, "sentence": self.sentence}, indent=2
        )
