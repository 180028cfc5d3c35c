"""Who may ask: every route, without a token, with a wrong one, from elsewhere: refused, and nothing happens."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from deskmate.config import load
from deskmate.faces.web.open_api import open_api
from deskmate.faces.web.request_guard import BODY_CAP
from deskmate.faces.web.web_server import web_application
from tests.faces.disk_teams import files

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("web-safe")]

TOKEN = "right"
HOST = "127.0.0.1:4711"
PATHS: dict[str, dict[str, Any]] = open_api()["paths"]
ROUTES = [(method, path.replace("{team}", "main")) for path, methods in PATHS.items() for method in methods]
BODIES = {
    "messages": {"to": "alice", "text": "hello"},
    "answers": {"id": "alice:3.0", "answer": "yes"},
    "tasks": {"subject": "more"},
    "interrupts": {"member": "alice"},
    "stops": {"member": "alice"},
    "resumes": {},
    "teams": {"goal": "do it"},
}
GOOD = {"Authorization": f"Bearer {TOKEN}", "Host": HOST, "Content-Type": "application/json"}
# What is wrong with a request → its headers, and the status of the answer.
WRONG: dict[str, tuple[dict[str, str | None], int]] = {
    "no token": ({"Authorization": None}, 401),
    "wrong token": ({"Authorization": "Bearer wrong"}, 401),
    "empty token": ({"Authorization": "Bearer "}, 401),
    "token as a password": ({"Authorization": f"Basic {TOKEN}"}, 401),
    "token in a cookie": ({"Authorization": None, "Cookie": f"token={TOKEN}"}, 401),
    "foreign origin": ({"Origin": "http://evil.example"}, 403),
    "null origin": ({"Origin": "null"}, 403),
    "origin of another port": ({"Origin": "http://127.0.0.1:4712"}, 403),
    "foreign host": ({"Host": "evil.example"}, 403),
    "host of another port": ({"Host": "127.0.0.1:80"}, 403),
    "host that only begins right": ({"Host": f"{HOST}.evil.example"}, 403),
    "no host": ({"Host": ""}, 403),
}


async def answer_to(folder: Path, method: str, path: str, headers: dict[str, str | None], body: str) -> httpx2.Response:
    transport = httpx2.ASGITransport(app=web_application(folder, load({"HOME": str(folder)}), TOKEN, frozenset({HOST})))
    async with httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
        sent = {name: value for name, value in {**GOOD, **headers}.items() if value is not None}
        return await client.request(method, path, headers=sent, content=body)


def body_for(path: str) -> str:
    return json.dumps(BODIES.get(path.rpartition("/")[2], {}))


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_request_from_elsewhere_is_refused_and_does_nothing(
    place: Path, method: str, path: str, wrong: str
) -> None:
    headers, status = WRONG[wrong]
    before = files(place)
    answer = await answer_to(place, method, path, headers, body_for(path))
    assert (answer.status_code, files(place)) == (status, before)
    assert "alice" not in answer.text


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_token_in_the_address_is_no_token(place: Path, method: str, path: str) -> None:
    before = files(place)
    for name in ("token", "access_token", "authorization"):
        answer = await answer_to(place, method, f"{path}?{name}={TOKEN}", {"Authorization": None}, body_for(path))
        assert (answer.status_code, files(place)) == (401, before)


@pytest.mark.parametrize("path", [path for method, path in ROUTES if method == "post"])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"])
async def test_a_form_is_refused_even_with_the_token(place: Path, path: str, kind: str) -> None:
    before = files(place)
    answer = await answer_to(place, "post", path, {"Content-Type": kind}, body_for(path))
    assert (answer.status_code, files(place)) == (415, before)


@pytest.mark.parametrize("path", [path for method, path in ROUTES if method == "post"])
async def test_a_body_above_the_cap_is_refused_unread(place: Path, path: str) -> None:
    before = files(place)
    answer = await answer_to(place, "post", path, {}, json.dumps({"text": "x" * BODY_CAP}))
    assert (answer.status_code, files(place)) == (413, before)


@pytest.mark.parametrize("path", ["/", "/app.mjs", "/style.css", "/vendor/preact.mjs", "/nothing", "/api/nothing"])
async def test_every_answer_says_what_the_page_may_do(place: Path, path: str) -> None:
    answer = await answer_to(place, "get", path, {}, "")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "access-control-allow-origin" not in answer.headers
    assert "set-cookie" not in answer.headers
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/../errors.py", "/%2e%2e/errors.py", "/page_files.py", "/vendor/", "//etc/passwd"])
async def test_only_the_files_of_the_page_are_served(place: Path, path: str) -> None:
    assert (await answer_to(place, "get", path, {}, "")).status_code == 404


async def test_another_page_cannot_load_the_scripts_with_its_own_origin(place: Path) -> None:
    answer = await answer_to(place, "get", "/app.mjs", {"Origin": "http://evil.example"}, "")
    assert answer.status_code == 403
