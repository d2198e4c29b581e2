"""The choices of a new study in plain words, with what they are unless somebody says otherwise."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from noisewise.web.pages.views.tell_form import number_in, whole_in

TEXT, AMOUNT, NUMBER, WHOLE, PART, CHOICE = "text", "amount", "number", "whole", "part", "choice"


class StudyChoice(NamedTuple):
    """One argument of `create_study`."""

    name: str
    title: str
    hint: str = ""
    kind: str = TEXT
    options: tuple[tuple[str, str], ...] = ()  # values and their words; the first is the usual one
    placeholder: str = ""


class ChoiceGroup(NamedTuple):
    """Choices that belong together; shown when somebody wants them."""

    title: str
    choices: tuple[StudyChoice, ...]


#: What every study is asked.
QUESTION = (
    StudyChoice(
        "goal",
        "Which is the best?",
        "",
        CHOICE,
        (("max", "the largest value"), ("min", "the smallest value")),
    ),
    StudyChoice("eps", "Good enough", "within this of the best", AMOUNT, (), "0.5"),
    StudyChoice("unit", "Unit", "of the values", TEXT, (), "ms"),
    StudyChoice("confidence", "Confidence", "in per cent", PART, (), "95"),
)
#: What few studies need.
GROUPS = (
    ChoiceGroup(
        "How values behave",
        (
            StudyChoice(
                "scale",
                "What matters between values",
                "",
                CHOICE,
                (("linear", "differences: 12 is 2 more than 10"), ("log", "ratios: 12 is 20 % more than 10")),
            ),
            StudyChoice(
                "noise",
                "Errors",
                "",
                CHOICE,
                (
                    ("normal", "usual tails"),
                    ("heavy", "any tails: single ones may be far off"),
                    ("symmetric", "as easily above as below, in rounds"),
                ),
            ),
            StudyChoice("bounds", "Single readings lie between", "if they have limits", TEXT, (), "1 and 5"),
            StudyChoice(
                "scatter",
                "Repeated readings scatter",
                "",
                CHOICE,
                (
                    ("", "as the first measurement suggests"),
                    ("own", "for each option in its own way"),
                    ("pooled", "alike for all options, or those of an instrument"),
                ),
            ),
            StudyChoice("noise_floor", "Least standard error", "smaller ones are raised to it", AMOUNT),
            StudyChoice(
                "extra_scatter",
                "What every error bar lacks",
                'a number, or "estimate"; added in squares',
                AMOUNT,
            ),
        ),
    ),
    ChoiceGroup(
        "What options have in common",
        (
            StudyChoice(
                "model",
                "Options",
                "",
                CHOICE,
                (
                    ("independent", "each on its own: always right"),
                    ("linear", "a weighted sum of their features"),
                    ("linear+deviation", "such a sum, plus a deviation of each"),
                ),
            ),
            StudyChoice("span", "Span", "by which no two options differ more; for features", AMOUNT),
            StudyChoice("deviation", "Deviation", 'its size, or "estimate", the usual', AMOUNT),
        ),
    ),
    ChoiceGroup(
        "How it is measured",
        (
            StudyChoice(
                "items", "Items", "that every option is measured on: how many, or names", TEXT, (), "500"
            ),
            StudyChoice("budget", "Measurements there will be", "if that is fixed beforehand", WHOLE),
            StudyChoice(
                "looks",
                "Looks at the result",
                "",
                CHOICE,
                (
                    ("any time", "as often as you like, and stop any time"),
                    ("once", "one, at a finished table: smaller bounds"),
                ),
            ),
        ),
    ),
    ChoiceGroup(
        "Suggestions",
        (
            StudyChoice("policy", "Rule", "by its name; the usual one suits nearly always", TEXT, (), "race"),
            StudyChoice("lease", "Reserved for", "days; 7 if left empty", NUMBER),
            StudyChoice(
                "seed", "Seed", "of random choices and of the order of items; drawn if left empty", WHOLE
            ),
        ),
    ),
)
_DAY = 86_400.0


def touched(group: ChoiceGroup, form: Mapping[str, str]) -> bool:
    """Whether somebody has said something in a group; then it is shown open."""
    usual = {one.name: one.options[0][0] if one.options else "" for one in group.choices}
    return any(form.get(name, usual[name]).strip() not in ("", usual[name]) for name in usual)


def question_in(form: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of `create_study`; what was left empty is left out. `ValueError` names the field."""
    said: dict[str, Any] = {}
    for one in (*QUESTION, *(choice for group in GROUPS for choice in group.choices)):
        text = form.get(one.name, "").strip()
        if text:
            said[one.name] = _read(one, text)
    if "lease" in said:
        said["lease"] *= _DAY
    if "bounds" in said:
        said["bounds"] = _limits(said["bounds"])
    if "items" in said:
        said["items"] = _items(said["items"])
    return said


def _read(choice: StudyChoice, text: str) -> Any:
    if choice.kind == NUMBER:
        return number_in(choice.title, text)
    if choice.kind == WHOLE:
        return whole_in(choice.title, text)
    if choice.kind == PART:
        part = number_in(choice.title, text.removesuffix("%").strip())
        return part / 100.0 if part > 1.0 or text.endswith("%") else part
    if choice.kind == AMOUNT and text != "estimate" and text[-1] not in "%x":
        return number_in(choice.title, text)
    return text


def _limits(text: str) -> tuple[float, float]:
    parts = text.replace(" and ", " ").replace(" to ", " ").replace(";", " ").replace(",", " ").split()
    if len(parts) != 2:
        raise ValueError(f"`Single readings lie between` must be two numbers, such as 1 and 5; got {text!r}.")
    low, high = (number_in("Single readings lie between", part) for part in parts)
    return low, high


def _items(text: str) -> Any:
    if text.isdecimal() and len(text) < 10:
        return int(text)
    between = "\n" if "\n" in text else ";" if ";" in text else ","
    return [name.strip() for name in text.split(between) if name.strip()]
