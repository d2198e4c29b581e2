"""The log of a study on a server as a store that can be read: what is computed from it is computed here."""

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from noisewise.study.stores.protocol import Event
from noisewise.web.client.connection import ServerConnection, path_of
from noisewise.web.client.plain_objects import event_from, new_key
from noisewise.web.client.server_refusals import understanding

#: Events of one page.
PAGE = 10_000


class RemoteLog:
    """A store (`noisewise.study.stores.protocol.Storage`) whose changes are made by the server alone."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._specifications: dict[str, dict[str, Any]] = {}

    def names(self) -> list[str]:
        """The studies there are, the oldest first."""
        return [row["name"] for row in self.standings()]

    def standings(self) -> list[dict[str, Any]]:
        """Where each of them stands."""
        return standings(self._connection)

    def specification(self, name: str) -> dict[str, Any]:
        """What a study was created with, which never changes."""
        if name not in self._specifications:
            reply = self._connection.get(path_of("studies", name, "specification"))
            plain = self._connection.json_of(reply)
            with understanding(self._connection.address):
                self._specifications[name] = plain["specification"]
        found: dict[str, Any] = json.loads(json.dumps(self._specifications[name]))
        return found

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events with numbers above ``after``."""
        found: list[Event] = []
        place: int | None = after
        while place is not None:
            reply = self._connection.get(path_of("studies", name, "events"), {"after": place, "limit": PAGE})
            page = self._connection.json_of(reply)
            with understanding(self._connection.address):
                found += [event_from(row) for row in page["rows"]]
                place = page["next"]
        return found

    def export(self, name: str) -> bytes:
        """The whole log as JSON lines."""
        return self._connection.get(path_of("studies", name, "export.jsonl")).content

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        self._connection.post(path_of("studies", name, "rename"), {"name": new}, new_key())

    def create(self, name: str, specification: dict[str, Any]) -> None:
        """Begin a study with an empty log."""
        from noisewise.study.log.export import log_lines
        from noisewise.study.stores.protocol import MemoryStorage

        alone = MemoryStorage()
        alone.create(name, specification)
        self.rebuild(log_lines(alone, name), name)

    def rebuild(self, lines: Iterable[str], name: str | None = None) -> str:
        """Make a study of an exported log; returns its name."""
        said = {"log": "\n".join(lines), **({} if name is None else {"name": name})}
        # Not tried again: the second try would find the name taken by the first.
        reply = self._connection.call("POST", path_of("studies", "rebuild"), body=said, patience=0.0)
        plain = self._connection.json_of(reply)
        with understanding(self._connection.address):
            return str(plain["study"])

    def append(self, name: str, after: int, events: list[Event]) -> NoReturn:
        """Refused: the server decides what is written."""
        raise PermissionError(
            f"{self._connection.address} writes its logs itself: use the methods of the study that "
            "`load_study` returns."
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()


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
