"""Fields of forms, made from the parameters that operations declare, and what is typed in them."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin

from noisewise.core.refusals import RefusedError, Sentence, Words
from noisewise.operations.table import Param, load_table
from noisewise.operations.values import typed_value
from noisewise.operations.words import lifted

#: What parameters are called on a page, where that is more than their name.
TITLES = {
    "se": "Standard error", "var": "Variance", "sd": "Standard deviation", "ci": "Interval",
    "n": "Number of readings", "values": "Readings", "eps": "Good enough", "measure": "A measurement is",
    "policy": "Rule", "final": "Finished table", "budget": "Measurements there will be",
}  # fmt: skip


class FormWords(Words):
    """The words of a page, on which parameters are fields with a title."""

    def name(self, parameter: str) -> str:
        """Return the title."""
        return f"“{title_of(parameter)}”"

    def given(self, parameter: str, value: str) -> str:
        """Return the title and what to fill in."""
        plain = value.strip("\"'")
        return f"{self.name(parameter)} {plain}" if plain not in ("", "True") else self.name(parameter)


FORM_WORDS = FormWords()


class FormField(NamedTuple):
    """A parameter on a page."""

    name: str
    title: str
    hint: str
    kind: str  # "text", "choice" or "tick"
    options: tuple[str, ...] = ()  # of a choice
    usual: str = ""  # its default
    shape: str = ""  # how it is typed, such as LO,HI


def title_of(name: str) -> str:
    """What a parameter is called on a page."""
    return TITLES.get(name) or name.replace("_", " ").capitalize()


def fields_for(operation: str, names: Iterable[str]) -> tuple[FormField, ...]:
    """Some parameters of an operation as fields."""
    params = load_table()[operation].params
    return tuple(_field(params[name]) for name in names)


def _field(param: Param) -> FormField:
    hint = Sentence(param.form.help).said(FORM_WORDS)
    about = (param.name, title_of(param.name), f"{hint[:1].lower()}{hint[1:]}".removesuffix("."))
    if param.type is bool:
        return FormField(*about, "tick")
    usual = "" if param.default is None else str(param.default)
    if get_origin(param.type) is Literal:
        options = get_args(param.type)
        return FormField(*about, "choice", options if usual else ("", *options), usual)
    metavar = param.typed.metavar if param.typed else ""
    return FormField(*about, "text", (), usual, metavar if set(metavar) & set(",;") else "")


def said_in(
    operation: str, names: Iterable[str], form: Mapping[str, Any], prefix: str = ""
) -> dict[str, Any]:
    """Read the fields of a form that are filled in; a refusal names the field."""
    params, said = load_table()[operation].params, {}
    for name in names:
        if text := text_in(form, f"{prefix}{name}"):
            said[name] = True if params[name].type is bool else typed_value(params[name], text)
    return said


def text_in(form: Mapping[str, Any], name: str) -> str:
    """What is typed in a field, without blanks around it, and with the minus sign of a keyboard."""
    given = form.get(name)
    return given.replace("−", "-").replace("\u00a0", " ").strip() if isinstance(given, str) else ""


def sentence_of(problem: BaseException) -> str:
    """A refusal as a page says it."""
    said = lifted(problem).said(FORM_WORDS)
    return f"{said[:1].upper()}{said[1:]}"


def refuse_empty(name: str, why: str) -> RefusedError:
    """The refusal of a field that must be filled in."""
    return RefusedError(name, f"is empty: {why}")
