"""Engines whose connections belong to one process, and are closed when nobody needs them any more."""

import os
import weakref

from sqlalchemy import Engine


class OwnEngine:
    """An engine that a forked child does not share with its parent."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._owner = [os.getpid()]
        weakref.finalize(self, _close, engine, self._owner)

    def get(self) -> Engine:
        """The engine; in a child, without the parent's connections."""
        if self._owner[0] != os.getpid():
            self._engine.dispose(close=False)
            self._owner[0] = os.getpid()
        return self._engine

    def close(self) -> None:
        """Close the connections that are ours."""
        _close(self._engine, self._owner)


def _close(engine: Engine, owner: list[int]) -> None:
    # Saying goodbye on a connection of the parent would end it for the parent, too.
    engine.dispose(close=owner[0] == os.getpid())
