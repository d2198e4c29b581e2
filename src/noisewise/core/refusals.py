"""Refusals as data: what is wrong with which parameter, in words that each surface completes its own way.

A text names parameters in braces, the way they are typed in Python:

    raise RefusedError("se", "must be above 0", got=-1, remedy="Without an error bar, leave {se=} out.")

    Python  `se` must be above 0; got -1. Without an error bar, leave `se=` out.
    shell   --se must be above 0; got -1. Without an error bar, leave --se out.
    JSON    "se" must be above 0; got -1. Without an error bar, leave "se" out.

What people typed enters as a fact, whose own braces mean nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from string import Formatter
from typing import Any, Self

_FORMATTER = Formatter()
_NOTHING: Any = object()


class Words:
    """How a surface names parameters; this one is Python's."""

    def name(self, parameter: str) -> str:
        """Return the name of a parameter, as in "{se} must be above 0"."""
        return f"`{parameter}`"

    def given(self, parameter: str, value: str) -> str:
        """Return what to write for a value, as in "{model="linear"}"; an empty value stands for any."""
        return f"`{parameter}={value}`"

    def call(self, operation: str) -> str:
        """Return how an operation is called, as in "{ask()} says what comes next"."""
        return f"`{operation}()`"


class JsonWords(Words):
    """The words of HTTP and MCP, where parameters are fields of a JSON object."""

    def name(self, parameter: str) -> str:
        """Return the field."""
        return f'"{parameter}"'

    def given(self, parameter: str, value: str) -> str:
        """Return the field and its value."""
        shown = {"True": "true", "False": "false", "None": "null"}.get(value, value)
        return f'"{parameter}": {shown}' if value else f'"{parameter}"'

    def call(self, operation: str) -> str:
        """Return the name of the operation."""
        return f'"{operation}"'


PYTHON, JSON = Words(), JsonWords()


class Sentence(str):
    """A text in Python's words that other surfaces can say in their own.

    Args:
        text: The text; braces hold parameters, and the names of facts.
        facts: What fills the other braces.
    """

    open: str  # the text with nothing but parameters in its braces; it can be sent to another machine

    def __new__(cls, text: str, /, **facts: Any) -> Self:
        """Fill in the facts, and say the rest in Python's words."""
        opened = "".join(_with_facts(text, facts))
        made = super().__new__(cls, "".join(_with_names(opened, PYTHON)))
        made.open = opened
        return made

    def said(self, words: Words) -> str:
        """Return the text in the words of a surface."""
        return "".join(_with_names(self.open, words))

    def __reduce__(self) -> Any:
        return type(self), (self.open,)


def in_words(text: str, words: Words) -> str:
    """Return a text in the words of a surface, if it leaves any open."""
    return text.said(words) if isinstance(text, Sentence) else text


class RefusedError(ValueError):
    """Why a call is refused; nothing was changed.

    Args:
        parameter: The parameter; None if it is about something else.
        problem: What is wrong with it, such as "must be above 0", without a full stop.
        got: What was given.
        reason: A sentence that explains the rule, where it is not obvious.
        remedy: A sentence that says what to do.
        facts: What fills the braces that hold no parameters.
    """

    error = "ValueError"  # the class of Python that it is, for clients

    def __init__(
        self,
        parameter: str | None,
        problem: str,
        /,
        *,
        got: Any = _NOTHING,
        reason: str = "",
        remedy: str = "",
        **facts: Any,
    ) -> None:
        self.parameter = parameter
        shown = "" if got is _NOTHING else "; got {got!r}"
        self.problem = Sentence(f"{problem}{shown}", **facts, got=got)
        self.reason, self.remedy = Sentence(reason, **facts), Sentence(remedy, **facts)
        super().__init__(self.said(PYTHON))

    def said(self, words: Words) -> str:
        """Return all of it in the words of a surface."""
        subject = "" if self.parameter is None else f"{words.name(self.parameter)} "
        first = f"{subject}{self.problem.said(words)}"
        rest = (part.said(words) for part in (self.reason, self.remedy) if part)
        return " ".join([first if first.endswith((".", "?", "…")) else f"{first}.", *rest])

    def to_plain(self) -> dict[str, Any]:
        """Return JSON values from which `refusal_from` makes the same refusal elsewhere."""
        return {
            "parameter": self.parameter,
            "problem": self.problem.open,
            "reason": self.reason.open,
            "remedy": self.remedy.open,
        }

    def about(self, parameter: str) -> Self:
        """Name the parameter, if the check did not know whose value it read."""
        if self.parameter is None:
            self.parameter = parameter
            self.args = (self.said(PYTHON),)
        return self

    def __reduce__(self) -> Any:
        return refusal_from, (self.to_plain(), self.error)


