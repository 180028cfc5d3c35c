"""What the routes of the page answer, for the teams of one workspace."""

import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

from anyio import to_thread
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from deskmate.app import Settings
from deskmate.app.rewind.past_files import past_files_of
from deskmate.core.policy.permissions import NARROW_TO_WIDE, Mode
from deskmate.errors import BadInput, DeskmateError, Refused, StoreError, ToolError
from deskmate.faces.web.live.shared_team import SharedTeams
from deskmate.faces.web.live.team_changes import team_events
from deskmate.faces.web.live.transcripts import TimedWords, earlier_items, found_items
from deskmate.faces.web.page_requests import PageRequest
from deskmate.faces.web.shown_json import team_json
from deskmate.faces.web.team_export import team_export
from deskmate.queries.team_view import look_at_teams
from deskmate.queries.tree_view import SeenDiff, look_at_diff

Answer: TypeAlias = Callable[["TeamPages", Request], Coroutine[Any, Any, Response]]

_TIME = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")
_DIFF_CHARS = 2_000_000
_WORDS_CHARS = 200


class _BadRequest(Exception):
    """A request that cannot be understood. The text says why."""


def answers(answer: Answer) -> Answer:
    """Turn what a route raises into an answer that says why."""

    @wraps(answer)
    async def answered(self: "TeamPages", request: Request) -> Response:
        try:
            return await answer(self, request)
        except _BadRequest as error:
            return JSONResponse({"error": str(error), "hint": ""}, 400)
        except ToolError as error:
            return JSONResponse({"error": str(error), "hint": ""}, 409)
        except DeskmateError as error:
            status = 400 if isinstance(error, BadInput) else 503 if isinstance(error, StoreError) else 409
            return JSONResponse(_words(error), status)

    return answered


class TeamPages:
    """What the routes answer, for the teams of one workspace."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._shared = SharedTeams(folder, settings)

    @answers
    async def teams(self, request: Request) -> Response:
        """List the teams, and the permission modes that a new one can have."""
        try:
            found = await to_thread.run_sync(look_at_teams, self._folder)
        except Refused:
            # There is none yet, and the page has a form to start one.
            found = ()
        widest = self._settings.permission_mode or Mode.DEFAULT
        modes = [mode.value for mode in NARROW_TO_WIDE if not mode.wider_than(widest) and mode is not Mode.BYPASS]
        teams = [team_json(team) for team in found]
        return JSONResponse({"workspace": str(self._folder), "teams": teams, "modes": modes})

    @answers
    async def events(self, request: Request) -> Response:
        """Stream what happens in a team."""
        name, watches = request.path_params["team"], request.query_params.get("member", "lead")
        stream = self._stream(name, watches, _number(request.headers.get("last-event-id", "0"), "Last-Event-ID"))
        # The first event shows whether there is such a team, while the status can still say so.
        first = await anext(stream)

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

    @answers
    async def history(self, request: Request) -> Response:
        """Return the steps of a team, or those after the ones that a page has."""
        after, known = _number(request.query_params.get("after", "0"), "after"), request.query_params.get("history")
        async with self._shared.opened(request.path_params["team"]) as team:
            history = team.past
            await history.refresh(team.disk)
            first = after if known == history.id else 0
            return JSONResponse({"history": history.id, "after": first, "steps": history.steps[first:]})

    @answers
    async def transcript(self, request: Request) -> Response:
        """Return earlier items of a transcript, or those around a time."""
        query = request.query_params
        name = query.get("member", "lead")
        at = _time(query["at"]) if "at" in query else None
        async with self._shared.opened(request.path_params["team"]) as team:
            if at is None:
                return JSONResponse(await earlier_items(team.disk, name, _number(query.get("before", ""), "before")))
            await team.past.refresh(team.disk)
            words = await TimedWords.read(team.disk, team.past.times, name)
            return JSONResponse(words.around(at))

    @answers
    async def search(self, request: Request) -> Response:
        """Find words in all transcripts."""
        words = request.query_params.get("words", "")
        if not words.strip() or len(words) > _WORDS_CHARS:
            raise _BadRequest(f"words must have 1 to {_WORDS_CHARS} characters.")
        async with self._shared.opened(request.path_params["team"]) as team:
            return JSONResponse(await found_items(team.disk, words))

    @answers
    async def files(self, request: Request) -> Response:
        """Return the checkpoints of a team, the files of one or of now, or one of these files."""
        team, path, point = request.path_params["team"], *map(request.query_params.get, ("path", "point"))
        number = None if point in (None, "now") else _number(point, "point")
        past = await to_thread.run_sync(past_files_of, self._folder, team, self._settings)
        if point is None:
            return JSONResponse({"points": [asdict(point) for point in await past.points()]})
        if path is not None:
            return JSONResponse(asdict(await past.content(number, path)))
        files, cut = await past.files(number)
        return JSONResponse({"files": [asdict(file) for file in files], "cut": cut})

    @answers
    async def changes(self, request: Request) -> Response:
        """Return what a team, one task or one member changed in the files."""
        team, part = request.path_params["team"], request.query_params.get("part") or None
        try:
            seen = await look_at_diff(self._folder, team, part)
        except Refused:
            # A team that shares one folder has no branch, but its first checkpoint.
            if part is not None or (text := await self._since_first_checkpoint(team)) is None:
                raise
            seen = SeenDiff(team, "No file has changed since your first message.", text)
        cut = len(seen.text) > _DIFF_CHARS
        return JSONResponse({"diff": seen.text[:_DIFF_CHARS], "cut": cut, "none": seen.if_none})

    async def _since_first_checkpoint(self, team: str) -> str | None:
        """Return what has changed in the files, None if that is not known."""
        with suppress(Refused):
            past = await to_thread.run_sync(past_files_of, self._folder, team, self._settings)
            return await past.diff()
        return None

    @answers
    async def page(self, request: Request) -> Response:
        """Return a team as one file."""
        name, page = await to_thread.run_sync(team_export, self._folder, request.path_params["team"])
        headers = {"Content-Disposition": f'attachment; filename="{name}.html"'}
        return Response(page, media_type="text/html", headers=headers)

    async def act(self, request: Request, kind: type[PageRequest]) -> Response:
        """Carry out what the user wants."""

        @answers
        async def carried_out(self: "TeamPages", request: Request) -> Response:
            try:
                wanted = kind.model_validate_json(await request.body())
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                raise _BadRequest(f"{'.'.join(map(str, first['loc'])) or 'The body'}: {first['msg']}") from error
            return JSONResponse(await wanted.carry_out(self._folder, request.path_params.get("team", "")))

        return await carried_out(self, request)


def _number(text: str, name: str) -> int:
    if not (text.isdecimal() and text.isascii() and len(text) < 16):
        raise _BadRequest(f"{name} must be a number.")
    return int(text)


def _time(text: str) -> float:
    if not _TIME.fullmatch(text):
        raise _BadRequest("at must be a time in seconds since 1970.")
    return float(text)


def _words(error: DeskmateError) -> dict[str, str]:
    return {"error": error.message, "hint": error.hint}
