"""Pieces of work spread over processes: different rules side by side, and each compiled once at most."""

import multiprocessing
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def spread(
    work: Callable[[Piece], Result],
    pieces: Iterable[Piece],
    at_once: int,
    code_of: Callable[[Piece], Hashable],
) -> Iterator[tuple[Piece, Result]]:
    """Do every piece and yield it when it is done, with what came out.

    Threads would not help: Python runs one of them at a time, and Numba compiles one function at a time.

    Args:
        work: A function that another process can import.
        pieces: Things that can be pickled.
        at_once: How many processes.
        code_of: What a piece compiles, if that is not on the disk yet: the first piece with each such code
            goes first, and the others wait for it.
    """
    waiting: defaultdict[Hashable, list[Piece]] = defaultdict(list)
    for piece in pieces:
        waiting[code_of(piece)].append(piece)
    count = sum(map(len, waiting.values()))
    if at_once == 1 or count <= 1:
        for same in waiting.values():
            for piece in same:
                yield piece, work(piece)
        return
    # A fresh interpreter each: threads of BLAS do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(at_once, count), mp_context=context) as pool:
        first = [same.pop(0) for same in waiting.values()]
        running: dict[Future[Result], Piece] = {pool.submit(work, piece): piece for piece in first}
        try:
            while running:
                # A time limit lets Ctrl-C through to this thread.
                finished, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in finished:
                    result = future.result()
                    piece = running.pop(future)
                    for follower in waiting.pop(code_of(piece), []):
                        running[pool.submit(work, follower)] = follower
                    yield piece, result
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
