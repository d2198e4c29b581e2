"""How often bounds may be looked at: what "once" asks of a study, and what switching to it costs."""

from typing import Any

from noisewise.core.text import counted
from noisewise.study.log.specification import ANY_TIME, BLIND, HEAVY, ONCE
from noisewise.study.log.state import State

#: What is lost by switching from any time to once; it is kept in the event.
COST = (
    "From here on bounds hold for one look only, at measurements that nobody chose or ended by looking at "
    "values. Certificates of before, which hold at any time, stay true. There is no way back."
)


def is_once(state: State) -> bool:
    """Whether bounds hold for one look only."""
    return state.looks == ONCE


def chosen_by_looking(state: State) -> int:
    """Count the suggestions of policies that look at values, made when there were values to look at.

    What became of them does not matter. A suggestion can be followed without naming it, and its answer can
    be voided and told again: the measurements of such a study were chosen by looking.
    """
    first = state.begun.event
    return 0 if first is None else sum(number > first for number in state.looked_for.values())


def broken_promise(state: State) -> str | None:
    """Why a bound for one look does not hold: the study itself chose by looking, or options share items."""
    if state.items:
        return "items were told, which all options share, and a bound for one look does not hold for them"
    if state.specification.bounds is not None:
        return "a bound for one look does not hold for readings within bounds"
    if state.specification.noise == HEAVY:
        return "a bound for one look does not hold for errors of any tails"
    if not (count := chosen_by_looking(state)):
        return None
    return (
        f"{counted(count, 'suggestion')} came from a policy that looks at values, and a bound for one look "
        "does not hold for what was chosen by looking"
    )


def switched_looks(state: State, final: Any) -> dict[str, str]:
    """What an event "switch" says about looks; empty if nothing is to change."""
    if final is None:
        return {}
    if not isinstance(final, bool):
        raise TypeError(f"`final` must be true or false; got {final!r}.")
    looks = ONCE if final else ANY_TIME
    if looks == state.looks:
        raise ValueError(f"nothing would change: bounds of this study hold {in_words(looks)} already.")
    if not final:
        raise ValueError(
            "`final` cannot be taken back: whoever looked by now may have gone on because of what was seen. "
            "Make a new study, and record in it what is measured from now on."
        )
    if broken := broken_promise(state):
        raise ValueError(
            f"`final` cannot be switched on: {broken}. Make a new study, with `final=True`, and record "
            f"in it only "
            "what was not chosen by looking."
        )
    return {"looks": ONCE, "costs": COST}


def check_blind(policy: str, looks: Any) -> str:
    """Refuse a policy that looks at values where bounds hold for one look only."""
    if looks == ONCE and policy not in BLIND:
        raise ValueError(
            f"`policy` must be {' or '.join(BLIND)} with `final=True`; got {policy!r}, which looks at "
            "values: measurements that were chosen by looking need a bound that holds at any time."
        )
    return policy


def in_words(looks: str) -> str:
    """For a sentence."""
    return "for one look only" if looks == ONCE else "at any time"
