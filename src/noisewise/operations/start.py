"""Beginning a study: `init`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from noisewise.core.refusals import RefusedError
from noisewise.operations import tables
from noisewise.operations.opening import library
from noisewise.operations.table import Api, Arg, Between, Group, Opt, Result, Role, Typed, operation
from noisewise.operations.tables import (
    Decimal,
    HowMany,
    Ignore,
    Map,
    Options,
    Where,
)
from noisewise.operations.values import (
    Amount,
    Choices,
    Measure,
    Names,
    Size,
    file_or_input,
)

if TYPE_CHECKING:
    from noisewise.study.study import Study

Deviation = Annotated[Size | None, Opt("How far options deviate from a linear model: a number, or estimate.")]
ExtraScatter = Annotated[
    Size | None, Opt("Scatter that the error bars leave out: a number, or estimate; 0 for none.")
]


def first_results(text: str) -> Any:
    """The results that a study begins with: a table, or READER:FILE for a file of another tool."""
    reader, colon, file = text.partition(":")
    if colon and text != "-" and not Path(text).exists():
        from noisewise.study.readers.registry import AUTO, names

        if reader in (AUTO, *names()):
            return reader, file_or_input(file)
    return file_or_input(text)


@dataclass
class InitOutcome(Result):
    """A study that was made."""

    study: str
    options: int
    notes: list[str]
    policy: str
    model: str
    goal: str
    budget: int | None
    looks: str
    told: int | None
    dry_run: bool
    understood: dict[str, Any] | None
    one_look: str | None
    _store: str = ""
    _log: bool = False
    _understood: Any = field(default=None, repr=False)
    _amount: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; what is about results is there if there are any."""
        content = super().to_dict()
        apart = {"told", "understood", "one_look"} if self.understood is None else set()
        apart |= set() if self.one_look else {"one_look"}
        return {name: part for name, part in content.items() if name not in apart}

    def lines(self) -> list[str]:
        """Return what the study is about, and how results were understood."""
        from noisewise.core.text import counted
        from noisewise.study.stores.secrets import without_secrets
        from noisewise.study.telling.directions import about_direction

        found, sought = self._understood, "largest" if self.goal == "max" else "smallest"
        parts = [
            f"the {sought} of {counted(self.options, 'option')}",
            *([self._amount] if found is not None else []),
            f"{self.model} model{' on a log scale' if self._log else ''}",
            *([f"a budget of {counted(self.budget, 'measurement')}"] if self.budget is not None else []),
            *(["a finished table"] if self.looks == "once" else []),
        ]
        place = "(a dry run: nothing was made)" if self.dry_run else f"in {without_secrets(self._store)}"
        words = [f"Study {self.study!r} {place}: {', '.join(parts)}.", *self.notes]
        if found is None:
            return words
        words = [*(found.describe() if self.dry_run else filter(None, [found.sentence])), *words]
        if found.layout is None and "item" not in found.sources:
            empty = found.frame.height - (self.told or 0)
            words += [f"{counted(empty, 'row')} without a result."] if empty else []
        if found.unused and not self.dry_run:
            words.append(f"Columns not used: {', '.join(found.unused)}.")
        words += filter(None, [about_direction(found, self.goal)])
        if self.one_look:
            words.append(f"If this table were all there will be (--final): {self.one_look}")
        return words


