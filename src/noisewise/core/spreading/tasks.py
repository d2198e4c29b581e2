"""What runs on a worker: whether it may, what has to be there first, and the piece of work itself."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from noisewise.core.spreading.identity import Identity, identity


class StrangerError(RuntimeError):
    """A worker runs on other sources or versions than the one who asks, in one sentence."""


class Kit(NamedTuple):
    """What one worker makes and all others are handed, once for each type of processor: machine code.

    All three are called with a piece, or with what was made, and can be imported by other processes.
    """

    of: Callable[[Any], Hashable | None]  # which kit a piece needs; None: none. Called here
    make: Callable[[Any], Any]  # on a worker, with the first piece that needs it
    install: Callable[
        [Any], None
    ]  # on every worker, before a piece; often, so it must be quick if done before


def make_kit(kit_make: Callable[[Any], Any], here: Identity, piece: Any) -> Any:
    """A kit, on a worker."""
    refuse_strangers(here)
    return kit_make(piece)


def do_piece(
    work: Callable[[Any], Any], here: Identity, install: Callable[[Any], None] | None, piece: Any, *kits: Any
) -> Any:
    """A piece of work, on a worker."""
    refuse_strangers(here)
    if install is not None:
        for kit in kits:
            install(kit)
    return work(piece)


def refuse_strangers(asker: Identity) -> None:
    """Raise if this process would compute something else than the one who asks."""
    difference = identity().difference(asker)
    if difference is not None:
        raise StrangerError(
            f"A worker runs {difference}: install the same versions on all workers, and start them again."
        )
