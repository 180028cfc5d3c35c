"""The description of the interface for programs, as OpenAPI."""

from typing import Any

from deskmate import __version__
from deskmate.faces.web.page_requests import REQUESTS, PageRequest, TeamRequest

_TEAM = {"name": "team", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[a-z0-9_-]+$"}}
_MEMBER = {
    "name": "member",
    "in": "query",
    "description": "Whose transcript is streamed too. Default: lead.",
    "schema": {"type": "string"},
}
_PART = {
    "name": "part",
    "in": "query",
    "description": "Only the work of a task, such as #3, or what is in the tree of a member and not merged.",
    "schema": {"type": "string"},
}
_WORDS = {
    "name": "words",
    "in": "query",
    "required": True,
    "description": "Words that must all be in one item of a transcript.",
    "schema": {"type": "string", "maxLength": 200},
}
_BEFORE = {
    "name": "before",
    "in": "query",
    "required": True,
    "description": "Only items that were complete before this entry.",
    "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999_999_999},
}
_AFTER = {
    "name": "after",
    "in": "query",
    "description": "How many steps you have already. Send `history` with it.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 999_999_999_999_999},
}
_HISTORY = {
    "name": "history",
    "in": "query",
    "description": "The `history` of the last answer. If it is another one now, all steps are returned.",
    "schema": {"type": "string"},
}
_POINT = {
    "name": "point",
    "in": "query",
    "description": "The number of a checkpoint. Without it, the checkpoints are listed.",
    "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999_999_999},
}
_PATH = {
    "name": "path",
    "in": "query",
    "description": "A file of the checkpoint. Without it, the files are listed.",
    "schema": {"type": "string", "maxLength": 4096},
}
_LAST = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The id of the last event that you have. The transcript continues after it.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,15}$"},
}
_ERRORS = {
    "400": "The request cannot be understood.",
    "401": "The token is missing or wrong.",
    "403": "The header Host or Origin names another place.",
    "409": "It is refused: `error` says why, `hint` what to do.",
    "411": "The header Content-Length is missing.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "503": "The files of the team cannot be read or written now.",
}


def open_api() -> dict[str, Any]:
    """Return the description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Deskmate",
            "version": __version__,
            "description": "Watch and steer the teams of one workspace. `deskmate web` prints address and token.",
        },
        "security": [{"token": []}],
        "paths": {
            "/api/teams": {
                "get": _operation("List the teams, the last written first.", "application/json"),
                "post": _action(TeamRequest, []),
            },
            "/api/teams/{team}/events": {
                "get": _operation(
                    "Stream what happens in a team, as server-sent events. The first has everything, and `whole`. "
                    "Later ones have what changed. A key that comes again has a new value, and null means gone.",
                    "text/event-stream",
                    [_TEAM, _MEMBER, _LAST],
                )
            },
            "/api/teams/{team}/history": {
                "get": _operation(
                    "Return the past of a team as steps: the time of each, and what changed, as in the events.",
                    "application/json",
                    [_TEAM, _AFTER, _HISTORY],
                )
            },
            "/api/teams/{team}/transcript": {
                "get": _operation(
                    "Return earlier items of the transcript of a member.", "application/json", [_TEAM, _MEMBER, _BEFORE]
                )
            },
            "/api/teams/{team}/search": {
                "get": _operation("Find words in the transcripts of all members.", "application/json", [_TEAM, _WORDS])
            },
            "/api/teams/{team}/files": {
                "get": _operation(
                    "Return the checkpoints of the files of a team, the files of one, or a file as it was then.",
                    "application/json",
                    [_TEAM, _POINT, _PATH],
                )
            },
            "/api/teams/{team}/page": {
                "get": _operation("Return the team as one HTML file, redacted.", "text/html", [_TEAM])
            },
            "/api/teams/{team}/changes": {
                "get": _operation(
                    "Return what the branch of a team changes, as a diff.", "application/json", [_TEAM, _PART]
                )
            },
            **{f"/api/teams/{{team}}/{name}": {"post": _action(kind, [_TEAM])} for name, kind in REQUESTS.items()},
            "/api/openapi.json": {"get": _operation("Return this description.", "application/json")},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": {
                    "type": "object",
                    "properties": {"error": {"type": "string"}, "hint": {"type": "string"}},
                    "required": ["error"],
                }
            },
        },
    }


def _operation(summary: str, media_type: str, parameters: list[Any] | None = None) -> dict[str, Any]:
    found = {"description": "Done.", "content": {media_type: {"schema": {}}}}
    return {"summary": summary, "parameters": parameters or [], "responses": {"200": found, **_error_answers()}}


def _action(kind: type[PageRequest], parameters: list[Any]) -> dict[str, Any]:
    summary = (kind.__doc__ or "").strip()
    body = {"required": True, "content": {"application/json": {"schema": kind.model_json_schema()}}}
    return {**_operation(summary, "application/json", parameters), "requestBody": body}


def _error_answers() -> dict[str, Any]:
    schema = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: {"description": words, "content": schema} for status, words in _ERRORS.items()}