@operation(
    Group.START,
    role=Role.OWNER,
    path="",
    status=201,
    method="create_study",
    on="shell http mcp",
    groups={
        "The question": "goal eps confidence unit name",
        "Options and results to begin with": "results map features ignore decimal where n choose",
        "What a measurement is": "measure errors scale final",
        "Model and suggestions": "model policy budget seed",
    },
    examples=(
        ("Three options; 0.5 from the best is good enough", "init study.db red green blue --eps 0.5"),
        ("Options from a table, the smallest wins", "init study.db recipes.csv --goal min --eps 2"),
        ("A table of results, and more to come", "init study.db --from results.csv --eps 2"),
        ("Within 2 % of the fastest", "init study.db gcc clang --goal min --scale log --eps 2%"),
        ("Ratings from 1 to 5", "init study.db A B C --measure ratings:1,5 --eps 0.2"),
        ("What another tool measured", "init study.db --from hyperfine:run.json --goal min --eps 0.01"),
    ),
)  # fmt: skip
def init(
    store: Any,
    options: Annotated[
        Options | None, Arg(f"A table ({tables.TABLES}), or names; not needed with {{results}}.")
    ] = None,
    *,
    results: Annotated[
        Annotated[str | dict[str, str], Typed(first_results, "TABLE", file=True)] | None,
        Opt(
            "Results to begin with: options, their features and the measurements come from this table; "
            "hyperfine:run.json is a file of another tool.",
            "--from",
        ),
    ] = None,
    map: Map = None,
    ignore: Ignore = None,
    decimal: Decimal = None,
    where: Where = None,
    n: HowMany = None,
    choose: Annotated[
        Choices | None,
        Opt(
            "Anything else about the results: layout=network, layout=arms, allow-missing-se=yes, metric=acc."
        ),
    ] = None,
    dry_run: Annotated[bool, Opt("Only show what would be made, and how results are understood.")] = False,
    features: Annotated[
        Names | None,
        Opt("Columns for a linear model, with commas between them.", "--features", "-f", metavar="COLUMNS"),
    ] = None,
    measure: Annotated[
        Measure | None,
        Opt(
            "What a measurement is: error bars, counts, readings, rounds, ratings:1,5, or items:TABLE (or "
            "items:N), which every option is measured on; default: what is recorded first."
        ),
    ] = None,
    errors: Annotated[
        str | dict[str, Any] | None,
        Opt(
            "How errors behave: tails=heavy, extra=SIZE or extra=estimate (scatter that every error "
            "bar lacks), "
            "floor=AMOUNT (the least standard error), scatter=own or scatter=pooled.",
            metavar="NAME=VALUE,...",
        ),
    ] = None,
    scale: Annotated[
        Literal["linear", "log"],
        Opt("linear, or log where ratios matter: then {eps} is in per cent.", metavar="SCALE"),
    ] = "linear",
    unit: Annotated[str | None, Opt("The unit of the values, such as ms or %.")] = None,
    goal: Annotated[Literal["max", "min"], Opt("max or min.")] = "max",
    eps: Annotated[
        Amount | None, Opt('How far from the best is good enough; with {scale="log"} such as 2%.')
    ] = None,
    confidence: Annotated[float, Opt("Confidence level of the certificate.")] = 0.95,
    model: Annotated[
        str | None,
        Opt(
            "independent, linear, linear+deviation, smooth, or with the size of deviations, such as "
            "smooth:SIZE; default: linear with {features}, else independent.",
            metavar="MODEL",
        ),
    ] = None,
    budget: Annotated[int | None, Opt("The number of measurements there will be, if that is fixed.")] = None,
    policy: Annotated[str | None, Opt("The rule that makes suggestions, as name:option=value.")] = None,
    final: Annotated[
        bool, Opt("The table is all there will be: smaller bounds, valid for one look.")
    ] = False,
    seed: Annotated[
        int | None,
        Opt("Random seed of the order of items and of the rule; default: a new one, or 0."),
        Between(0, 2**63 - 1),
    ] = None,
    name: Annotated[str, Opt("The study's name.", "--study", "-s", metavar="NAME")] = "study",
    reader: Annotated[
        str | None, Api("The tool whose files {results} are; default: what they look like.")
    ] = None,
) -> InitOutcome:
    """Begin a study: which of these options is the best?"""
    if results is None and (choose or not options):
        raise RefusedError(
            None, "init needs {options}, or {results=TABLE}", remedy="{choose} goes with {results}."
        )
    tables.check_choices(choose)
    roles, understood = dict(map or {}), None
    if results is not None:
        of_table = {
            "options": options, "map": map, "ignore": ignore, "decimal": decimal, "where": where, "n": n,
        }  # fmt: skip
        source = results if reader is None else (reader, results)
        understood = _understood(source, of_table, dict(choose or {}), unit, features)
        roles = {role: roles[role] for role in ("option", "cost") if role in roles}
    question = {
        "decimal": decimal, "roles": roles, "features": features, "model": model, "measure": measure,
        "errors": errors, "scale": scale, "unit": unit, "goal": goal, "eps": eps, "confidence": confidence,
        "budget": budget, "policy": policy, "final": final, "seed": seed,
    }  # fmt: skip
    study = create(":memory:" if dry_run else store, name, options, understood, question)
    return _made(study, str(store), question, understood, dry_run)


