"""The routes of the page and its interface for programs."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from deskmate.app import Settings
from deskmate.faces.common.http.request_check import RequestCheck
from deskmate.faces.web.open_api import open_api
from deskmate.faces.web.page_files import INDEX, content_of, import_map_hash, page_files
from deskmate.faces.web.page_requests import REQUESTS, PageRequest, TeamRequest
from deskmate.faces.web.request_guard import RequestGuard
from deskmate.faces.web.team_pages import TeamPages

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def web_application(
    folder: Path, settings: Settings, token: str, hosts: frozenset[str], *, secure: bool = False
) -> ASGIApp:
    """Return the application that serves the teams of a workspace. `secure`: browsers reach it with https."""
    pages = TeamPages(folder, settings)
    description = open_api()

    async def describe(request: Request) -> Response:
        return JSONResponse(description)

    looks = {
        "events": pages.events,
        "history": pages.history,
        "transcript": pages.transcript,
        "search": pages.search,
        "files": pages.files,
        "changes": pages.changes,
        "page": pages.page,
    }
    routes = [
        Route("/api/openapi.json", describe),
        Route("/api/teams", pages.teams, methods=["GET"]),
        Route("/api/teams", _act(pages, TeamRequest), methods=["POST"]),
        *(Route(f"/api/teams/{{team}}/{name}", look) for name, look in looks.items()),
        *(Route(f"/api/teams/{{team}}/{name}", _act(pages, kind), methods=["POST"]) for name, kind in REQUESTS.items()),
        Route("/", _file(INDEX)),
        *(Route(f"/{name}", _file(name)) for name in page_files() if name != INDEX),
    ]
    return RequestGuard(Starlette(routes=routes), RequestCheck(hosts, token, secure=secure), import_map_hash())


def _act(pages: TeamPages, kind: type[PageRequest]) -> Endpoint:
    async def act(request: Request) -> Response:
        return await pages.act(request, kind)

    return act


def _file(name: str) -> Endpoint:
    data, media_type = content_of(name)

    async def serve(request: Request) -> Response:
        return Response(data, media_type=media_type)

    return serve
