"""Pages that are loaded when the server listens already: programs need not wait for what browsers need."""

import asyncio
import importlib

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

#: The modules of the pages, and the routers in them.
ROUTERS = {
    "noisewise.web.pages.changes": "CHANGES",
    "noisewise.web.pages.handing_in": "HANDING_IN",
    "noisewise.web.pages.making": "MAKING",
    "noisewise.web.pages.reporting": "REPORTING",
    "noisewise.web.pages.routes": "PAGES",
}


class LaterPages(BaseRoute):
    """Stands for all pages until they are loaded: who asks for one earlier waits for it."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._loading = asyncio.Lock()
        app.router.routes.append(self)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whatever nobody else takes."""
        return (Match.FULL if scope["type"] == "http" else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Load the pages, and begin anew."""
        await self.load()
        await self._app.router(scope, receive, send)

    async def load(self) -> None:
        """Load them, once."""
        async with self._loading:
            if self in self._app.router.routes:
                await run_in_threadpool(self._import)
                self.add()

    def add(self) -> None:
        """Put them where they belong."""
        self._app.router.routes.remove(self)
        for module, name in ROUTERS.items():
            self._app.include_router(getattr(importlib.import_module(module), name))

    @staticmethod
    def _import() -> None:
        for module in ROUTERS:
            importlib.import_module(module)
