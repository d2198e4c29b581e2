"""Events as they happen, as a server-sent stream: the id of each is its number, so that a stream resumes."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from starlette.concurrency import run_in_threadpool

from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError
from noisewise.study.log.events import Event, events_of

#: Seconds between two looks at what other processes wrote, and between two signs of life.
LOOK, ALIVE = 0.4, 15.0
#: Streams at a time, and events of one that are sent together.
MOST_STREAMS, TOGETHER = 500, 500


class EventStreams:
    """Who listens to which study, and waking them when this server has written."""

    def __init__(self, studies: OpenStudies) -> None:
        self._studies = studies
        self._listening: dict[str, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.open = 0
        #: Set when the server ends: streams would keep it waiting.
        self.stopping = threading.Event()
        studies.watchers.append(self._wake_from_thread)

    def check_room(self) -> None:
        """Refuse one stream too many."""
        if self.open >= MOST_STREAMS:
            raise ProblemError(429, "too many streams are open; ask for events page by page.")

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count a stream while it is open."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    async def listen(
        self, name: str, after: int, is_welcome: Callable[[], bool] = lambda: True
    ) -> AsyncIterator[bytes]:
        """The events of a study with numbers above ``after``, and those to come.

        Args:
            name: The study.
            after: The last event that is known.
            is_welcome: Whether who listens still may: a token that is revoked ends its streams.
        """
        self._loop = asyncio.get_running_loop()
        said = self._loop.time()
        with self.one_more(), self._news_of(name) as news:
            yield b"retry: 2000\n\n"
            while not self.stopping.is_set() and is_welcome():
                news.clear()
                events = await run_in_threadpool(events_of, self._studies.storage, name, after, TOGETHER)
                if events:
                    yield b"".join(_message(event) for event in events)
                    after = events[-1].number
                    said = self._loop.time()
                    continue
                if self._loop.time() - said > ALIVE:
                    yield b": still here\n\n"
                    said = self._loop.time()
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), LOOK)

    @contextmanager
    def _news_of(self, name: str) -> Iterator[asyncio.Event]:
        """What is set when this server has written to a study."""
        news = asyncio.Event()
        self._listening.setdefault(name, set()).add(news)
        try:
            yield news
        finally:
            self._listening[name].discard(news)
            if not self._listening[name]:
                del self._listening[name]

    def _wake_from_thread(self, name: str) -> None:
        if self._loop is not None and name in self._listening:
            self._loop.call_soon_threadsafe(self._wake, name)

    def _wake(self, name: str) -> None:
        for news in self._listening.get(name, ()):
            news.set()


def event_row(event: Event) -> dict[str, Any]:
    """An event as JSON values."""
    return {
        "number": event.number,
        "at": event.at,
        "kind": event.kind,
        "body": event.body,
        "append": event.append,
        "hash": event.hash,
        **({"request": event.request} if event.request else {}),
    }


def _message(event: Event) -> bytes:
    return f"id: {event.number}\nevent: {event.kind}\ndata: {json.dumps(event_row(event))}\n\n".encode()
