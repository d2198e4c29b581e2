"""Options of rules as declared fields: a constructor's signature, documentation and checks come from them."""

import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
    dataclass_transform,
    overload,
)

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.support.checks import nearest
from noisewise.policies.shell.creation import new_policy
from noisewise.policies.shell.policy import Policy
from noisewise.policies.shell.registration import register
from noisewise.policies.shell.rule import Rule
from noisewise.policies.shell.set_policy import SetPolicy

P = ParamSpec("P")
Value = TypeVar("Value")

#: Characters in a line of a constructor's documentation.
LINE = 105
#: The option that a policy keeps beside the others: how many rounds it plans for.
HORIZON = "horizon"
ACTIONS = "The `ActionSet`, an array of vectors, or for many rules a set such as `noisewise.Ball`."


class Option(NamedTuple):
    """What is declared about an option."""

    default: Any
    explanation: str
    shown: bool
    type: Any = None


def option(default: Value, explanation: str = "") -> Value:
    """An option: its default, and what it means; one with another default may leave out the meaning."""
    declared: Any = Option(default, explanation, shown=True)
    return declared  # type: ignore[no-any-return]  # the class makes an attribute of it


def fixed(default: Value, *, init: Literal[False] = False) -> Value:
    """A value that the rule reads like an option, and that cannot be given: the same in all its policies."""
    declared: Any = Option(default, "", shown=False)
    return declared  # type: ignore[no-any-return]


# A dataclass to its readers and to type checkers; `dataclasses` itself would compile an `__init__` for every
# rule, which takes longer than all the rest of loading the rules' options.
@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(fixed,))
class DeclaredOptions:
    """How options are declared: as annotated attributes, each an `option` or `fixed`."""

    declared: ClassVar[dict[str, Option]] = {}

    def __init_subclass__(cls) -> None:
        """Take over the parent's options; one that is declared again keeps its place."""
        cls.declared = dict(cls.declared)
        for name, annotation in cls.__annotations__.items():
            each = vars(cls).get(name)
            if isinstance(each, Option):
                explanation = each.explanation
                if not explanation and name in cls.declared:
                    explanation = cls.declared[name].explanation
                cls.declared[name] = each._replace(explanation=explanation, type=annotation)
                setattr(cls, name, each.default)

    def __init__(self, **given: Any) -> None:
        """The defaults, but for what is given."""
        vars(self).update(given)

    @classmethod
    def shown(cls) -> dict[str, Option]:
        """The options that can be given: those that only this rule has, then the shared ones."""
        names = sorted(cls.declared, key=SharedOptions.declared.__contains__)
        return {name: cls.declared[name] for name in names if cls.declared[name].shown}

    @classmethod
    def check_given(cls, given: dict[str, Any]) -> None:
        """Refuse options that do not go together; defaults are not among those given."""

    def as_dict(self) -> dict[str, Any]:
        """All options by name, as a policy keeps them."""
        return {name: getattr(self, name) for name in self.declared if name != HORIZON}


class SharedOptions(DeclaredOptions):
    """The options that every rule has. A rule with others, or with other defaults, has a child of this class.

    The docstring of the child is how that of the constructor begins.
    """

    radius: str | float = option(
        "mixture",
        '``"mixture"`` (the tightest of equal guarantee), ``"self-normalised"``, ``"paper"`` (as printed; '
        'needs ``sigma_min``), ``"averaged"`` (over mixtures: smaller where theta is well within its norm '
        'bound or the actions span many directions; dim³ per round), ``"restarted"`` (averaged with mixtures '
        "that begin later: the smallest bounds after many measurements; some 15 eigenvalue problems per "
        "look), or a number.",
    )
    ridge: float | str = option(
        1.0,
        "Prior knowledge worth this much precision in every direction; above 0. "
        '``"dim"``: dim/norm_bound², with which bounds on many features need fewer measurements.',
    )
    norm_bound: float = option(
        1.0, "A number that the norm of theta does not exceed; the certificate rests on it."
    )
    delta: float = option(0.05, "The certificate holds at all times with probability ``1 - delta``.")
    sigma_min: float | None = option(
        None, 'The smallest sigma that will ever be told; only ``radius="paper"`` needs it.'
    )
    seed: int = option(0, "Seed of the rule's own random choices.")
    recommendation: str = option(
        "best",
        'What to recommend. ``"best"``: the largest mean, among the candidates if the rule keeps any; '
        '``"smallest-bound"``: the candidate with the smallest certified regret bound; ``"last"`` or '
        '``"most-played"``: the action measured last or most often, while it may still be the best; '
        '``"uniform-played"``: that of a measurement drawn at random, the only one whose expected regret is '
        "the cumulative regret over the number of rounds.",
    )


class Constructor(Protocol[P]):
    """Makes a policy of one rule: on an infinite set a `SetPolicy`."""

    @overload
    def __call__(self, actions: OracleSet, *_: P.args, **options: P.kwargs) -> SetPolicy: ...
    @overload
    def __call__(self, actions: ActionSet | ArrayLike, *_: P.args, **options: P.kwargs) -> Policy: ...


def constructor(rule: Rule, options: Callable[P, SharedOptions], summary: str = "") -> Constructor[P]:
    """The constructor of a rule, made from the class of its options and registered by the rule's name.

    Args:
        rule: The rule.
        options: `SharedOptions` or a child of it.
        summary: How its documentation begins; default: the docstring of the options.
    """
    kind: Any = options
    shown: dict[str, Option] = kind.shown()

    def construct(actions: Any, **given: Any) -> Any:
        for name in given:
            if name not in shown:
                raise TypeError(f"{rule.name}() has no option {name!r}.{nearest(name, list(shown))}")
        kind.check_given(given)
        chosen = kind(**given)
        return new_policy(rule, actions, chosen.as_dict(), horizon=getattr(chosen, HORIZON, None))

    construct.__name__ = construct.__qualname__ = rule.name
    construct.__module__ = rule.choose.__module__ if kind is SharedOptions else kind.__module__
    construct.__signature__ = _signature(rule, shown)  # type: ignore[attr-defined]
    construct.__doc__ = _documentation(inspect.cleandoc(summary or kind.__doc__ or ""), shown)
    made: Any = construct
    register(rule, made)
    return made  # type: ignore[no-any-return]  # two signatures, of lists and of sets


def _signature(rule: Rule, shown: dict[str, Option]) -> inspect.Signature:
    accepted: Any = ActionSet | ArrayLike
    if rule.on_sets is not None:
        accepted = accepted | OracleSet
    parameters = [inspect.Parameter("actions", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=accepted)]
    for name, each in shown.items():
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type
            )
        )
    return inspect.Signature(parameters, return_annotation=Policy)


def _documentation(summary: str, shown: dict[str, Option]) -> str:
    """What the rule does, then every option with its meaning: the shared ones first."""
    shared = [name for name in shown if name in SharedOptions.declared]
    own = [name for name in shown if name not in SharedOptions.declared]
    entries = [_entry(name, shown[name].explanation) for name in shared + own]
    return "\n".join([summary, "", "Args:", _entry("actions", ACTIONS), *entries])


@functools.cache
def _entry(name: str, explanation: str) -> str:
    return textwrap.fill(
        f"{name}: {explanation}",
        LINE,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_on_hyphens=False,
    )
