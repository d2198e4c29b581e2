"""The workers of a Dask cluster; the only module that knows Dask, and only futures of it.

Dask does a piece again where the worker that had it died, and so it does what pieces depend on: a kit is a
task like any other. Nothing is kept on workers between calls but what work itself keeps in memory.
"""

import contextlib
import functools
import hashlib
import itertools
import queue
import uuid
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from noisewise.core.parallel import WorkersError
from noisewise.core.spreading.identity import Identity, identity
from noisewise.core.spreading.tasks import Kit, SpreadOrder, StrangerError, Task
from noisewise.core.spreading.workers import Piece, Result, Workforce, is_address, is_dask

try:
    import dask
    import distributed
    from distributed import Client, Security
except ImportError as missing:
    raise ModuleNotFoundError(
        f"`on` must be left out or an executor here: clusters need Dask, which is not installed ({missing}): "
        "pip install 'noisewise[cluster]'."
    ) from missing

#: Seconds to wait for a scheduler to answer, and for a first worker before a word is said.
TO_CONNECT, TO_JOIN = 10.0, 10.0
#: Seconds without a finished piece, after which it is looked whether the rest can still be done.
TO_LOOK = 2.0
#: Tasks for each thread, above which Dask keeps them in one queue for whoever is free.
QUEUED = 2
#: Pieces that are named in a sentence.
NAMED = 3


#: What became of a piece whose workers all died.
DIED = object()


def connect(on: Any) -> "DaskWorkers":
    """The workers of a client, of a cluster, or of the scheduler at an address or in a file."""
    if isinstance(on, Client):
        if on.asynchronous:
            raise TypeError("`on` must be a client that waits; got an asynchronous one.")
        return DaskWorkers(on, ours=False)
    if is_dask(on):
        return DaskWorkers(Client(on, set_as_default=False), ours=True)
    if not is_address(on) and not Path(on).is_file():  # Dask would wait for the file for ever
        raise FileNotFoundError(
            "`on` must be the address of a Dask scheduler, such as 'tcp://10.0.0.1:8786', or its scheduler "
            f"file; got {on!r}, which is no file that exists."
        )
    if on.startswith("tls://") and not Security().get_connection_args("client").get("ssl_context"):
        # Dask would say so by a TypeError, and wait for the client it has half made.
        raise WorkersError(
            f"`on` must be reached with certificates at {on!r}, and Dask's configuration names none: set "
            "distributed.comm.tls.client.cert and .key, and distributed.comm.tls.ca-file."
        )
    where: dict[str, Any] = {"address": on} if is_address(on) else {"scheduler_file": on}
    try:
        return DaskWorkers(Client(**where, timeout=TO_CONNECT, set_as_default=False), ours=True)
    except (OSError, TimeoutError, ValueError, RuntimeError, KeyError) as error:
        raise WorkersError(
            f"`on` must lead to a Dask scheduler that answers; {on!r} does not: {_first_line(error)}."
        ) from None


