"""The page of the JSON interface, made from its types."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from noisewise.server.app import make_app
from noisewise.server.auth.roles import Role, role_of, routes_of
from noisewise.stores import MemoryStorage

HEAD = """\
# The JSON interface

All operations of a server of [`noisewise serve`](serve.md), with their requests and responses. A running
server describes them as OpenAPI at `/api/v1/openapi.json`.

- A body is one JSON object; unknown fields, and numbers in quotes, are refused.
- Names of studies in addresses: write `~1` for `/`, and `~0` for `~`.
- Responses about a study have an `ETag`, the number of its last event: with `If-None-Match` the server
  responds only if something is new, with `If-Match` it refuses a change if something else has changed. A
  request with an `Idempotency-Key` counts once, however often it is sent.
- Errors are `application/problem+json`, with a sentence in `detail`. The table at the end lists the
  meaning of each status.
"""
#: Headers and parameters that many operations share, and the head of the page explains.
SHARED = ("study", "if-match", "if-none-match", "idempotency-key")
#: What is explained nowhere else, because it means the same everywhere.
COMMON = {
    "ending": "`jsonl`, `csv` or `parquet`.",
    "limit": "The most rows of a page.",
    "what": "The table.",
}
METHODS = ("get", "post", "put", "patch", "delete")


def http_reference() -> str:
    """The whole page."""
    app = make_app(MemoryStorage())
    said = app.openapi()
    roles = {(method, path): role_of(route) for method, path, route in routes_of(app.routes)}
    groups: dict[str, list[str]] = {}
    statuses: dict[str, str] = {}
    for path, operations in said["paths"].items():
        for method in (word for word in METHODS if word in operations):
            operation = Operation(method, path, operations[method], said["components"]["schemas"])
            role = roles[method.upper(), path]
            groups.setdefault(operation.said["tags"][0], []).extend(operation.lines(role))
            statuses |= operation.refusals()
    lines = [HEAD]
    for group, rows in groups.items():
        lines += [f"## {group.capitalize()}", "", *rows]
    lines += ["## Refusals", "", "| status | what it means |", "|---|---|"]
    lines += [f"| {status} | {text} |" for status, text in sorted(statuses.items())]
    return "\n".join(lines) + "\n"


class Operation(NamedTuple):
    """One operation, as OpenAPI describes it."""

    method: str
    path: str
    said: dict[str, Any]
    schemas: dict[str, Any]

    def lines(self, role: Role | None) -> list[str]:
        """Its purpose, parameters, response and roles."""
        rows = [*self._parameters(), *self._body()]
        done = next(status for status in self.said["responses"] if status.startswith("2"))
        kinds = ", ".join(f"`{kind}`" for kind in self.said["responses"][done].get("content", {}))
        who = "For everybody." if role is None else f"Needs the role {role.word}."
        lines = [f"### `{self.method.upper()} {self.path}`", "", _one_line(self.said["description"]), ""]
        if rows:
            lines += ["| takes | type | what it is |", "|---|---|---|", *rows, ""]
        return [*lines, f"{who} Answers {done}" + (f" with {kinds}." if kinds else "."), ""]

    def refusals(self) -> dict[str, str]:
        """The meaning of each error status."""
        answers = self.said["responses"].items()
        return {status: answer["description"] for status, answer in answers if not status.startswith("2")}

    def _parameters(self) -> Iterator[str]:
        for one in self.said.get("parameters", ()):
            if one["name"].lower() not in SHARED:
                name = {"query": "?", "header": "header "}.get(one["in"], "") + one["name"]
                text = one.get("description") or COMMON.get(one["name"], "")
                yield _row(name, one["schema"], one.get("required", False), text)

    def _body(self) -> Iterator[str]:
        """The fields of its body."""
        body = self.said.get("requestBody", {}).get("content", {}).get("application/json")
        if body is None:
            return
        models = _named(body["schema"])
        for model in models:
            schema = self.schemas[model]
            needed = schema.get("required", ()) if len(models) == 1 else ()
            for field, kind in schema.get("properties", {}).items():
                text = kind.get("description") or COMMON.get(field, "")
                yield _row(field, kind, field in needed, text)


def _named(schema: dict[str, Any]) -> list[str]:
    """The models that a body may be."""
    if "$ref" in schema:
        return [schema["$ref"].rpartition("/")[2]]
    choices = schema.get("anyOf", schema.get("oneOf", []))
    return [name for choice in choices for name in _named(choice)]


def _row(name: str, schema: dict[str, Any], needed: bool, text: str) -> str:
    bar = text.replace("\\|", "|").replace("|", "\\|")
    return f"| `{name}` | {'**needed** ' if needed else ''}{_type(schema)} | {_one_line(bar)} |"


def _type(schema: dict[str, Any]) -> str:
    """A type in a word or two."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    for choices in (schema.get("anyOf"), schema.get("oneOf")):
        if choices:
            return " or ".join(dict.fromkeys(_type(one) for one in choices if one.get("type") != "null"))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))


def _one_line(text: str) -> str:
    return " ".join(text.split())
