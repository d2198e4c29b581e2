"""What changes a study on a server: asking, telling, correcting; each is done once, however often sent."""

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from noisewise.client.connection import ServerConnection, path_of, written
from noisewise.client.server_refusals import FormError, understanding, warnings_in
from noisewise.operations.objects import (
    job_from,
    job_id,
    measurement_from,
    measurement_id,
    new_key,
    number_to_send,
    text_to_send,
    told_to_send,
)
from noisewise.study.log.jobs import Job
from noisewise.study.log.told import Measurement, Told, check_arguments
from noisewise.study.stores.protocol import OutcomeUnknownError

if TYPE_CHECKING:
    from noisewise.study.study import Study

#: What is to be sent, and the same change of a study on this machine: which says best why it is refused.
Said = Callable[[], dict[str, Any]]
Here = Callable[["Study"], Any]


class RemoteChanges:
    """The changes that a study can be asked for, made by its server."""

    def __init__(self, connection: ServerConnection, name: str, read_only: bool = False) -> None:
        self._connection, self._name, self._read_only = connection, name, read_only
        #: By thread: the last change whose answer was lost, and its key. The same call again repeats it.
        self._unanswered: dict[int, tuple[tuple[str, bytes], str]] = {}

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
        asked: dict[str, Any] = {"block": block, "probe": probe, "lease": lease, "by": by, "items": items}

        def said() -> dict[str, Any]:
            expected = None if sigma is None else number_to_send("sigma", sigma)
            texts = {name: text_to_send(name, asked[name]) for name in ("block", "by")}
            return {"n": n, "sigma": expected, "dry_run": True if dry_run else None, **asked, **texts}

        answer = self._change(
            "asks", said, lambda here: here.ask(n, sigma, dry_run=dry_run, **asked),
            keyed=not dry_run, writes=not dry_run,
        )  # fmt: skip
        return self._jobs_in(answer)

    def _ask_at_once(self, n: int, *, by: str) -> list[Job]:
        said = {"n": n, "by": by, "at_once": True}
        return self._jobs_in(self._change("asks", lambda: said, lambda here: here._ask_at_once(n, by=by)))

    def _jobs_in(self, answer: dict[str, Any]) -> list[Job]:
        with understanding(self._connection.address):
            return [job_from(row) for row in answer["jobs"]]

    def tell(self, job: Job | str | None = None, value: Any = None, **told: Unpack[Told]) -> Measurement:
        """Take the result of a measurement, asked for or not; see `Study.tell`."""
        check_arguments(told, "tell")
        answer = self._change(
            "tells",
            lambda: told_to_send(job, value, told),
            lambda here: here.tell(job, value, **told),
            # The log knows an answer to a suggestion by itself; any other needs a key to be known again.
            keyed=job is None and told.get("key") is None,
        )
        return self._measurements_in(answer)[0]

    def tell_all(self, results: Sequence[Mapping[str, Any]]) -> list[Measurement]:
        """Take several results, each the arguments of `tell`: all of them or none."""
        rows = list(results)
        if not rows:
            return []

        def said() -> dict[str, Any]:
            found = []
            for one in rows:
                told = {name: part for name, part in one.items() if name not in ("job", "value")}
                check_arguments(told, "tell")
                found.append(told_to_send(one.get("job"), one.get("value"), told))
            return {"tells": found}

        known = all(one.get("job") is not None or one.get("key") is not None for one in rows)
        return self._measurements_in(
            self._change("tells", said, lambda here: here.tell_all(rows), keyed=not known)
        )

    def _measurements_in(self, answer: dict[str, Any]) -> list[Measurement]:
        with understanding(self._connection.address):
            found = [measurement_from(row) for row in answer["measurements"]]
            if not found:
                raise KeyError("a measurement")
            return found

    def fail(self, job: Job | str | Sequence[Job | str], reason: str) -> None:
        """A suggestion, or several, could not be measured; they are free again, and the reason is kept."""
        self._change(
            "fail",
            lambda: {"jobs": _ids(job), "reason": text_to_send("reason", reason)},
            lambda here: here.fail(job, reason),
        )

    def release(self, job: Job | str | Sequence[Job | str], reason: str | None = None) -> None:
        """Give a suggestion, or several, back unmeasured: all of them, or none."""
        self._change(
            "release",
            lambda: {"jobs": _ids(job), "reason": text_to_send("reason", reason)},
            lambda here: here.release(job, reason),
        )

    def void(self, measurement: Measurement | str | int, reason: str) -> None:
        """Make a measurement count no longer; it stays in the log."""
        self._change(
            "void",
            lambda: {"measurement": measurement_id(measurement), "reason": text_to_send("reason", reason)},
            lambda here: here.void(measurement, reason),
        )

    def amend(
        self, measurement: Measurement | str | int, reason: str, value: Any = None, **told: Any
    ) -> Measurement:
        """Correct a measurement: what is said anew replaces what was told; the old stays in the log."""
        check_arguments(told, "amend")

        def said() -> dict[str, Any]:
            which = {"measurement": measurement_id(measurement), "reason": text_to_send("reason", reason)}
            return told_to_send(None, value, told) | which

        answer = self._change(
            "amend",
            said,
            lambda here: here.amend(measurement, reason, value, **told),
        )
        return self._measurements_in(answer)[0]

    def exclude(self, option: str, reason: str) -> None:
        """Take an option out: it is neither asked for nor recommended. Its measurements stay."""

        def said() -> dict[str, Any]:
            return {
                "option": text_to_send("option", option), "reason": text_to_send("reason", reason)
            }  # fmt: skip

        self._change("exclude", said, lambda here: here.exclude(option, reason))

    def include(self, option: str) -> None:
        """Take an excluded option back in."""
        self._change(
            "include", lambda: {"option": text_to_send("option", option)}, lambda here: here.include(option)
        )

    def add_options(self, options: Any, *, id: str | None = None, decimal: str | None = None) -> list[str]:
        """Add options to the catalogue, with the same columns as the first ones; returns their names."""
        answer = self._change(
            "add",
            lambda: {"options": self._to_add(options, id, decimal), "id": id, "decimal": decimal},
            lambda here: here.add_options(options, id=id, decimal=decimal),
        )
        with understanding(self._connection.address):
            return [str(name) for name in answer["added"]]

    def _to_add(self, options: Any, id: str | None, decimal: str | None) -> Any:
        """Names, or the columns of a table that a study here takes."""
        listed = isinstance(options, list | tuple)
        if listed and all(isinstance(one, str) for one in options):
            return list(options)
        names = self._alone().add_options(options, id=id, decimal=decimal)
        if listed and not any(isinstance(one, Mapping) for one in options):
            return names
        from noisewise.study.inputs.tables import read_whole

        return read_whole("options", options).frame.to_dict(as_series=False)

    def set_policy(self, name: str | None = None, **options: Any) -> None:
        """Let another policy ask, or the same one in the version that the server has."""
        said = {"name": name, "options": options}
        self._change("policy", lambda: said, lambda here: here.set_policy(name, **options))

    def switch(
        self,
        model: str | None = None,
        *,
        deviation: float | str | None = None,
        extra_scatter: float | str | None = None,
        final: bool | None = None,
        reason: str | None = None,
    ) -> None:
        """Use another model from now on; see `Study.switch`."""
        said: dict[str, Any] = {
            "deviation": deviation, "extra_scatter": extra_scatter, "final": final, "reason": reason,
        }  # fmt: skip
        self._change("switch", lambda: {"model": model, **said}, lambda here: here.switch(model, **said))

    def _change(
        self,
        verb: str,
        said: Said,
        here: Here,
        *,
        keyed: bool = True,
        writes: bool = True,
        only_at: int | None = None,
        warns: bool = True,
    ) -> Any:
        """Let the server do something, once.

        Args:
            verb: Where it is sent.
            said: What is sent.
            here: The same on a study that is here, to know why something of another form is refused.
            keyed: Whether the server needs a key to know it again.
            writes: Whether it changes anything.
            only_at: The number of events that the log must have.
            warns: Whether to warn of what the server warns of.
        """
        if self._read_only and writes:
            raise PermissionError(
                f"{self._connection.address} was opened for reading only. Nothing was written."
            )
        try:
            content = written({name: part for name, part in said().items() if part is not None})
        except (TypeError, ValueError, KeyError, AttributeError) as problem:
            raise self._refused_here(here, problem) from None
        call, thread = (verb, content), threading.get_ident()
        before = self._unanswered.pop(thread, None)
        key = before[1] if before is not None and before[0] == call else new_key()
        try:
            answer = self._connection.post(
                path_of("studies", self._name, verb), content, key if keyed else None, only_at=only_at
            )
        except FormError as problem:
            raise self._refused_here(here, problem) from None
        except (OutcomeUnknownError, KeyboardInterrupt):
            self._unanswered[thread] = call, key
            raise
        for category, message in warnings_in(answer) if warns else ():
            warnings.warn(message, category, stacklevel=3)
        return answer

    def _refused_here(self, here: Here, problem: Exception) -> Exception:
        """Why a study on this machine would not do it, tried on a copy of the log that nobody keeps."""
        try:
            here(self._alone())
        except (ValueError, KeyError, TypeError) as refusal:
            return refusal
        except OSError:  # the log cannot be had
            pass
        return ValueError(*problem.args) if isinstance(problem, FormError) else problem

    def _alone(self) -> "Study":
        """The study as it is now, in memory."""
        raise NotImplementedError


def _ids(job: Job | str | Sequence[Job | str]) -> list[str | None]:
    jobs = [job] if isinstance(job, Job | str) else list(job)
    if not jobs:
        raise ValueError("`job` must be at least one suggestion; got none.")
    return [job_id(one) for one in jobs]
