"""Logs that are put together by hand, past what a study would write."""

from typing import Any

from noisewise.study.log.events import rows_of
from noisewise.study.stores.protocol import Storage


def append(storage: Storage, name: str, *happened: tuple[str, dict[str, Any]], at: float = 1.7e9) -> None:
    """Append events of any kind and content, with their right hashes."""
    with storage.transaction(name) as transaction:
        transaction.append(rows_of(happened, transaction.read(0)[-1], at=at, id="by hand"))
