"""All routes of the JSON interface, and its description."""

from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi

from noisewise.web.api.answers import ProblemDocument
from noisewise.web.api.changes import Replays
from noisewise.web.api.corrections import CORRECTIONS
from noisewise.web.api.health import HEALTH
from noisewise.web.api.judgement import JUDGEMENT
from noisewise.web.api.long_answers import TASKS
from noisewise.web.api.measuring import MEASURING
from noisewise.web.api.shares import SHARED, SHARES
from noisewise.web.api.stream import EventStreams
from noisewise.web.api.studies import STUDIES
from noisewise.web.api.tables import TABLES
from noisewise.web.open_studies import OpenStudies
from noisewise.web.tasks import LongTasks

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
