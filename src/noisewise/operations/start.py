"""Beginning a study: `init`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from noisewise.core.refusals import RefusedError
from noisewise.operations import tables
from noisewise.operations.opening import library
from noisewise.operations.table import Api, Arg, Between, Group, Opt, Result, Role, Typed, operation
from noisewise.operations.tables import (
    AllowMissing,
    Arms,
    Chosen,
    Counts,
    Decimal,
    HowMany,
    Ignore,
    Map,
    Network,
    Options,
    Where,
)
from noisewise.operations.values import (
    Amount,
    Bounds,
    ItemPool,
    Names,
    Seconds,
    Size,
    file_or_input,
    named_with_options,
)

if TYPE_CHECKING:
    from noisewise.study.study import Study

Deviation = Annotated[Size | None, Opt("How far options deviate from a linear model: a number, or estimate.")]
ExtraScatter = Annotated[
    Size | None, Opt("Scatter that the error bars leave out: a number, or estimate; 0 for none.")
]
Span = Annotated[Amount | None, Opt('The most by which two options can differ; with {scale="log"} a factor.')]


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
            *([counted(self.told or 0, "measurement")] if found is not None else []),
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
        "Options": "id features cost items",
        "Results to begin with": "results map ignore decimal where n allow_missing_se network arms "
        "counts choose looks",
        "How values scatter": "scale noise noise_floor bounds scatter extra_scatter",
        "Model and suggestions": "model deviation span policy budget lease seed",
    },
    examples=(
        ("Three options; 0.5 from the best is good enough", "init study.db red green blue --eps 0.5"),
        ("Options from a table, the smallest wins", "init study.db recipes.csv --goal min --eps 2"),
        ("A table of results, and more to come", "init study.db --from results.csv --eps 2"),
        ("Within 2 % of the fastest", "init study.db gcc clang --goal min --scale log --eps 2%"),
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
    allow_missing_se: AllowMissing = False,
    network: Network = False,
    arms: Arms = False,
    counts: Counts = None,
    choose: Chosen = None,
    dry_run: Annotated[bool, Opt("Only show what would be made, and how results are understood.")] = False,
    id: Annotated[str | None, Opt("The column with the names.", metavar="COLUMN")] = None,
    features: Annotated[
        Names | None,
        Opt("Columns for a linear model, with commas between them.", "--features", "-f", metavar="COLUMNS"),
    ] = None,
    cost: Annotated[str | None, Opt("The column with the cost of a measurement.", metavar="COLUMN")] = None,
    model: Annotated[
        Literal["independent", "linear", "linear+deviation"], Opt("independent, linear or linear+deviation.")
    ] = "independent",
    goal: Annotated[Literal["max", "min"], Opt("max or min.")] = "max",
    eps: Annotated[
        Amount | None, Opt('How far from the best is good enough; with {scale="log"} such as 2%.')
    ] = None,
    confidence: Annotated[float, Opt("Confidence level of the certificate.")] = 0.95,
    span: Span = None,
    deviation: Deviation = None,
    extra_scatter: ExtraScatter = None,
    budget: Annotated[int | None, Opt("The number of measurements there will be, if that is fixed.")] = None,
    looks: Annotated[
        Literal["any time", "once"],
        Opt("The table is all there will be: smaller bounds, valid for one look.", "--final", flag="once"),
    ] = "any time",
    bounds: Annotated[Bounds | None, Opt("The least and the largest that a single reading can be.")] = None,
    scatter: Annotated[
        Literal["own", "pooled"] | None,
        Opt(
            "own: readings of every option scatter in their own way; pooled: alike; default: what fits the "
            "first measurement."
        ),
    ] = None,
    noise: Annotated[
        Literal["normal", "heavy", "symmetric"],
        Opt("normal, or heavy: errors may have any tails; error bars are standard errors."),
    ] = "normal",
    items: Annotated[
        ItemPool | None,
        Opt("The items that every option is measured on: a table with a column item, or how many."),
    ] = None,
    unit: Annotated[str | None, Opt("The unit of the values, such as ms or %.")] = None,
    scale: Annotated[
        Literal["linear", "log"],
        Opt("linear, or log where ratios matter: then {eps} is in per cent.", metavar="SCALE"),
    ] = "linear",
    policy: Annotated[str | None, Opt("The rule that makes suggestions, as name:option=value.")] = None,
    noise_floor: Annotated[
        Amount | None, Opt("The least standard error; smaller ones are raised to it.")
    ] = None,
    lease: Annotated[Seconds | None, Opt("For how many days a suggestion is reserved; default: 7.")] = None,
    seed: Annotated[
        int | None,
        Opt("Random seed of the order of {items} and of the rule; default: a new one, or 0."),
        Between(0, 2**63 - 1),
    ] = None,
    name: Annotated[str, Opt("The study's name.", "--study", "-s", metavar="NAME")] = "study",
    reader: Annotated[
        str | None, Api("The tool whose files {results} are; default: what they look like.")
    ] = None,
) -> InitOutcome:
    """Begin a study: which of these options is the best?"""
    question = {
        "decimal": decimal, "id": id if options else None, "features": features, "cost": cost, "model": model,
        "goal": goal, "eps": eps, "confidence": confidence, "span": span, "deviation": deviation,
        "extra_scatter": extra_scatter, "budget": budget, "looks": looks, "bounds": bounds,
        "scatter": scatter, "noise": noise, "items": items, "unit": unit, "scale": scale, "policy": policy,
        "noise_floor": noise_floor, "lease": lease, "seed": seed,
    }  # fmt: skip
    of_results = map or ignore or choose or network or arms
    if results is None and (of_results or not options):
        remedy = "{map}, {ignore}, {choose}, {network} and {arms} go with {results}."
        raise RefusedError(None, "init needs {options}, or {results=TABLE}", remedy=remedy)
    tables.check_choices(choose)
    understood = None
    if results is not None:
        reading = tables.reading_of(map, ignore, decimal, allow_missing_se, network, arms, counts, where, n)
        described = [*(features or ()), *([cost] if cost else ())]
        understood = _understood(
            results if reader is None else (reader, results), reading, choose or {}, unit, described,
            None if options else id,
        )  # fmt: skip
    study = create(":memory:" if dry_run else store, name, options, understood, question)
    return _made(study, str(store), question, understood, dry_run)


#: Parameters of `init` that are about the question; `run --new` takes them as well.
QUESTION = (
    "decimal", "id", "features", "cost", "model", "goal", "eps", "confidence", "span", "deviation",
    "extra_scatter", "bounds", "scatter", "noise", "items", "unit", "scale", "policy",
    "noise_floor", "lease", "seed",
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
    chosen: tuple[str | None, dict[str, Any]] = (None, {})
    if question["policy"]:
        chosen = named_with_options(question["policy"], "policy")
    bounds = question["bounds"]
    asked = question | {
        "policy": chosen[0],
        "policy_options": chosen[1],
        "features": question["features"] or None,
        "bounds": None if bounds is None else (bounds[0], bounds[1]),
    }
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
    asked = {part: question[part] for part in ("model", "goal", "budget")}
    return InitOutcome(
        study=study.name, options=len(study.options), notes=study.notes, policy=study.policy, **asked,
        looks=study.looks, told=told, dry_run=dry_run, understood=plain, one_look=one_look, _store=store,
        _log=question["scale"] == "log", _understood=understood,
    )  # fmt: skip


def _understood(
    results: Any, reading: Any, choices: Any, unit: str | None, described: Any, option: str | None
) -> Any:
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
        return tables.understood_table(source, reading, described, option, hint=hint)
    if described or option is not None or any(reading.values()):
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