#: Parameters of `init` that are about the question; `run --new` takes them as well.
QUESTION = (
    "decimal", "map", "features", "measure", "errors", "scale", "unit", "goal", "eps", "confidence", "model",
    "policy", "seed",
)  # fmt: skip


def create(store: Any, name: str, options: Any, results: Any, question: dict[str, Any]) -> "Study":
    """Make a study.

    Args:
        store: The store.
        name: The study's name.
        options: Names or a table; None if they are in the results.
        results: A table that was understood, or None.
        question: The parameters of `init` that are about the question.
    """
    asked = question | {"features": question["features"] or None}
    listed = tables.columns_of(options)
    made: Study = library().create_study(store, name=name, options=listed, results=results, **asked)
    return made


def _made(
    study: "Study", store: str, question: dict[str, Any], understood: Any, dry_run: bool
) -> InitOutcome:
    from noisewise.study.answer import one_look_at

    told, plain, one_look = None, None, None
    if understood is not None:
        told, plain = study.n_measurements, understood.to_plain()
        seen = one_look_at(study) if study.looks != "once" else None
        one_look = None if seen is None else seen.sentence
    asked = {"model": study.model, "goal": question["goal"], "budget": question["budget"]}
    return InitOutcome(
        study=study.name, options=len(study.options), notes=study.notes, policy=study.policy, **asked,
        looks=study.looks, told=told, dry_run=dry_run, understood=plain, one_look=one_look, _store=store,
        _log=question["scale"] == "log", _understood=understood,
        _amount="" if told is None else study.certificate().amount,
    )  # fmt: skip


#: What can be chosen about a table, besides its columns.
OF_TABLES = ("layout", "counts", "allow_missing_se")


def _understood(
    results: Any, asked: dict[str, Any], choices: dict[str, Any], unit: str | None, features: Any
) -> Any:
    roles = dict(asked["map"] or {})
    described = [*(features or ()), *([roles.pop("cost")] if "cost" in roles else [])]
    if asked["options"]:
        roles.pop("option", None)
    of_table = {name: choices.pop(name) for name in OF_TABLES if name in choices}
    layout = of_table.get("layout")
    missing = of_table.get("allow_missing_se") in ("yes", "true", True)
    reading = tables.reading_of(
        roles or None, asked["ignore"], asked["decimal"], missing, layout == "network", layout == "arms",
        of_table.get("counts"), asked["where"], asked["n"],
    )  # fmt: skip
    reader, source = results if isinstance(results, tuple) else (None, results)
    of_tool = isinstance(source, dict) or (
        isinstance(source, Path) and (source.suffix.lower() in tables.OF_TOOLS or source.is_dir())
    )
    if reader is None and of_tool and isinstance(source, Path) and source.suffix.lower() != ".eval":
        from noisewise.study.readers.registry import likely

        of_tool = source.is_dir() or not source.is_file() or bool(likely(source))
    if reader is None and not of_tool:
        if choices:
            raise RefusedError(
                "choose", "goes with files of other tools, such as {results=hyperfine:run.json}"
            )
        hint = f"{{results=READER:{source}}}"
        return tables.understood_table(source, reading, described, hint=hint)
    if described or any(reading.values()):
        shown = str(source) if isinstance(source, Path) else reader or "auto"
        problem = "{shown!r} is a file of another tool: what is said about columns is for tables"
        raise RefusedError(None, problem, shown=shown)
    from noisewise.study.readers.registry import choose, given_files, read

    def read_files(files: Any) -> Any:
        given = given_files(files)
        chosen = choose(given, reader or "auto")
        own = {"unit": unit} if unit is not None and "unit" in chosen.choices else {}
        return read(given, chosen.name, **own | choices)

    return tables.understood_files(source, reader or "auto", read_files)
