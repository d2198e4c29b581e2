"""What programs may send and get, as pydantic models: for HTTP and for the tools of an assistant."""

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, is_typeddict

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError

from noisewise.core.checks import nearest
from noisewise.core.refusals import JSON, RefusedError, Sentence, SeveralRefusedError, WrongTypeError
from noisewise.operations.table import Operation, Param, fields_of

#: What a value should have been, by pydantic's names for what is wrong with it.
KINDS = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "int_parsing_size": "a whole number", "float_type": "a number", "float_parsing": "a number",
    "finite_number": "a finite number", "string_type": "a text", "bool_type": "true or false",
    "bool_parsing": "true or false", "list_type": "a list", "dict_type": "an object",
    "too_long": "shorter", "too_short": "longer", "string_too_long": "shorter",
}  # fmt: skip
#: Parts of a list, and names of an object.
MOST_LISTED, MOST_NAMES = 200_000, 10_000
TOO_MANY = "too_many_names"
#: Problems that a refusal names, and characters of a value that it shows.
MOST_NAMED, LONGEST = 20, 60


def given_model(
    op: Operation, params: Iterable[Param], base: type[BaseModel] | None = None
) -> type[BaseModel]:
    """What may be given to an operation: an object with nothing else in it.

    Only the types of values are checked here. Choices and limits are described, and the study checks them, so
    that there is one sentence about each.
    """
    return _model(f"{op.name.title().replace('_', '')}Body", params, base or Body)


def _model(name: str, params: Iterable[Param], base: type[BaseModel]) -> type[BaseModel]:
    given: dict[str, Any] = {}
    for param in params:
        kind: Any = _limited(param.annotation, base)
        more: dict[str, Any] = {}
        if get_origin(param.type) is Literal:
            kind = str if param.required else str | None
            more = {"enum": [*get_args(param.type), *([] if param.required else [None])]}
        if param.limits is not None:
            more = {"minimum": param.limits.least, "maximum": param.limits.most}
        about = Field(description=Sentence(param.form.help).said(JSON), json_schema_extra=more)
        given[param.name] = (Annotated[kind, about], ... if param.required else param.default)
    return create_model(name, __base__=base, **given)


def _limited(kind: Any, base: type[BaseModel]) -> Any:
    """A type whose lists stop at their first mistake, and whose objects have a limited number of names.

    A body of a few megabytes could otherwise make millions of errors, each a thousand bytes.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[(_limited(kind.__origin__, base), *kind.__metadata__)]
    if origin in (Union, UnionType):
        return Union[tuple(_limited(part, base) for part in parts)]  # noqa: UP007
    if origin is list:
        parts_of: Any = list.__class_getitem__(_limited(parts[0], base))
        return Annotated[parts_of, Field(max_length=MOST_LISTED, fail_fast=True)]
    if origin is dict:
        values: Any = dict.__class_getitem__((parts[0], _limited(parts[1], base)))
        return Annotated[values, BeforeValidator(_with_few_names)]
    if is_typeddict(kind):
        return _model(kind.__name__, fields_of(kind).values(), base)
    return kind


def _with_few_names(given: Any) -> Any:
    if isinstance(given, dict) and len(given) > MOST_NAMES:
        raise PydanticCustomError(
            TOO_MANY, f"an object with at most {MOST_NAMES:,} names; got {len(given):,}"
        )
    return given


class Body(BaseModel):
    """What is given to an operation."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=(), allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: Any) -> Any:
        return _with_few_names(given)

    def said(self) -> dict[str, Any]:
        """What was given, as plain values, without what was left out."""
        given = self.model_dump(exclude_unset=True)
        return {name: value for name, value in given.items() if value is not None}


class StrictBody(Body):
    """The same in JSON, where numbers are numbers and texts are texts."""

    model_config = ConfigDict(strict=True)


def answer_model(outcome: Any, about: dict[str, Any]) -> type[BaseModel]:
    """What an answer has: the fields of the outcome that programs see; of one or another, those of both."""
    kinds: tuple[Any, ...] = get_args(outcome) or (outcome,)
    seen = {one.name: one.type for kind in kinds for one in fields(kind) if not one.name.startswith("_")}
    given: dict[str, Any] = {name: (Union[kind, None], None) for name, kind in seen.items()}  # noqa: UP007
    config = ConfigDict(extra="allow", protected_namespaces=())
    return create_model(f"{kinds[0].__name__}Answer", __config__=config, **about | given)


def wrong_kinds(errors: Sequence[Any], known: Sequence[str]) -> RefusedError:
    """All that is wrong with the types of what was given, in the words of a study."""
    found: dict[str, RefusedError] = {}
    whole: dict[str, list[str]] = {}
    for error in errors:
        place = [str(part) for part in error["loc"] if part not in ("body", "query", "path", "header")]
        if not place:
            what = error["msg"] if error["type"] == TOO_MANY else "one JSON object"
            return RefusedError(None, "the body must be {what}; nothing was changed", what=what)
        name, kind = place[0], error["type"]
        if kind == "missing":
            found[name] = RefusedError(name, "must be given")
        elif kind == "extra_forbidden":
            hint = nearest(name, sorted(known)).strip()
            problem = "there is no parameter {name!r}"
            found[name] = RefusedError(None, problem, remedy="{hint}", name=name[:LONGEST], hint=hint)
        else:
            whole.setdefault(name, []).append(error["msg"] if kind == TOO_MANY else KINDS.get(kind, kind))
            listed = " or ".join(dict.fromkeys(whole[name]))
            got = {} if kind == TOO_MANY else {"got": _Shown(reprlib.repr(error.get("input")))}
            found[name] = WrongTypeError(name, "must be {listed}", listed=listed, **got)
        if len(found) == MOST_NAMED:
            break
    problems = list(found.values())
    return problems[0] if len(problems) == 1 else SeveralRefusedError(problems)


class _Shown(str):
    """What a message shows of a value that may be long."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
