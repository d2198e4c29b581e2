"""What changes a study on a server: asking, telling, correcting; each is done once, however often sent."""

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from noisewise.core.support.ranges import ASKED, check_count_within
from noisewise.study.log.jobs import Job
from noisewise.study.log.told import Measurement, Told, check_arguments
from noisewise.study.stores.protocol import OutcomeUnknownError
from noisewise.web.client.connection import ServerConnection, path_of
from noisewise.web.client.plain_objects import (
    id_of,
    job_from,
    measurement_from,
    new_key,
    number_to_send,
    told_to_send,
)
from noisewise.web.client.server_refusals import understanding


class RemoteChanges:
    """The changes that a study can be asked for, made by its server."""

    def __init__(self, connection: ServerConnection, name: str, read_only: bool = False) -> None:
        self._connection, self._name, self._read_only = connection, name, read_only
        #: By thread: the last change whose answer was lost, and its key. The same call again repeats it.
        self._unanswered: dict[int, tuple[tuple[str, str], str]] = {}

    @property
    def name(self) -> str:
        """The study's name on its server."""
        return self._name

    def ask(
        self,
        n: int = 1,
        sigma: float | str | None = None,
        *,
        block: str | None = None,
        probe: Literal["option", "difference"] | None = None,
        dry_run: bool = False,
        lease: float | None = None,
        by: str | None = None,
        items: int | None = None,
    ) -> list[Job]:
        """What to measure next; see `Study.ask`. With tokens, `by` is the token's name."""
        check_count_within("n", n, ASKED)
        said = {"n": n, "block": block, "probe": probe, "lease": lease, "by": by, "items": items}
        said["sigma"] = None if sigma is None else number_to_send("sigma", sigma)
        said["dry_run"] = True if dry_run else None
        answer = self._change("asks", said, keyed=not dry_run, writes=not dry_run)
        with understanding(self._connection.address):
            return [job_from(row) for row in answer["jobs"]]

    def tell(self, job: Job | str | None = None, value: Any = None, **told: Unpack[Told]) -> Measurement:
        """Take the result of a measurement, asked for or not; see `Study.tell`."""
        check_arguments(told, "tell")
        said = told_to_send(job, value, told)
        # The log knows an answer to a suggestion by itself; any other needs a key to be known again.
        known = "job" in said or "key" in said
        return self._measurements_in(self._change("tells", said, keyed=not known))[0]

    def tell_all(self, tellings: Sequence[Mapping[str, Any]]) -> list[Measurement]:
        """Take several results, each the arguments of `tell`: all of them or none."""
        rows = []
        for one in tellings:
            told = {name: part for name, part in one.items() if name not in ("job", "value")}
            check_arguments(told, "tell")
            rows.append(told_to_send(one.get("job"), one.get("value"), told))
        return self._tell_rows(rows)

    def _tell_rows(self, rows: list[dict[str, Any]]) -> list[Measurement]:
        known = all("job" in row or "key" in row for row in rows)
        return self._measurements_in(self._change("tells", {"tells": rows}, keyed=not known))

    def _measurements_in(self, answer: dict[str, Any]) -> list[Measurement]:
        with understanding(self._connection.address):
            found = [measurement_from(row) for row in answer["measurements"]]
            if not found:
                raise KeyError("a measurement")
            return found

    def fail(self, job: Job | str | Sequence[Job | str], reason: str) -> None:
        """A suggestion, or several, could not be measured; they are free again, and the reason is kept."""
        self._change("fail", {"jobs": _ids(job), "reason": reason})

    def release(self, job: Job | str | Sequence[Job | str], reason: str | None = None) -> None:
        """Give a suggestion, or several, back unmeasured: all of them, or none."""
        self._change("release", {"jobs": _ids(job), "reason": reason})

    def void(self, measurement: Measurement | str | int, reason: str) -> None:
        """Make a measurement count no longer; it stays in the log."""
        self._change("void", {"measurement": id_of(measurement), "reason": reason})

    def amend(
        self, measurement: Measurement | str | int, reason: str, value: Any = None, **told: Any
    ) -> Measurement:
        """Correct a measurement: what is said anew replaces what was told; the old stays in the log."""
        check_arguments(told, "amend")
        said = told_to_send(None, value, told) | {"measurement": id_of(measurement), "reason": reason}
        return self._measurements_in(self._change("amend", said))[0]

    def mend(self, event: int, reason: str) -> None:
        """Settle that an event of the log that cannot be used, and is ignored, stays so; say why."""
        self._change("mend", {"event": event, "reason": reason})

    def exclude(self, option: str, reason: str) -> None:
        """Take an option out: it is neither asked for nor recommended. Its measurements stay."""
        self._change("exclude", {"option": option, "reason": reason})

    def include(self, option: str) -> None:
        """Take an excluded option back in."""
        self._change("include", {"option": option})

    def add_options(self, options: Any, *, id: str | None = None, decimal: str | None = None) -> list[str]:
        """Add options to the catalogue, with the same columns as the first ones; returns their names."""
        said = {"options": _rows_of(options), "id": id, "decimal": decimal}
        answer = self._change("add", said)
        with understanding(self._connection.address):
            return [str(name) for name in answer["added"]]

    def set_policy(self, name: str | None = None, **options: Any) -> None:
        """Let another policy ask, or the same one in the version that the server has."""
        self._change("policy", {"name": name, "options": options})

    def switch(
        self,
        model: str | None = None,
        *,
        deviation: float | str | None = None,
        extra_scatter: float | str | None = None,
        span: float | str | None = None,
        looks: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Use another model from now on; see `Study.switch`."""
        said = {
            "model": model, "deviation": deviation, "extra_scatter": extra_scatter, "span": span,
            "looks": looks, "reason": reason,
        }  # fmt: skip
        self._change("switch", said)

    def _change(self, verb: str, said: dict[str, Any], *, keyed: bool = True, writes: bool = True) -> Any:
        """Let the server do something, once."""
        if self._read_only and writes:
            raise PermissionError(
                f"{self._connection.address} was opened for reading only. Nothing was written."
            )
        said = {name: part for name, part in said.items() if part is not None}
        call, thread = (verb, json.dumps(said, sort_keys=True, default=str)), threading.get_ident()
        before = self._unanswered.pop(thread, None)
        key = before[1] if before is not None and before[0] == call else new_key()
        try:
            return self._connection.post(path_of("studies", self._name, verb), said, key if keyed else None)
        except (OutcomeUnknownError, KeyboardInterrupt):
            self._unanswered[thread] = call, key
            raise


def _ids(job: Job | str | Sequence[Job | str]) -> list[str | None]:
    jobs = [job] if isinstance(job, Job | str) else list(job)
    if not jobs:
        raise ValueError("`job` must be at least one suggestion; got none.")
    return [id_of(one) for one in jobs]


def _rows_of(options: Any) -> list[Any]:
    """Names, or rows of a table."""
    if isinstance(options, list | tuple) and all(isinstance(one, str) for one in options):
        return list(options)
    from noisewise.study.inputs.tables import read_whole

    rows: list[Any] = read_whole("options", options).frame.to_dicts()
    return rows
