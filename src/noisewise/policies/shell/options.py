"""The options that every rule has, and how a constructor documents and checks them."""

import inspect
import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypedDict, Unpack

from noisewise.core.support.checks import nearest
from noisewise.policies.shell.policy import Policy

P = ParamSpec("P")


class SharedOptions(TypedDict, total=False):
    """Options of every rule, all with a default."""

    radius: str | float
    ridge: float
    norm_bound: float
    delta: float
    sigma_min: float | None
    seed: int
    recommendation: str


DEFAULTS = SharedOptions(
    radius="mixture",
    ridge=1.0,
    norm_bound=1.0,
    delta=0.05,
    sigma_min=None,
    seed=0,
    recommendation="best",
)

#: Options that only one rule has, its own defaults of the shared ones, and those of them that mean nothing to
#: it, by its constructor's name.
_own_options: dict[str, list[str]] = {}
_own_defaults: dict[str, SharedOptions] = {}
_left_out: dict[str, tuple[str, ...]] = {}

EXPLAINED = """
        actions: The `ActionSet`, an array of vectors, or for many rules a set such as `noisewise.Ball`.
        radius: ``"mixture"`` (the tightest of equal guarantee), ``"self-normalised"``, ``"paper"`` (as
            printed; needs ``sigma_min``), or a number.
        ridge: Prior knowledge worth so much precision in every direction; above 0.
        norm_bound: A number that the norm of theta does not exceed; the certificate rests on it.
        delta: The certificate holds at all times with probability ``1 - delta``.
        sigma_min: The smallest sigma that will ever be told; only ``radius="paper"`` needs it.
        seed: Seed of the rule's own random choices.
        recommendation: What to recommend. ``"best"``: the largest mean, among the candidates if the rule
            keeps any; ``"smallest-bound"``: the candidate with the smallest certified regret bound;
            ``"last"`` or ``"most-played"``: the action measured last or most often, while it may still
            be the best; ``"uniform-played"``: that of a measurement drawn at random, the only one whose
            expected regret is the cumulative regret over the number of rounds."""


def with_defaults(name: str, shared: SharedOptions) -> dict[str, Any]:
    """The shared options completed; an unknown name is refused with the nearest known one."""
    left_out = _left_out.get(name, ())
    for option in shared:
        if option not in DEFAULTS or option in left_out:
            known = [known for known in DEFAULTS if known not in left_out]
            hint = nearest(option, [*known, *_own_options.get(name, ())])
            raise TypeError(f"{name}() has no option {option!r}.{hint}")
    return {**DEFAULTS, **_own_defaults.get(name, {}), **shared}


def constructor_with(
    **defaults: Unpack[SharedOptions],
) -> Callable[[Callable[P, Policy]], Callable[P, Policy]]:
    """A `constructor` whose rule has other defaults of the shared options."""

    def decorate(function: Callable[P, Policy]) -> Callable[P, Policy]:
        _own_defaults[function.__name__] = defaults
        return constructor(function)

    return decorate


def constructor_without(*options: str) -> Callable[[Callable[P, Policy]], Callable[P, Policy]]:
    """A `constructor` whose rule has no use for some of the shared options."""

    def decorate(function: Callable[P, Policy]) -> Callable[P, Policy]:
        _left_out[function.__name__] = options
        return constructor(function)

    return decorate


def constructor(function: Callable[P, Policy]) -> Callable[P, Policy]:
    """Show the shared options in the signature and docstring of a rule's constructor."""
    signature = inspect.signature(function)
    left_out = _left_out.get(function.__name__, ())
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    shared = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default)
        for option, default in with_defaults(function.__name__, {}).items()
        if option not in signature.parameters and option not in left_out
    ]
    _own_options[function.__name__] = [p.name for p in own if p.kind is p.KEYWORD_ONLY]
    function.__signature__ = signature.replace(parameters=own + shared)  # type: ignore[attr-defined]
    text = inspect.cleandoc(function.__doc__ or "")
    # Every option's explanation starts at the margin; the lines that go on with it are indented.
    parts = re.split(r"\n(?=\w)", inspect.cleandoc(EXPLAINED))
    explained = "\n".join(part for part in parts if part.split(":")[0] not in left_out).replace(
        "\n", "\n    "
    )
    if "Args:" in text:
        text = text.replace("Args:", f"Args:\n    {explained}", 1)
    else:
        text += f"\n\nArgs:\n    {explained}"
    function.__doc__ = text
    return function
