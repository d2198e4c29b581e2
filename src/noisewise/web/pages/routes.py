"""The pages and where their files are."""

from pathlib import Path

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse

from noisewise.web.auth.roles import Role, needs
from noisewise.web.open_studies import OpenStudies

STATIC = Path(__file__).parent / "static"
PAGES = APIRouter(include_in_schema=False)


@PAGES.get("/", dependencies=[Depends(needs(Role.VIEWER))])
def start(request: Request) -> HTMLResponse:
    """All studies."""
    from html import escape

    studies: OpenStudies = request.app.state.studies
    listed = "".join(f"<li>{escape(name)}</li>" for name in studies.names())
    return HTMLResponse(f"<!doctype html><title>noisewise</title><h1>Studies</h1><ul>{listed}</ul>")
