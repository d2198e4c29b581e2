"""What runs on a worker: whether it may, what has to be there first, and the piece of work itself."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from noisewise.core.spreading.identity import Identity, identity


class StrangerError(ValueError):
    """A worker runs on other sources or versions than the one who asks, in one sentence."""


class Kit(NamedTuple):
    """What one worker makes and all others are handed, once for each type of processor: machine code.

    Other processes can import `make` and `install`.
    """

    of: Callable[[Any], Hashable | None]  # which kit a piece needs; None: none. Called here
    make: Callable[..., Any]  # called like the work, with the first piece that needs it, on a worker
    install: Callable[[Any], None]  # called with what was made before every piece: quick if done before


class SpreadOrder(NamedTuple):
    """What is to be done with every piece; see `Workforce.spread`."""

    work: Callable[..., Any]
    shared: Any
    kit: Kit | None
    home_of: Callable[[Any], Any] | None

    def batches(self, todo: dict[int, Any]) -> dict[tuple[Hashable | None, Hashable | None], list[int]]:
        """The numbers of pieces with the same kit and home."""
        found: defaultdict[tuple[Hashable | None, Hashable | None], list[int]] = defaultdict(list)
        for number, piece in todo.items():
            home = None if self.home_of is None else self.home_of(piece)
            found[None if self.kit is None else self.kit.of(piece), home].append(number)
        return found


@dataclass(frozen=True)
class Task:
    """What all pieces of one call have in common."""

    work: Callable[..., Any]
    asker: Identity
    install: Callable[[Any], None] | None = None

    def __call__(self, shared: Any, piece: Any, kits: Any = ()) -> Any:
        """A piece of work, on a worker."""
        refuse_strangers(self.asker)
        if self.install is not None:
            for kit in kits:
                self.install(kit)
        return self.work(piece) if shared is None else self.work(shared, piece)


def refuse_strangers(asker: Identity) -> None:
    """Raise if this process would compute something else than the one who asks."""
    difference = identity().difference(asker)
    if difference is not None:
        raise StrangerError(
            f"A worker runs {difference}: install the same versions on all workers, and start them again."
        )