class NotFoundError(RefusedError, KeyError):
    """There is nothing of this name."""

    error = "KeyError"
    __str__ = ValueError.__str__  # a KeyError would show its sentence in quotes


class WrongTypeError(RefusedError, TypeError):
    """The value is not of the right type."""

    error = "TypeError"


class SeveralRefusedError(RefusedError):
    """Everything that is wrong with a call."""

    def __init__(self, problems: Sequence[RefusedError]) -> None:
        self.problems = tuple(problems)
        super().__init__(None, problems[0].problem)
        self.args = (self.said(PYTHON),)

    def said(self, words: Words) -> str:
        """Return all problems, each on a line of its own."""
        return "\n".join(problem.said(words) for problem in getattr(self, "problems", ()))

    def to_plain(self) -> dict[str, Any]:
        """Return JSON values from which `refusal_from` makes the same refusal elsewhere."""
        return {"problems": [problem.to_plain() for problem in self.problems]}


class Problems:
    """Collects what is wrong with a call, so that all of it is reported at once."""

    def __init__(self) -> None:
        self.found: list[RefusedError] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Keep a refusal of the block, and go on behind it."""
        try:
            yield
        except SeveralRefusedError as several:
            self.found += several.problems
        except RefusedError as problem:
            self.found.append(problem)

    def raise_any(self) -> None:
        """Refuse the call if there was any problem."""
        if self.found:
            raise self.found[0] if len(self.found) == 1 else SeveralRefusedError(self.found)


def refusal_from(plain: dict[str, Any], error: str) -> RefusedError:
    """Make the refusal that another machine described."""
    if "problems" in plain:
        return SeveralRefusedError([refusal_from(one, "ValueError") for one in plain["problems"]])
    kinds = (NotFoundError, WrongTypeError)
    kind = next((one for one in kinds if one.error == error), RefusedError)
    return kind(plain["parameter"], plain["problem"], reason=plain["reason"], remedy=plain["remedy"])


def _with_facts(text: str, facts: dict[str, Any]) -> Iterator[str]:
    """Fill in facts, and keep parameters: "{n} of {option!r}" becomes "{n} of 'A'"."""
    for literal, field, form, conversion in _FORMATTER.parse(text):
        yield closed(literal)
        if field is None:
            continue
        if field in facts:
            fact = _FORMATTER.convert_field(facts[field], conversion)
            yield closed(format(fact, form or ""))
        else:
            yield f"{{{field}:{form}}}" if form else f"{{{field}}}"


def _with_names(text: str, words: Words) -> Iterator[str]:
    """Say parameters in the words of a surface."""
    for literal, field, form, _ in _FORMATTER.parse(text):
        yield literal
        if field is not None:
            name, equals, value = f"{field}:{form}".removesuffix(":").partition("=")
            if name.endswith("()"):
                yield words.call(name[:-2])
            else:
                yield words.given(name, value) if equals else words.name(name)


def closed(text: str) -> str:
    """A text whose own braces mean nothing."""
    return text.replace("{", "{{").replace("}", "}}")
