"""The app that serves a store: interface, pages, keys, and what every request passes."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from noisewise.core.version import __version__
from noisewise.server.auth.forms import SIGNING_IN, Parser
from noisewise.server.auth.keys import Keys
from noisewise.server.auth.tokens import TokenFile
from noisewise.server.guards import BODY_SECONDS, LOOPBACK, MOST_BYTES, Guards
from noisewise.server.open_studies import OpenStudies
from noisewise.server.pages.changes import CHANGES
from noisewise.server.pages.new_study import MAKING
from noisewise.server.pages.rendering import problem_page
from noisewise.server.pages.routes import PAGES
from noisewise.server.problems import answer_refusals
from noisewise.server.routes import add_api

#: Style sheets and scripts of the pages.
STATIC = Path(__file__).parent / "pages" / "static"


def make_app(
    store: Any,
    *,
    root_path: str = "",
    read_only: bool = False,
    tokens: TokenFile | None = None,
    hosts: Sequence[str] | None = LOOPBACK,
    most_bytes: int = MOST_BYTES,
    body_seconds: float = BODY_SECONDS,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """The app that serves a store.

    Args:
        store: A path, an address, or a storage.
        root_path: The prefix under which a proxy shows it, such as ``"/lab"``.
        read_only: Refuse every change.
        tokens: Who may come in; without any, everybody who reaches the server is an owner.
        hosts: Names by which it may be called; None: any.
        most_bytes: Of a request's body.
        body_seconds: For a request's body.
        clock: Where the time comes from.
    """
    studies = OpenStudies(store, read_only=read_only, clock=clock)
    keys = Keys(tokens)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await app.state.tasks.close()
        app.state.parser.close()
        studies.close()

    app = FastAPI(
        title="noisewise",
        version=__version__,
        description="Studies that find the best option from noisy measurements.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.root_path = root_path.rstrip("/")  # its argument of this name is deprecated, the attribute is not
    app.state.studies, app.state.keys = studies, keys
    app.state.parser = Parser()
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    add_api(app, studies)
    app.include_router(SIGNING_IN)
    for pages in (CHANGES, MAKING, PAGES):
        app.include_router(pages)
    answer_refusals(app, problem_page)
    app.add_middleware(Guards, keys=keys, hosts=hosts, most_bytes=most_bytes, seconds=body_seconds)
    return app
