"""A study on a server, with the methods of one on this machine.

Most methods are made from the operations: a request to the server, which loads neither NumPy nor the log.
What is computed from a log (check, plan, worth, tables, charts, reports) is computed here, from a copy of it
that only reads what is new: the same code gives the same objects.
"""

import inspect
import math
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from noisewise.client.connection import ServerConnection, path_of, understanding, warnings_in, written
from noisewise.operations.objects import event_from, job_from, measurement_id, new_key
from noisewise.operations.table import Operation, load_table
from noisewise.study.log.events import first_row, row_of
from noisewise.study.log.told import check_arguments
from noisewise.study.stores.protocol import NameTakenError, OutcomeUnknownError, Row
from noisewise.study.telling.scale import LOG, ValueScale

if TYPE_CHECKING:
    from noisewise.study.running.limits import Runnable
    from noisewise.study.running.run import StudyRun
    from noisewise.study.study import Study


#: Events of one page.
PAGE = 10_000
#: Seconds after a lost answer until the next try.
AFTER_LOSS = 0.2


class RemoteLog:
    """A store (`noisewise.study.stores.protocol.Storage`) whose changes are made by the server alone."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self._begun: dict[str, Row] = {}

    def names(self) -> list[str]:
        """The studies there are, the oldest first."""
        return [row["name"] for row in self.states(quick=True)]

    def states(self, quick: bool = False) -> list[dict[str, Any]]:
        """Where each of them is, as `noisewise list --json` prints it."""
        rows: list[dict[str, Any]] = []
        after: str | None = None
        while True:
            asked = {"after": after, "limit": 500, "quick": str(quick).lower()}
            page = self.connection.json_of(self.connection.get(path_of("studies"), asked))
            with understanding(self.connection.address):
                rows += page["states"]
                after = page.get("next")
            if after is None:
                return rows

    def read(self, name: str, first: int = 0, last: int | None = None) -> list[Row]:
        """The rows from one number to another."""
        found = [self._first(name)] if first == 0 else []
        place: int | None = max(0, first - 1)
        while place is not None and (last is None or place < last):
            many = PAGE if last is None else min(PAGE, last - place)
            reply = self.connection.get(path_of("studies", name, "events"), {"after": place, "limit": many})
            page = self.connection.json_of(reply)
            with understanding(self.connection.address):
                found += [row_of(event_from(row)) for row in page["rows"]]
                place = page["next"]
        return found

    def _first(self, name: str) -> Row:
        """What a study was made with, which never changes."""
        if name not in self._begun:
            reply = self.connection.get(path_of("studies", name, "specification"))
            plain = self.connection.json_of(reply)
            with understanding(self.connection.address):
                self._begun[name] = first_row(plain["specification"])
        return self._begun[name]

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        self._once(path_of("studies", "rename"), {"name": name, "new": new}, lambda: new in self.names())

    def create(self, name: str, rows: Sequence[Row]) -> None:
        """Begin a log."""
        from noisewise.study.log.export import lines_from

        self._once(
            path_of("studies", "rebuild"),
            {"log": "\n".join(lines_from(name, list(rows))), "name": name},
            lambda: [row.hash for row in self.read(name)] == [row.hash for row in rows],
        )

    def _once(self, path: str, said: dict[str, Any], done: Callable[[], bool]) -> None:
        """Make a change that the server cannot know again: after a lost answer, look whether it was made."""
        give_up, lost = time.monotonic() + self.connection.timeout, False
        while True:
            try:
                self.connection.post(path, said, again=False)
                return
            except OutcomeUnknownError:
                if time.monotonic() > give_up:
                    raise
                lost = True
                time.sleep(AFTER_LOSS)
            except (NameTakenError, KeyError):
                if not (lost and done()):
                    raise
                return

    def transaction(self, name: str) -> NoReturn:
        """Refused: the server decides what is written."""
        raise PermissionError(
            f"{self.connection.address} writes its logs itself: use the methods of the study that "
            "`load_study` returns."
        )

    def close(self) -> None:
        """Let go of the connections."""
        self.connection.close()


#: Properties that are fields of the status.
FROM_STATUS = {
    "n_measurements": "measurements", "n_events": "event", "model": "model", "deviation": "deviation",
    "extra_scatter": "extra_scatter", "policy": "policy", "notes": "notes", "head": "head", "eps": "eps",
    "budget_left": "budget_left",
}  # fmt: skip
#: Error bars that can be given beside a value.
ERROR_BARS = ("se", "var", "sd", "ci", "values")


class CachedAnswer(NamedTuple):
    """An answer, and the version of the study that it is about."""

    tag: str | None
    answer: Any


class RemoteStudy:
    """A study on a server, which `noisewise.load_study` opens by address.

    Methods that are not written here are made by `method_of`, at the end of this module.
    """

    ask: Callable[..., Any]
    certificate: Callable[..., Any]
    exclude: Callable[..., Any]
    status: Callable[..., dict[str, Any]]

    def __init__(self, connection: ServerConnection, name: str, read_only: bool = False) -> None:
        self._connection, self.name, self._read_only = connection, name, read_only
        self._log = RemoteLog(connection)
        self._seen: dict[Any, CachedAnswer] = {}  # by what was asked
        self._copied: Study | None = None
        self._costs: dict[str, float] | None = None  # empty: there are none
        #: By thread: the last change whose answer was lost, and its key. The same call again repeats it.
        self._unanswered: dict[int, tuple[tuple[str, bytes], str]] = {}

    def look(self, op: Operation, given: Mapping[str, Any]) -> Any:
        """Ask the server; what has not changed is not sent again."""
        asked, path = (op.name, repr(given)), path_of("studies", self.name, *filter(None, [op.path]))
        seen = self._seen.get(asked)
        reply = self._connection.get(path, given, None if seen is None else seen.tag)
        if reply.status == 304 and seen is not None:
            return seen.answer
        content = self._connection.json_of(reply)
        with understanding(self._connection.address):
            found = op.returns(content)
        self._seen[asked] = CachedAnswer(reply.tag, found)
        return found

    def change(
        self, op: Operation, given: Mapping[str, Any], *, only_at: int | None = None, warns: bool = True
    ) -> Any:
        """Let the server do something, once.

        Args:
            op: The operation.
            given: Its parameters.
            only_at: The number of events that the log must have.
            warns: Whether to repeat the warnings of the server.
        """
        writes = not given.get("dry_run", False)
        if self._read_only and writes:
            raise PermissionError(
                f"{self._connection.address} was opened for reading only. Nothing was written."
            )
        content = written(given)
        call, thread = (op.name, content), threading.get_ident()
        before = self._unanswered.pop(thread, None)
        key = before[1] if before is not None and before[0] == call else new_key()
        path = path_of("studies", self.name, *op.path.split("/"))
        try:
            answer = self._connection.post(
                path, content, key if writes and not _is_known(given) else None, only_at=only_at
            )
        except (OutcomeUnknownError, KeyboardInterrupt):
            self._unanswered[thread] = call, key
            raise
        for category, message in warnings_in(answer) if warns else ():
            warnings.warn(message, category, stacklevel=4)
        with understanding(self._connection.address):
            return op.returns(answer)

    def _do(self, operation: str, /, **given: Any) -> Any:
        """Do an operation by its name."""
        op = load_table()[operation]
        sent = {part: sendable(op, part, value) for part, value in given.items() if value is not None}
        return self.change(op, sent) if op.writes else self.look(op, sent)

    # Methods whose parameters have other names than those of the operation.

    def tell(self, job: Any = None, value: Any = None, **told: Any) -> Any:
        """Record the result of a measurement, asked for or not; see `Study.tell`."""
        check_arguments(told, "tell")
        if hasattr(value, "nominal_value") and hasattr(value, "std_dev"):  # of the package uncertainties
            if any(told.get(name) is not None for name in ERROR_BARS):
                raise ValueError("give the error bar once: the value has its own.")
            value, told = value.nominal_value, told | {"se": value.std_dev}
        return self._do("tell", job=job, value=value, **told)

    def tell_all(self, results: Sequence[Mapping[str, Any]]) -> Any:
        """Record several results, each the arguments of `tell`: all of them or none."""
        rows = list(results)
        for row in rows:
            check_arguments({name: row[name] for name in row if name not in ("job", "value")}, "tell")
        return self._do("tell_all", results=rows) if rows else []

    def release(self, job: Any, reason: str | None = None) -> None:
        """Give a suggestion, or several, back unmeasured: all of them, or none."""
        self._do("release", jobs=_listed(job), reason=reason)

    def fail(self, job: Any, reason: str) -> None:
        """Report that suggestions could not be measured; they are free again, and the reason is kept."""
        self._do("release", jobs=_listed(job), failed="" if reason is None else reason)

    def include(self, option: str) -> None:
        """Take an excluded option back in."""
        self.exclude(option, undo=True)

    def add_options(self, options: Any, *, id: str | None = None, decimal: str | None = None) -> Any:
        """Add options, with the same columns as the first ones; returns their names."""
        if isinstance(options, list | tuple):
            options = [one if isinstance(one, Mapping) else str(one) for one in options]
        else:
            from noisewise.study.tables.sheet import read_whole

            options = read_whole("options", options).frame.to_dict(as_series=False)
        return self._do("add", options=options, id=id, decimal=decimal)

    def set_policy(self, name: str | None = None, **options: Any) -> None:
        """Let another rule make suggestions; see `Study.set_policy`."""
        self._do("policy", name=name, options=options)

    def tell_many(self, measurements: Any, **asked: Any) -> Any:
        """Record a table of results; if one row is bad, none is taken. See `Study.tell_many`."""
        from noisewise.client.tables import tell_table

        return tell_table(self, measurements, **asked)

    def import_from(self, files: Any, reader: str = "auto", **asked: Any) -> Any:
        """Record what files of other tools say; see `Study.import_from`."""
        from noisewise.study.study import Study

        return Study.import_from(cast(Study, self), files, reader, **asked)

    def run(self, measure: Callable[[Any], Any], **asked: Any) -> "StudyRun":
        """Ask, measure and tell until the certificate says you may stop; see `Study.run`."""
        from noisewise.study.running.run import run

        usual = {"workers": 1, "until": "certified", "budget": None, "timeout": None, "retries": 0,
                 "on_error": "fail", "on": None, "progress": True}  # fmt: skip
        return run(cast("Runnable", self), measure, **usual | asked)

    def _ask_at_once(self, n: int, *, by: str) -> Any:
        return self.ask(n, by=by, at_once=True)

    # What is more than a field of an answer.

    @property
    def pending(self) -> list[Any]:
        """Suggestions that are under way."""
        self._seen.pop(("status", "{}"), None)  # they also expire, which is not an event
        with understanding(self._connection.address):
            return [job_from(row) for row in self.status()["pending"]]

    @property
    def looks(self) -> str:
        """How often its bounds may be looked at: "any time", or "once"."""
        return str(self.status()["certificate"]["looks"])

    @property
    def value_scale(self) -> ValueScale:
        """How its numbers are read and shown."""
        plain = self.status()["certificate"]
        return ValueScale(plain.get("scale") == LOG, plain["goal"], plain.get("unit"))

    @property
    def options(self) -> list[str]:
        """The names of all options, added ones last."""
        return [str(row["option"]) for row in self._option_rows()]

    def cost_of(self, option: str) -> float:
        """What one measurement of an option costs; 1 where no costs were given."""
        if self._costs is None or (self._costs and option not in self._costs):
            rows = self._option_rows()
            self._costs = {str(row["option"]): float(row["cost"]) for row in rows if "cost" in row}
        return self._costs[option] if self._costs else 1.0

    def _option_rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            path = path_of("studies", self.name, "options")
            page = self._connection.json_of(self._connection.get(path, {"after": after, "limit": 10_000}))
            with understanding(self._connection.address):
                rows += page["rows"]
                after = page["next"]
        return rows

    def export(self, path: Any) -> None:
        """Write the specification and the log as JSON lines; `noisewise.rebuild_study` reads them."""
        from noisewise.study.log.export import write_log

        write_log(self._log, self.name, path)

    def _copy(self) -> "Study":
        """The study as a reader of the server's log; it catches up whenever it is asked."""
        if self._copied is None:
            from noisewise.study.study import Study

            self._copied = Study(self._log, self.name)
        return self._copied

    def __getattr__(self, name: str) -> Any:
        """What only looks is computed here, from a copy of the log."""
        if name.startswith("_") and name != "_repr_html_":
            raise AttributeError(name)
        return getattr(self._copy(), name)

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()

    def __repr__(self) -> str:
        return "\n".join(self.status()["summary"])


