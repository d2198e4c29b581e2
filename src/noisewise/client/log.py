"""The log of a study on a server as a store that can be read: what is computed from it is computed here."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from noisewise.client.connection import ServerConnection, path_of
from noisewise.client.server_refusals import understanding
from noisewise.operations.objects import event_from
from noisewise.study.log.events import first_row, row_of
from noisewise.study.stores.protocol import NameTakenError, OutcomeUnknownError, Row

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