class DaskWorkers(Workforce):
    """The workers that a client reaches, each looked at before it is used.

    Args:
        client: Of Dask.
        ours: Whether to close it in the end.
    """

    def __init__(self, client: Client, *, ours: bool) -> None:
        self.client, self._ours = client, ours
        self._here = identity()
        self._looked_at: dict[str, Identity] = {}

    @property
    def count(self) -> int:
        """The threads of all workers."""
        return max(1, int(sum(self.client.nthreads().values())))

    def close(self) -> None:
        """Close the client if it was made here."""
        if self._ours:
            self.client.close()

    def processors(self) -> dict[str, list[str]]:
        """The addresses of the workers there are, by the type of their processor; strangers are refused."""
        self._wait_for_one()
        there = list(self.client.nthreads())
        if unknown := [address for address in there if address not in self._looked_at]:
            self._looked_at |= self._look_at(unknown)
        by_type: defaultdict[str, list[str]] = defaultdict(list)
        for address in there:
            if address in self._looked_at:
                by_type[self._looked_at[address].compiled].append(address)
        return dict(by_type)

    def executor(self) -> Executor:
        """The client as an executor, once its workers have been looked at."""
        self.processors()
        made: Executor = self.client.get_executor(pure=False)
        return made

    def arithmetics(self, compiled: bool) -> set[str]:
        """Of the workers that are there now."""
        there = {address for addresses in self.processors().values() for address in addresses}
        known = [one for address, one in self._looked_at.items() if address in there]
        return {one.compiled if compiled else one.plain for one in known}

    def spread(
        self,
        work: Callable[..., Result],
        pieces: Iterable[Piece],
        *,
        shared: Any = None,
        kit: Kit | None = None,
        home_of: Callable[[Piece], Any] | None = None,
        name_of: Callable[[Piece], str] = repr,
    ) -> Iterator[tuple[Piece, Result]]:
        """See `Workforce.spread`. A piece that kills its workers is named when all others are done."""
        order = SpreadOrder(work, shared, kit, home_of)
        left, suspects = dict(enumerate(pieces)), []
        for placed in (True, False):
            for number, result in self._attempt(order, dict(left), placed):
                piece = left.pop(number)
                if result is DIED:
                    suspects.append(piece)
                else:
                    yield piece, result
        # Others may only have been on the same workers: alone, a piece can kill for itself only.
        deadly: list[str] = []
        for number, piece in enumerate(suspects):
            ((_, result),) = self._attempt(order, {0: piece}, False)
            if result is not DIED:
                yield piece, result
                continue
            deadly.append(name_of(piece))
            if len(deadly) == NAMED and number + 1 < len(suspects):
                deadly[-1] += f" and perhaps {len(suspects) - number - 1} more"
                break
        if deadly:
            raise WorkersError(
                "Every worker that began one of these died, so they were given up, and all others are done: "
                f"{', '.join(deadly)}. Often workers run out of memory: their logs say so."
            )

    def _attempt(self, order: SpreadOrder, todo: dict[int, Any], placed: bool) -> Iterator[tuple[int, Any]]:
        """Do the pieces, and yield their numbers with what came out.

        With ``placed``, pieces are meant for certain workers, and some are left if all of these went away.
        """
        if not todo:
            return
        work, _, kit, _ = order
        there = self.processors()
        by_type = there if placed else {}
        # Dask balances groups of tasks by the first part of their keys; each attempt has groups of its own.
        call = f"{getattr(work, '__name__', 'work').strip('_')}-{uuid.uuid4().hex[:12]}"
        running: dict[Any, int] = {}
        kits: dict[Hashable | None, list[Any]] = {None: []}
        # A task and not scattered data: Dask does it again where the worker that had it is gone.
        common = None
        if order.shared is not None:
            common = self._submit(_same, order.shared, key=(f"noisewise-shared-{call}", 0))
        try:
            for count, ((key, home), same) in enumerate(order.batches(todo).items()):
                task = Task(work, self._here, kit.install if kit is not None and key is not None else None)
                if kit is not None and key not in kits:
                    name = f"noisewise-kit-{call}-{len(kits)}"
                    kits[key] = self._kits(kit, common, todo[same[0]], by_type, name)
                group, content = f"noisewise-{call}-{count}", [todo[number] for number in same]
                futures = self._submit_many(task, common, content, group, kits[key], home, by_type)
                running |= dict(zip(futures, same, strict=True))
            yield from self._as_done(running, call, by_type)
        finally:
            # What nobody waits for any longer is not begun; what runs is thrown away when it is done.
            waited = [future for future in running if not future.done()]
            if waited and self.client.status == "running":
                self.client.cancel([*waited, *(one for made in kits.values() for one in made)])

    def _kits(self, kit: Kit, common: Any, piece: Any, by_type: dict[str, list[str]], name: str) -> list[Any]:
        """One for each type of processor; with one type only, whoever is free makes it."""
        several = len(by_type) > 1
        places = list(by_type.values()) or [[]]
        return [
            self._submit(
                Task(kit.make, self._here), common, piece, key=(name, number), priority=10,
                workers=addresses if several else None, allow_other_workers=several,
            )
            for number, addresses in enumerate(places)
        ]  # fmt: skip

    def _submit(self, task: Any, *arguments: Any, **how: Any) -> Any:
        with _quiet(), _sayable():
            return self.client.submit(task, *arguments, pure=False, **how)

    def _submit_many(
        self, task: Task, common: Any, pieces: Sequence[Any], group: str, kits: list[Any],
        home: Hashable | None, by_type: dict[str, list[str]],
    ) -> list[Any]:  # fmt: skip
        """A future for each of the pieces."""
        keys = [(group, number) for number in range(len(pieces))]
        do, more = functools.partial(_do, task), {"shared": common, "kits": kits, "pure": False}
        with _quiet(), _sayable():
            if by_type and home is not None:
                where = {"workers": [_host_of(home, by_type)], "allow_other_workers": True}
                return list(self.client.map(do, pieces, key=keys, **more, **where))
            threads = self.client.nthreads()
            if not by_type or len(pieces) > QUEUED * sum(threads.values()):
                return list(self.client.map(do, pieces, key=keys, **more))
            # Few tasks go where what they need is, which may be one worker: every one gets its own.
            turns = itertools.cycle([address for address, count in threads.items() for _ in range(count)])
            return [
                self.client.submit(
                    do, piece, key=key, workers=[next(turns)], allow_other_workers=True, **more
                )
                for piece, key in zip(pieces, keys, strict=True)
            ]  # fmt: skip

    def _as_done(
        self, running: dict[Any, int], call: str, by_type: dict[str, list[str]]
    ) -> Iterator[tuple[int, Any]]:
        """The numbers of pieces with what came out; ends early if the rest would wait for ever."""
        finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for future in running:
            future.add_done_callback(finished.put)
        waiting, stranded = len(running), 0
        while waiting:
            try:
                future = finished.get(timeout=TO_LOOK)
            except queue.Empty:
                # Twice, because what is being finished just now is nowhere for a moment.
                stranded = stranded + 1 if self._is_stranded(call, by_type) else 0
                if stranded == 2:
                    return
                continue
            waiting, stranded = waiting - 1, 0
            result = _outcome(future)
            future.release()
            yield running[future], result

    def _is_stranded(self, call: str, by_type: dict[str, list[str]]) -> bool:
        """Whether nobody does, or will do, what is left.

        Dask forgets tasks that were meant for certain workers, other ones allowed, if all workers go away at
        the same time: those that join later are not given them.
        """
        there = self.client.nthreads()
        if not there or all(one in there for addresses in by_type.values() for one in addresses):
            return False
        return not any(call in str(key) for keys in self.client.processing().values() for key in keys)

    def _look_at(self, addresses: list[str]) -> dict[str, Identity]:
        """Who they are; refuses those who would compute something else, before the first piece."""
        answers = self.client.run(identity, workers=addresses, on_error="return")
        for address, answer in answers.items():
            if isinstance(answer, OSError):
                continue  # it went away meanwhile
            if not isinstance(answer, Identity):
                raise StrangerError(
                    f"The worker at {address} cannot run this noisewise ({_first_line(answer)}): install "
                    f"noisewise {self._here.versions['noisewise']} there as it is here, and start it again."
                )
            if (difference := answer.difference(self._here)) is not None:
                raise StrangerError(
                    f"The worker at {address} runs {difference}: install the same versions on all workers, "
                    "and start them again."
                )
        return {address: answer for address, answer in answers.items() if isinstance(answer, Identity)}

    def _wait_for_one(self) -> None:
        if self.client.nthreads():
            return
        try:
            self.client.wait_for_workers(1, timeout=TO_JOIN)
        except TimeoutError:
            warnings.warn(
                f"The scheduler at {self.client.scheduler.address} has no workers yet; the work begins when "
                "the first one joins. Ctrl-C gives up.",
                stacklevel=2,
            )
            self.client.wait_for_workers(1)


