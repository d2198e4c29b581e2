"""Parsing of request bodies: small ones at once, large ones one after the other in a thread of their own.

Parsing takes time in proportion to the size of a body, and mostly keeps other threads of Python waiting. So
the event loop parses only what takes about a millisecond, and at most one large body is parsed at a time.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Parsed = TypeVar("Parsed")
#: Bytes of a body that is parsed on the event loop.
SMALL = 16 * 2**10


class Parser:
    """The thread that parses large bodies."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="noisewise-parser")

    async def run(self, size: int, parse: Callable[[], Parsed]) -> Parsed:
        """Call ``parse``, which parses a body of so many bytes."""
        if size <= SMALL:
            return parse()
        return await asyncio.get_running_loop().run_in_executor(self._thread, parse)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)
