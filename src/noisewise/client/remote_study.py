"""A study on a server, with the verbs of one on this machine.

Asking, telling, the certificate and a whole run are requests to the server, and load neither NumPy nor the
log. Whatever else is computed from a log (check, plan, worth, slot, tables, charts, reports) is computed
here, from a copy of it that only reads what is new: the same code gives the same objects.
"""

import math
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from noisewise.client.connection import ServerConnection, path_of
from noisewise.client.remote_changes import RemoteChanges
from noisewise.client.remote_log import RemoteLog
from noisewise.client.server_refusals import understanding
from noisewise.operations.objects import certificate_from, job_from
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.inputs.value_scale import LOG, ValueScale
from noisewise.study.log.events import Event
from noisewise.study.log.jobs import Job

if TYPE_CHECKING:
    import polars as pl

    from noisewise.study.certificates.check import Check
    from noisewise.study.intake.batch import Taken
    from noisewise.study.intake.item_tables import TakenItems
    from noisewise.study.log.specification import Specification
    from noisewise.study.planning.plan import Plan
    from noisewise.study.planning.slot import Slot
    from noisewise.study.planning.worth import Worth
    from noisewise.study.running.limits import Until
    from noisewise.study.running.run import StudyRun
    from noisewise.study.running.studied import Runnable
    from noisewise.study.showing.league import League
    from noisewise.study.showing.plots import Plots
    from noisewise.study.study import Frame, Study

#: What a server says of where a study stands.
STATUS = (
    "measurements", "model", "deviation", "extra_scatter", "eps", "policy", "budget_left", "pending",
    "certificate", "notes", "head", "event",
)  # fmt: skip