def _outcome(future: Any) -> Any:
    """What came out; `DIED` if every worker that did it died."""
    try:
        return future.result()
    except distributed.KilledWorker:
        return DIED
    except distributed.client.FutureCancelledError as error:
        raise WorkersError(
            "The connection to the scheduler was lost, or somebody cancelled the work there; what is "
            f"finished is kept ({_first_line(error)})."
        ) from error


def _host_of(home: Hashable, by_type: dict[str, list[str]]) -> str:
    """The worker with the largest hash of home and worker: few homes move when workers come or go."""
    everybody = [address for addresses in by_type.values() for address in addresses]
    return max(everybody, key=lambda one: hashlib.sha256(f"{home}@{one}".encode()).digest())


def _do(task: Task, piece: Any, *, shared: Any, kits: list[Any]) -> Any:
    return task(shared, piece, kits)


def _same(content: Any) -> Any:
    return content


def _quiet() -> Any:
    """Pieces may be large: Dask's advice to send data apart is not for people here."""
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


@contextlib.contextmanager
def _sayable() -> Iterator[None]:
    """Say in one sentence what a scheduler could not take."""
    try:
        yield
    except RuntimeError as error:
        raise WorkersError(_of_the_scheduler(error)) from error


def _of_the_scheduler(error: BaseException) -> str:
    """Schedulers read tasks as well, so they need what workers need."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ImportError):
        cause = cause.__cause__ or cause.__context__
    why = _first_line(cause or error)
    return f"The scheduler could not take the work ({why}): start it where the same noisewise is installed."


def _first_line(error: Any) -> str:
    said = str(error).strip() or type(error).__name__
    return f"{type(error).__name__}: {said.splitlines()[0]}" if isinstance(error, BaseException) else said
