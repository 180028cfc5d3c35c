"""The routes of the page and its interface for programs."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from anyio import to_thread
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from deskmate.app import Settings
from deskmate.errors import BadInput, DeskmateError, StoreError
from deskmate.faces.web.open_api import open_api
from deskmate.faces.web.page_files import INDEX, content_of, import_map_hash, page_files
from deskmate.faces.web.page_requests import REQUESTS
from deskmate.faces.web.request_guard import RequestGuard
from deskmate.faces.web.shared_team import SharedTeams
from deskmate.faces.web.shown_json import team_json
from deskmate.faces.web.team_changes import team_events
from deskmate.faces.web.team_replay import team_replay
from deskmate.queries.team_view import look_at_teams
from deskmate.queries.tree_view import look_at_diff

_DIFF_CHARS = 2_000_000


class TeamPages:
    """What the routes answer, for the teams of one workspace."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._shared = folder, SharedTeams(folder, settings)

    async def teams(self, request: Request) -> Response:
        """List the teams."""
        try:
            found = await to_thread.run_sync(look_at_teams, self._folder)
        except DeskmateError as error:
            return _refused(error)
        return JSONResponse({"workspace": str(self._folder), "teams": [team_json(team) for team in found]})

    async def events(self, request: Request) -> Response:
        """Stream what happens in a team."""
        name, watches = request.path_params["team"], request.query_params.get("member", "lead")
        after = request.headers.get("last-event-id", "0")
        if not (after.isdecimal() and after.isascii() and len(after) < 16):
            return _error(400, "Last-Event-ID must be the number of an entry.")
        stream = self._stream(name, watches, int(after))
        try:
            # The first event shows whether there is such a team, while the status can still say so.
            first = await anext(stream)
        except DeskmateError as error:
            return _refused(error)

        async def all_events() -> AsyncIterator[str]:
            yield first
            try:
                async for event in stream:
                    yield event
            except DeskmateError as error:
                yield f"event: trouble\ndata: {json.dumps(_words(error))}\n\n"

        return StreamingResponse(all_events(), media_type="text/event-stream")

    async def _stream(self, name: str, watches: str, after: int) -> AsyncIterator[str]:
        async with self._shared.opened(name) as team:
            async for number, change in team_events(team, watches, after):
                yield f"event: changes\nid: {number}\ndata: {json.dumps(change)}\n\n" if change else ": nothing new\n\n"

    async def history(self, request: Request) -> Response:
        """Return the steps of a team."""
        try:
            steps = await to_thread.run_sync(team_replay, self._folder, request.path_params["team"])
        except DeskmateError as error:
            return _refused(error)
        return JSONResponse({"steps": steps})

    async def changes(self, request: Request) -> Response:
        """Return what a team, one task or one member changed in the files."""
        part = request.query_params.get("part") or None
        try:
            seen = await look_at_diff(self._folder, request.path_params["team"], part)
        except DeskmateError as error:
            return _refused(error)
        return JSONResponse(
            {"diff": seen.text[:_DIFF_CHARS], "cut": len(seen.text) > _DIFF_CHARS, "none": seen.if_none}
        )

    async def act(self, request: Request) -> Response:
        """Carry out what the user wants."""
        kind = REQUESTS[request.path_params["kind"]]
        try:
            wanted = kind.model_validate_json(await request.body())
            return JSONResponse(await wanted.carry_out(self._folder, request.path_params["team"]))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            return _error(400, f"{'.'.join(map(str, first['loc'])) or 'The body'}: {first['msg']}")
        except DeskmateError as error:
            return _refused(error)


def web_application(folder: Path, settings: Settings, token: str, hosts: frozenset[str]) -> ASGIApp:
    """Return the application that serves the teams of a workspace."""
    pages = TeamPages(folder, settings)
    description = open_api()

    async def describe(request: Request) -> Response:
        return JSONResponse(description)

    routes = [
        Route("/api/openapi.json", describe),
        Route("/api/teams", pages.teams),
        Route("/api/teams/{team}/events", pages.events),
        Route("/api/teams/{team}/history", pages.history),
        Route("/api/teams/{team}/changes", pages.changes),
        *(Route(f"/api/teams/{{team}}/{kind}", _of_kind(pages, kind), methods=["POST"]) for kind in REQUESTS),
        Route("/", _file(INDEX)),
        *(Route(f"/{name}", _file(name)) for name in page_files() if name != INDEX),
    ]
    return RequestGuard(Starlette(routes=routes), token, hosts, import_map_hash())


def _of_kind(pages: TeamPages, kind: str) -> Any:
    async def act(request: Request) -> Response:
        request.path_params["kind"] = kind
        return await pages.act(request)

    return act


def _file(name: str) -> Any:
    data, media_type = content_of(name)

    async def serve(request: Request) -> Response:
        return Response(data, media_type=media_type)

    return serve


def _refused(error: DeskmateError) -> Response:
    status = 400 if isinstance(error, BadInput) else 503 if isinstance(error, StoreError) else 409
    return JSONResponse(_words(error), status)


def _words(error: DeskmateError) -> dict[str, str]:
    return {"error": error.message, "hint": error.hint}


def _error(status: int, words: str) -> Response:
    return JSONResponse({"error": words, "hint": ""}, status)
