"""What programs may send and get, as pydantic models: for HTTP and for the tools of an assistant."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from noisewise.core.checks import nearest
from noisewise.core.refusals import JSON, RefusedError, Sentence, SeveralRefusedError, WrongTypeError
from noisewise.operations.table import Operation, Param, Result

#: What a value should have been, by pydantic's names for what is wrong with it.
KINDS = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "int_parsing_size": "a whole number", "float_type": "a number", "float_parsing": "a number",
    "finite_number": "a finite number", "string_type": "a text", "bool_type": "true or false",
    "bool_parsing": "true or false", "list_type": "a list", "dict_type": "an object",
    "too_long": "shorter", "too_short": "longer", "string_too_long": "shorter",
}  # fmt: skip


def given_model(
    op: Operation, params: Iterable[Param], base: type[BaseModel] | None = None
) -> type[BaseModel]:
    """What may be given to an operation: an object with nothing else in it.

    Only the types of values are checked here. Choices and limits are described, and the study checks them, so
    that there is one sentence about each.
    """
    fields: dict[str, Any] = {}
    for param in params:
        kind: Any = param.annotation
        more: dict[str, Any] = {}
        if get_origin(param.type) is Literal:
            kind = str if param.required else str | None
            more = {"enum": [*get_args(param.type), *([] if param.required else [None])]}
        if param.limits is not None:
            more = {"minimum": param.limits.least, "maximum": param.limits.most}
        about = Field(description=Sentence(param.form.help).said(JSON), json_schema_extra=more)
        fields[param.name] = (Annotated[kind, about], ... if param.required else param.default)
    name = f"{op.name.title().replace('_', '')}Given"
    if base is not None:
        return create_model(name, __base__=base, **fields)
    return create_model(name, __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields)


def answer_model(outcome: type[Result], about: dict[str, Any]) -> type[BaseModel]:
    """What an answer has: the fields of the outcome, derived from its annotations."""
    from typing import get_type_hints

    hints = {name: kind for name, kind in get_type_hints(outcome).items() if not name.startswith("_")}
    fields: dict[str, Any] = {name: (kind | None, None) for name, kind in hints.items()}
    config = ConfigDict(extra="allow", protected_namespaces=())
    return create_model(f"{outcome.__name__}Answer", __config__=config, **about | fields)


def wrong_kinds(errors: Sequence[Any], known: Sequence[str]) -> RefusedError:
    """All that is wrong with the types of what was given, in the words of a study."""
    found: dict[str, RefusedError] = {}
    whole: dict[str, list[str]] = {}
    for error in errors:
        place = [str(part) for part in error["loc"] if part not in ("body", "query")]
        if not place:
            return RefusedError(None, "the body must be one JSON object; nothing was changed")
        name, kind = place[0], error["type"]
        if kind == "missing":
            found[name] = RefusedError(name, "must be given")
        elif kind == "extra_forbidden":
            hint = nearest(name, sorted(known)).strip()
            problem = "there is no parameter {name!r}"
            found[name] = RefusedError(None, problem, remedy="{hint}", name=name, hint=hint)
        else:
            whole.setdefault(name, []).append(KINDS.get(kind, "of another type"))
            listed = " or ".join(dict.fromkeys(whole[name]))
            found[name] = WrongTypeError(name, f"must be {listed}", got=_short(error["input"]))
    problems = list(found.values())
    return problems[0] if len(problems) == 1 else SeveralRefusedError(problems)


def _short(value: Any) -> Any:
    """A value as a message shows it."""
    text = repr(value)
    return value if len(text) <= 60 else f"{text[:60]}…"
