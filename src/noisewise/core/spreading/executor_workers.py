"""Any executor of `concurrent.futures` as workers: processes, loky, mpi4py, executorlib."""

import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import replace
from typing import Any

from noisewise.core.parallel import WorkersError
from noisewise.core.spreading.arithmetic import arithmetic
from noisewise.core.spreading.identity import identity
from noisewise.core.spreading.tasks import Kit, Task
from noisewise.core.spreading.workers import Piece, Result, Workforce

#: Seconds between looks at what is finished: Ctrl-C gets through.
TICK = 0.5


class ExecutorWorkers(Workforce):
    """An executor, which stays open: it is somebody else's."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def count(self) -> int:
        """What the executor says, if it does; else one per processor here."""
        said = getattr(self._executor, "_max_workers", None)
        return said if isinstance(said, int) and said > 0 else os.cpu_count() or 1

    def executor(self) -> Executor:
        """Itself."""
        return self._executor

    def arithmetics(self, compiled: bool) -> set[str]:
        """What one of them says: an executor does not tell them apart."""
        return {self._executor.submit(arithmetic, compiled).result()}

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
        """See `Workforce.spread`; an executor knows no homes."""
        plain = Task(work, identity())
        waiting: defaultdict[Hashable | None, list[Piece]] = defaultdict(list)
        for piece in pieces:
            waiting[None if kit is None else kit.of(piece)].append(piece)
        making: dict[Future[Any], Hashable] = {}
        running: dict[Future[Any], Piece] = {}
        try:
            for piece in waiting.pop(None, []):
                running[self._executor.submit(plain, shared, piece)] = piece
            for key, same in waiting.items():
                assert kit is not None
                making[self._executor.submit(Task(kit.make, identity()), shared, same[0])] = key
            while running or making:
                done, _ = wait([*running, *making], timeout=TICK, return_when=FIRST_COMPLETED)
                for future in done:
                    if future in making:
                        made = _outcome(future, "what the pieces need")
                        task = replace(plain, install=kit.install if kit else None)
                        for piece in waiting.pop(making.pop(future)):
                            running[self._executor.submit(task, shared, piece, (made,))] = piece
                    else:
                        piece = running.pop(future)
                        yield piece, _outcome(future, name_of(piece))
        finally:
            for future in [*running, *making]:
                future.cancel()


def _outcome(future: "Future[Any]", name: str) -> Any:
    try:
        return future.result()
    except BrokenExecutor as error:
        raise WorkersError(
            f"The executor broke while it did {name} ({error}): a process of it died, and it cannot go on; "
            "what is finished is kept."
        ) from error
