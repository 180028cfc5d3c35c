"""The description of the interface for programs, as OpenAPI."""

from typing import Any

from deskmate import __version__
from deskmate.faces.web.page_requests import REQUESTS, PageRequest, TeamRequest

_TEAM = {"name": "team", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[a-z0-9_-]+$"}}
_LAST = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The id of the last event that you have. The transcript continues after it.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,15}$"},
}
_JSON = "application/json"
_TEXT = {"type": "string"}
_MOST = 10**15 - 1
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


def _query(name: str, description: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": schema, "required": required}


def _number(least: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": _MOST}


_POINT = {**_TEXT, "pattern": "^(now|[1-9][0-9]{0,14})$"}
_MEMBER = _query("member", "Whose transcript it is. Default: lead.", _TEXT)
# By the last part of the address, below `/api/teams/TEAM/`: what it does, what it returns, its parameters.
_LOOKS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "events": (
        (
            "Stream what happens in a team, as server-sent events. The first has everything, and `whole`. Later ones "
            "have what changed. A key that comes again has a new value, and null means gone."
        ),
        "text/event-stream",
        [_MEMBER, _LAST],
    ),
    "history": (
        "Return the past of a team as steps: the time of each, and what changed, as in the events.",
        _JSON,
        [
            _query("after", "How many steps you have already.", _number(0)),
            _query("history", "The `history` of the last answer. If it is another one now, all steps follow.", _TEXT),
        ],
    ),
    "transcript": (
        "Return earlier items of a transcript, or with `at` those around a time and when each was written.",
        _JSON,
        [
            _MEMBER,
            _query("before", "Only items that were complete before this entry. Needed without `at`.", _number(1)),
            _query("at", "A time in seconds since 1970.", {"type": "number", "minimum": 0, "maximum": _MOST}),
        ],
    ),
    "search": (
        "Find words in the transcripts of all members.",
        _JSON,
        [
            _query(
                "words",
                "Words that must all be in one item.",
                {**_TEXT, "minLength": 1, "maxLength": 200},
                required=True,
            )
        ],
    ),
    "files": (
        "Return the checkpoints of the files of a team, the files of one or of now, or one of these files.",
        _JSON,
        [
            _query("point", "The number of a checkpoint, or now. Without it, the checkpoints are listed.", _POINT),
            _query("path", "One of the files. Without it, the files are listed.", {**_TEXT, "maxLength": 4096}),
        ],
    ),
    "changes": (
        "Return what a team changes, as a diff: its branch, or without one, the files since the first checkpoint.",
        _JSON,
        [_query("part", "Only the work of a task, such as #3, or what of a member is not merged.", _TEXT)],
    ),
    "page": ("Return the team as one HTML file, with the secrets that Deskmate knows taken out.", "text/html", []),
}


def open_api() -> dict[str, Any]:
    """Return the description."""
    looks = {
        f"/api/teams/{{team}}/{name}": {"get": _operation(words, kind, [_TEAM, *parameters])}
        for name, (words, kind, parameters) in _LOOKS.items()
    }
    actions = {f"/api/teams/{{team}}/{name}": {"post": _action(kind, [_TEAM])} for name, kind in REQUESTS.items()}
    teams = _operation("List the teams, the last written first, and the modes that a new one can have.", _JSON, [])
    error = {"error": _TEXT, "hint": _TEXT}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Deskmate",
            "version": __version__,
            "description": "Watch and steer the teams of one workspace. `deskmate web` prints address and token.",
        },
        "security": [{"token": []}],
        "paths": {
            "/api/teams": {"get": teams, "post": _action(TeamRequest, [])},
            **looks,
            **actions,
            "/api/openapi.json": {"get": _operation("Return this description.", _JSON, [])},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": {"type": "object", "properties": error, "required": ["error"]}},
        },
    }


def _operation(summary: str, media_type: str, parameters: list[Any]) -> dict[str, Any]:
    found = {"description": "Done.", "content": {media_type: {"schema": {}}}}
    return {"summary": summary, "parameters": parameters, "responses": {"200": found, **_error_answers()}}


def _action(kind: type[PageRequest], parameters: list[Any]) -> dict[str, Any]:
    summary = (kind.__doc__ or "").strip()
    body = {"required": True, "content": {_JSON: {"schema": kind.model_json_schema()}}}
    return {**_operation(summary, _JSON, parameters), "requestBody": body}


def _error_answers() -> dict[str, Any]:
    schema = {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: {"description": words, "content": schema} for status, words in _ERRORS.items()}