def sendable(op: Operation, name: str, value: Any) -> Any:
    """The value of a parameter as JSON has it: ids, plain numbers, texts, lists and objects."""
    if name == "measurement":
        return measurement_id(value)
    plain = _plain(value)
    is_text = name in op.params and op.params[name].type is str and isinstance(plain, int | float)
    return str(plain) if is_text else plain


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no number for it; the study says what to do
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return _plain(value.tolist()) if hasattr(value, "tolist") else getattr(value, "id", value)


def _is_known(given: Mapping[str, Any]) -> bool:
    """Whether the log recognises measurements by itself: they answer suggestions, or have their own keys."""
    rows = given.get("results", [given])
    return all(row.get("key") is not None or row.get("job") is not None for row in rows)


def _listed(job: Any) -> list[Any]:
    jobs = job if isinstance(job, list | tuple) and not hasattr(job, "id") else [job]
    if not jobs:
        raise ValueError("`job` must be at least one suggestion; got none.")
    return list(jobs)


def method_of(op: Operation) -> Callable[..., Any]:
    """The method of a study that an operation stands for."""
    declared = inspect.signature(op.function)
    first, *others = declared.parameters.values()
    others = [one for one in others if one.name not in op.params or not op.params[one.name].form.local]
    signature = declared.replace(parameters=[first.replace(name="self"), *others])

    def method(self: RemoteStudy, *args: Any, **more: Any) -> Any:
        said = signature.bind(self, *args, **more).arguments
        told = said.pop("told", {})
        check_arguments(told, op.name)
        return self._do(op.name, **{name: said[name] for name in said if name != "self"}, **told)

    method.__name__, method.__doc__ = op.method, op.help
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _add_methods() -> None:
    for op in load_table().values():
        if "client" in op.on and not op.here and op.method not in vars(RemoteStudy):
            setattr(RemoteStudy, op.method, method_of(op))
    for name, field in FROM_STATUS.items():
        setattr(RemoteStudy, name, property(_from_status(field)))


def _from_status(field: str) -> Callable[[RemoteStudy], Any]:
    return lambda self: self.status()[field]


_add_methods()
