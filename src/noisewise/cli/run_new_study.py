"""``noisewise run --new``: the study is made by the first run, and every later one goes on with it.

The flags are those of ``init``, and mean the same. Typed again they must agree with what the study was made
with: a run that quietly answered an older question would be worse than none.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from noisewise.cli.printing import told_warnings
from noisewise.core.text import printable
from noisewise.operations.start import QUESTION, create
from noisewise.operations.table import Param, load_table

if TYPE_CHECKING:
    from noisewise.study.log.specification import Specification
    from noisewise.study.study import Study

#: What is not a part of the question, or is compared by itself.
APART = ("name", "catalogue", "policy", "version")
#: What parts of the question are called where they are stated.
STATED = {
    "bounds": "measure", "items": "measure", "noise": "errors", "noise_floor": "errors",
    "extra_scatter": "errors", "scatter": "errors", "looks": "final", "deviation": "model",
}  # fmt: skip


def question_params() -> dict[str, Param]:
    """The parameters of `init` that a run takes as well, by name."""
    of_init = load_table()["init"].params
    return {name: _marked(of_init[name]) for name in QUESTION}


def _marked(param: Param) -> Param:
    """The same parameter, whose help says that it is about a new study."""
    form = copy(param.form)
    form.help = f"With --new: {form.help[0].lower()}{form.help[1:]}"
    return param._replace(form=form)


class Begun(NamedTuple):
    """A study that is there now."""

    study: "Study"
    table: Any  # the table of its options, if they came from one
    is_new: bool


def begin_or_go_on(
    store: str,
    name: str,
    options: list[str],
    question: dict[str, Any],
    check: Callable[["Study", Any], Any],
) -> Begun:
    """The study that these flags make, or have made before; refused if it is another one.

    Args:
        store: Where it is kept.
        name: Its name.
        options: Names, or a table of them, as they were typed.
        question: The flags of `question_flags`, as they were typed.
        check: Refuses a study, with its table, before it is made.
    """
    import noisewise as nw
    from noisewise.operations.tables import options_typed
    from noisewise.study.tables.sheet import ReadTable

    with told_warnings():
        listed = options_typed(tuple(options))
    table = listed if isinstance(listed, ReadTable) else None
    asked = {one: param.default for one, param in load_table()["init"].params.items()} | question
    asked = {one: asked[one] for one in (*QUESTION, "budget", "final")}
    asked["roles"] = asked.pop("map") or {}
    sketch = create(":memory:", name, listed, None, asked)
    check(sketch, table)
    wanted = sketch.specification
    from noisewise.study.log.events import first_row

    storage = nw.open_store(store, create=True)
    is_new = name not in storage.names()
    if is_new:
        try:
            storage.create(name, [first_row(wanted.to_plain())])
        except ValueError:
            if name not in storage.names():
                raise
            is_new = False  # another run has just made it
    study = nw.load_study(store, name)
    _refuse_another(study.specification, wanted)
    return Begun(study, table, is_new)


def _refuse_another(found: "Specification", wanted: "Specification") -> None:
    """Refuse a study that was made with something else."""
    which = f"study {printable(found.name)!r} is there already, and"
    advice = "leave --new and its flags out to go on with it, or give another name (--study) or store"
    old, new = found.catalogue, wanted.catalogue
    before, now = set(old.ids), set(new.ids)
    if more := [option for option in new.ids if option not in before]:
        raise ValueError(
            f"{which} was not made with the option {printable(more[0])!r}: {advice}; `noisewise add` adds "
            "options."
        )
    if gone := [option for option in old.ids if option not in now]:
        raise ValueError(
            f"{which} was made with the option {printable(gone[0])!r} as well: {advice}; `noisewise exclude` "
            "takes options out."
        )
    for part in (*(one.name for one in fields(found) if one.name not in APART), "policy"):
        if _value(found, part) != _value(wanted, part):
            made, typed = _said(found, part), _said(wanted, part)
            typed = typed if made != typed else f"{typed} with these options"
            raise ValueError(
                f"{which} was made with `{STATED.get(part, part)}` {made}, and not {typed}: {advice}."
            )
    if old.fingerprint != new.fingerprint or old.features != new.features:
        raise ValueError(f"{which} its table of options had other features or costs: {advice}.")


def _value(question: "Specification", part: str) -> Any:
    """A part of the question; of the policy not the version, which the same line may have made earlier."""
    value = getattr(question, part)
    return (value.name, value.options) if part == "policy" else value


def _said(question: "Specification", part: str) -> str:
    """The same in a few words."""
    value = getattr(question, part)
    if value is None:
        return "none"
    if part == "eps":
        return question.value_scale.stated(value)
    if part == "policy":
        return str(value.name)
    return printable(" ".join(map(str, value)) if isinstance(value, tuple | list) else str(value))[:60]