class RemoteStudy(RemoteChanges):
    """A study on a server: made by `noisewise.load_study` with an address."""

    def __init__(self, connection: ServerConnection, name: str, read_only: bool = False) -> None:
        super().__init__(connection, name, read_only)
        self._log = RemoteLog(connection)
        self._seen: tuple[str, dict[str, Any]] | None = None  # the version that was looked at last
        self._certified: tuple[str, Certificate] | None = None
        self._glanced: tuple[str, float] | None = None
        self._copied: Study | None = None
        self._costs: dict[str, float] | None = None  # empty: there are none
        #: By thread: the last table whose answer was lost, what was to become of it, and at which event.
        self._lost_tables: dict[int, tuple[dict[str, Any], Taken | TakenItems, int]] = {}

    # What the server says.

    def certificate(self) -> Certificate:
        """Which option to take now, how far it can be from the best, and what that rests on."""
        path, known = path_of("studies", self._name, "certificate"), self._certified
        reply = self._connection.get(path, tag=None if known is None else known[0])
        if reply.status == 304 and known is not None:
            return known[1]
        plain = self._connection.json_of(reply)
        with understanding(self._connection.address):
            found = certificate_from(plain["certificate"])
        self._certified = None if reply.tag is None else (reply.tag, found)
        return found

    def _status(self) -> dict[str, Any]:
        seen = self._seen  # other threads look as well
        reply = self._connection.get(path_of("studies", self._name), tag=None if seen is None else seen[0])
        if reply.status != 304 or seen is None:
            plain = self._connection.json_of(reply)
            with understanding(self._connection.address):
                seen = reply.tag or "", plain | {name: plain[name] for name in STATUS}
            self._seen = seen
        return seen[1]

    def status(self) -> dict[str, Any]:
        """Where it stands, as the server says it: what ``noisewise status --json`` prints."""
        apart = ("study", "event", "words")
        return {name: part for name, part in self._status().items() if name not in apart}

    @property
    def pending(self) -> list[Job]:
        """Suggestions that are under way."""
        self._seen = None  # they also expire, which is no event
        return [job_from(row) for row in self._status()["pending"]]

    @property
    def n_events(self) -> int:
        """How many events the log has."""
        return int(self._status()["event"])

    @property
    def n_measurements(self) -> int:
        """How many measurements count."""
        return int(self._status()["measurements"])

    @property
    def budget_left(self) -> int | None:
        """Measurements that are left of the budget, below 0 if more were made; None if there is none."""
        return cast("int | None", self._status()["budget_left"])

    @property
    def model(self) -> str:
        """The present model."""
        return str(self._status()["model"])

    @property
    def deviation(self) -> float | None:
        """How far options deviate from their weighted sums; None in other models."""
        return cast("float | None", self._status()["deviation"])

    @property
    def extra_scatter(self) -> float | None:
        """What is added to every error bar, in squares; None if nothing is."""
        return cast("float | None", self._status()["extra_scatter"])

    @property
    def policy(self) -> str:
        """Who asks."""
        return str(self._status()["policy"])

    @property
    def notes(self) -> list[str]:
        """What was noticed when the catalogue was read, and whether there is anything to choose from."""
        return list(self._status()["notes"])

    @property
    def head(self) -> str:
        """The last hash of the log's chain, in hexadecimal: it stands for everything that happened."""
        return str(self._status()["head"])

    @property
    def looks(self) -> str:
        """How often its bounds may be looked at: "any time", or "once"."""
        return str(self._status()["certificate"]["looks"])

    @property
    def eps(self) -> float | None:
        """How far from the best is close enough; on a log scale, of logarithms."""
        return cast("float | None", self._status()["eps"])

    @property
    def value_scale(self) -> ValueScale:
        """How its numbers are read and shown."""
        plain = self._status()["certificate"]
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
            path = path_of("studies", self._name, "options")
            page = self._connection.json_of(self._connection.get(path, {"after": after, "limit": 10_000}))
            with understanding(self._connection.address):
                rows += page["rows"]
                after = page["next"]
        return rows

    # A run.

    def _bound_now(self) -> float:
        path, known = path_of("studies", self._name, "bound"), self._glanced
        reply = self._connection.get(path, tag=None if known is None else known[0])
        if reply.status == 304 and known is not None:
            return known[1]
        plain = self._connection.json_of(reply)
        with understanding(self._connection.address):
            found = math.inf if plain["bound"] is None else float(plain["bound"])
        self._glanced = None if reply.tag is None else (reply.tag, found)
        return found

    def run(
        self,
        measure: Callable[[Job], Any],
        *,
        workers: int = 1,
        until: "Until" = "certified",
        budget: Any = None,
        timeout: float | None = None,
        retries: int = 0,
        on_error: str = "fail",
        on: Any = None,
        progress: bool = True,
    ) -> "StudyRun":
        """Ask, measure and tell until the certificate allows to stop; see `Study.run`."""
        from noisewise.study.running.run import run

        return run(
            cast("Runnable", self), measure, workers=workers, until=until, budget=budget, timeout=timeout,
            retries=retries, on_error=on_error, on=on, progress=progress,
        )  # fmt: skip

    # What is computed here.

    def _copy(self) -> "Study":
        """The study as a reader of the server's log; it catches up whenever it is asked."""
        if self._copied is None:
            from noisewise.study.study import Study

            self._copied = Study(self._log, self._name)
        return self._copied

    def _alone(self) -> "Study":
        from noisewise.study.stores.protocol import MemoryStorage
        from noisewise.study.study import Study

        storage = MemoryStorage()
        storage.create(self._name, self._log.read(self._name))
        return Study(storage, self._name)

    @property
    def specification(self) -> "Specification":
        """The question."""
        return self._copy().specification

    @property
    def last_change(self) -> float | None:
        """When the last event was appended, in seconds since 1970; None before the first."""
        return self._copy().last_change

    def check(self) -> "Check":
        """Whether the measurements fit the model and their own error bars, and what to do if not."""
        return self._copy().check()

    def plan(self, *args: Any, **asked: Any) -> "Plan":
        """How many more measurements until the bound is at most eps; see `Study.plan`."""
        return self._copy().plan(*args, **asked)

    def slot(self, *args: Any, **asked: Any) -> "list[Slot]":
        """What to do with opportunities whose error bar is known; see `Study.slot`."""
        return self._copy().slot(*args, **asked)

    def worth(self, *args: Any, **asked: Any) -> "Worth":
        """What each measurement contributed; see `Study.worth`."""
        return self._copy().worth(*args, **asked)

    def frame(self, what: "Frame" = "options") -> "pl.DataFrame":
        """The measurements, options, events or items as a polars frame."""
        return self._copy().frame(what)

    def league(self, against: str | None = None) -> "League":
        """Compare all options: estimates with the certificate's intervals; see `Study.league`."""
        return self._copy().league(against)

    @property
    def plot(self) -> "Plots":
        """Charts: ``plot.intervals()``, ``.bound()``, ``.worth()``, ``.residuals()``, ``.plan()``."""
        return self._copy().plot

    def report(self, path: str | PathLike[str], **asked: Any) -> Path:
        """Write everything as one HTML page; see `Study.report`."""
        return self._copy().report(path, **asked)

    def analysis(self) -> Any:
        """The fits behind everything that is said, at this moment."""
        return self._copy().analysis()

    def next_items(self, option: str, n: int | None = None) -> list[str]:
        """The items that come next for an option; see `Study.next_items`."""
        return self._copy().next_items(option) if n is None else self._copy().next_items(option, n)

    def events(self, until: int | None = None) -> list[Event]:
        """The log, or its beginning; its chain of hashes is computed afresh here."""
        return self._copy().events(until)

    def head_at(self, number: int) -> str:
        """The hash of an event, which stands for the log up to it; 0: of the specification alone."""
        return self._copy().head_at(number)

    def export(self, path: str | PathLike[str]) -> None:
        """Write the specification and the log as JSON lines; `noisewise.rebuild_study` reads them."""
        from noisewise.study.log.export import write_log

        write_log(self._log, self._name, path)

    # Tables.

    def tell_many(self, measurements: Any, **asked: Any) -> "Taken | TakenItems":
        """Take a table of results; if one row is bad, none is taken. See `Study.tell_many`."""
        from noisewise.client.remote_tables import tell_table

        return tell_table(self, measurements, **asked)

    def read_from(self, files: Any, reader: str = "auto", **choices: Any) -> Any:
        """What `import_from` would tell: rows in the unit of this study."""
        return self._copy().read_from(files, reader, **choices)

    def import_from(self, files: Any, reader: str = "auto", **asked: Any) -> "Taken | TakenItems":
        """Tell what files of other tools say; see `Study.import_from`."""
        from noisewise.study.reader_entries import ReaderEntries

        return ReaderEntries.import_from(cast("ReaderEntries", self), files, reader, **asked)

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()

    def __repr__(self) -> str:
        said = self._status().get("words")
        return "\n".join(said) if said else repr(self._copy())

    def _repr_html_(self) -> str:
        return self._copy()._repr_html_()
