"""A helper process: it is sent a simulation, then asked for replications of it until nobody asks any more."""

import os
import pickle
import queue
import sys
import threading
import warnings
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from noisewise.core.native import verbs
from noisewise.simulation.run import Run
from noisewise.simulation.sharing.replications import parts_of

#: Tells a process that it is a helper, which has none of its own.
MARK = "NOISEWISE_HELPER"
#: Its first answer, when it has imported everything and waits for questions.
READY = "ready"


class Order(NamedTuple):
    """What a helper is sent first."""

    recipe: tuple[Any, ...]  # of the run
    on_numbers: dict[str, Any]  # what NumPy does at overflows and the like
    numpy_verbs: bool  # whether the verbs run as NumPy, although they could in C
    ignored: tuple[tuple[Any, ...], ...]  # the filters for warnings


def order_for(run: Run) -> Order:
    """So that a helper does what this process would."""
    on_numbers, filters = dict(np.geterr()), tuple(map(_plain_filter, warnings.filters))
    return Order(run.recipe, on_numbers, is_numpy_wanted(), filters)


def is_numpy_wanted() -> bool:
    """Whether somebody wants the verbs to run as NumPy here."""
    if verbs.extension is None:
        return False
    before: bool = verbs.extension.use_numpy(True)
    verbs.extension.use_numpy(before)
    return before


def main() -> None:
    """Answer: the results of the replications asked for, or None if that did not work.

    A helper never says what is wrong, nor warns: whoever asked does those replications again, and fails or
    warns just as it would have without helpers.
    """
    try:
        # The pipe is for answers alone; what else is printed goes where nobody reads it.
        with os.fdopen(os.dup(1), "wb") as answers, open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            _serve(answers)
    finally:
        os._exit(0)  # at once: a thread may be waiting for questions


def _serve(answers: BinaryIO) -> None:
    asked: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    order: Order = asked.get()
    kind, *rest = order.recipe
    np.seterr(**order.on_numbers)
    if order.numpy_verbs:
        verbs.extension.use_numpy(True)
    run: Run = kind(*rest)
    loop = run.loop(compiled=False)
    answer: Any = READY
    while True:
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()
        piece: range = asked.get()
        try:
            with warnings.catch_warnings():
                _refuse_warnings(order.ignored)
                answer = parts_of(run, piece, loop)
        except Exception:
            answer = None  # who asked does it once more, and meets the same error


def _listen(asked: "queue.Queue[Any]") -> None:
    """Take questions; when the other end is closed, even in the middle of a replication, end at once."""
    try:
        while True:
            asked.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)


def _plain_filter(one: tuple[Any, ...]) -> tuple[Any, ...]:
    """A filter for warnings as the arguments of `warnings.filterwarnings`."""
    action, message, category, module, line = one
    texts = (getattr(text, "pattern", text) or "" for text in (message, module))
    return "ignore" if action == "ignore" else "error", next(texts), category, next(texts), line


def _refuse_warnings(filters: tuple[tuple[Any, ...], ...]) -> None:
    """A warning that is not ignored is a failure here."""
    warnings.resetwarnings()
    for action, message, category, module, line in filters:
        warnings.filterwarnings(action, message, category, module, line, append=True)
    warnings.simplefilter("error", append=True)
