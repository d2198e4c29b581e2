"""The log of a study on a server as a store that can be read: what is computed from it is computed here."""

import json
import time
from collections.abc import Callable
from typing import Any, NoReturn

from noisewise.operations.objects import event_from
from noisewise.study.stores.protocol import Event, NameTakenError, OutcomeUnknownError, to_json
from noisewise.web.client.connection import ServerConnection, path_of
from noisewise.web.client.server_refusals import understanding

#: Events of one page.
PAGE = 10_000
#: Seconds after a lost answer until the next try.
AFTER_LOSS = 0.2


class RemoteLog:
    """A store (`noisewise.study.stores.protocol.Storage`) whose changes are made by the server alone."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self._specifications: dict[str, dict[str, Any]] = {}

    def names(self) -> list[str]:
        """The studies there are, the oldest first."""
        return [row["name"] for row in self.standings()]

    def standings(self) -> list[dict[str, Any]]:
        """Where each of them stands."""
        return standings(self.connection)

    def specification(self, name: str) -> dict[str, Any]:
        """What a study was created with, which never changes."""
        if name not in self._specifications:
            reply = self.connection.get(path_of("studies", name, "specification"))
            plain = self.connection.json_of(reply)
            with understanding(self.connection.address):
                self._specifications[name] = plain["specification"]
        found: dict[str, Any] = json.loads(json.dumps(self._specifications[name]))
        return found

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events with numbers above ``after``."""
        found: list[Event] = []
        place: int | None = after
        while place is not None:
            reply = self.connection.get(path_of("studies", name, "events"), {"after": place, "limit": PAGE})
            page = self.connection.json_of(reply)
            with understanding(self.connection.address):
                found += [event_from(row) for row in page["rows"]]
                place = page["next"]
        return found

    def exported(self, name: str) -> list[str]:
        """The lines of the whole log, as the server writes them."""
        content = self.connection.get(path_of("studies", name, "export.jsonl")).content
        return content.decode("utf-8", "replace").splitlines()

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        self._once(path_of("studies", name, "rename"), {"name": new}, lambda: new in self.names())

    def create(self, name: str, specification: dict[str, Any]) -> None:
        """Begin a study with an empty log."""
        self.take_whole(name, specification, [])

    def take_whole(self, name: str, specification: dict[str, Any], events: list[Event]) -> None:
        """Begin a study with a whole log."""
        from noisewise.study.log.export import lines_from
        from noisewise.study.stores.chain import follow, start_of

        events = follow(start_of(to_json(specification)).hex(), events, verified=False)
        said = {"log": "\n".join(lines_from(name, specification, events)), "name": name}

        def is_this() -> bool:
            return self.specification(name) == json.loads(to_json(specification)) and (
                [event.hash for event in self.read(name)] == [event.hash for event in events]
            )

        self._once(path_of("studies", "rebuild"), said, is_this)

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

    def append(self, name: str, after: int, events: list[Event]) -> NoReturn:
        """Refused: the server decides what is written."""
        raise PermissionError(
            f"{self.connection.address} writes its logs itself: use the methods of the study that "
            "`load_study` returns."
        )

    def close(self) -> None:
        """Let go of the connections."""
        self.connection.close()


def standings(connection: ServerConnection) -> list[dict[str, Any]]:
    """Where each study of a server stands, the oldest first."""
    rows: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        page = connection.json_of(connection.get(path_of("studies"), {"after": after, "limit": 500}))
        with understanding(connection.address):
            rows += page["studies"]
            after = page["next"]
        if after is None:
            return rows
