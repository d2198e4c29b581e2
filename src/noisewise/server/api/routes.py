"""All routes of the JSON interface, and its description."""

from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi

from noisewise.server.api.answers import ProblemDocument
from noisewise.server.api.changes import Replays
from noisewise.server.api.corrections import CORRECTIONS
from noisewise.server.api.health import HEALTH
from noisewise.server.api.judgement import JUDGEMENT
from noisewise.server.api.long_answers import TASKS
from noisewise.server.api.measuring import MEASURING
from noisewise.server.api.shares import SHARED, SHARES
from noisewise.server.api.stream import EventStreams
from noisewise.server.api.studies import STUDIES
from noisewise.server.api.tables import TABLES
from noisewise.server.open_studies import OpenStudies
from noisewise.server.tasks import LongTasks

PREFIX = "/api/v1"


def add_api(app: FastAPI, studies: OpenStudies) -> None:
    """Give an app the interface, and what it needs."""
    app.state.replays = Replays()
    app.state.streams = EventStreams(studies)
    app.state.tasks = LongTasks(studies)
    api = APIRouter(prefix=PREFIX)
    for router in (STUDIES, MEASURING, CORRECTIONS, JUDGEMENT, TASKS, TABLES, SHARES):
        api.include_router(router)
    app.include_router(api)
    app.include_router(SHARED)
    app.include_router(HEALTH)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]


def described(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes: with the tokens, and with our problem documents in the place of others."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            servers=[{"url": app.root_path}] if app.root_path else None,
        )
        parts = schema.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        schemas["Problem"] = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"token": []}]
        app.openapi_schema = schema
    return app.openapi_schema
