"""Nobody reaches the server over HTTP but who is on this machine, is no web page, and has the token."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from deskmate.faces.mcp.http_guard import AsgiApp, HttpGuard
from deskmate.queries.stream_reader import teams_at
from deskmate.testing import Scenario
from tests.faces.mcp.team_client import over_http, writes_a_file

pytestmark = pytest.mark.anyio

TOKEN, PORT = "t" * 43, 8765
HERE = f"http://127.0.0.1:{PORT}"
GOOD = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
START = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "start_team", "arguments": {"goal": "Write out.txt."}},
}
# What is wrong with a request, by the status that it gets: its headers, and what is behind its address.
BAD: dict[str, tuple[int, dict[str, str], str]] = {
    "no token": (401, {}, ""),
    "wrong token": (401, {"Authorization": f"Bearer {TOKEN[:-1]}u"}, ""),
    "token without Bearer": (401, {"Authorization": TOKEN}, ""),
    "longer token": (401, {"Authorization": f"Bearer {TOKEN} "}, ""),
    "token as a password": (401, {"Authorization": "Basic dXNlcjp0b2tlbg=="}, ""),
    "token in the query": (401, {}, "?token={token}&access_token={token}"),
    "token in a cookie": (401, {"Cookie": "token={token}"}, ""),
    "foreign origin": (403, {**GOOD, "Origin": "https://example.org"}, ""),
    "null origin": (403, {**GOOD, "Origin": "null"}, ""),
    "empty origin": (403, {**GOOD, "Origin": ""}, ""),
    "another port of this machine": (403, {**GOOD, "Origin": f"http://localhost:{PORT + 1}"}, ""),
    "origin that begins like ours": (403, {**GOOD, "Origin": f"{HERE}.example.org"}, ""),
    "foreign host": (421, {**GOOD, "Host": "example.org"}, ""),
    "foreign host with our port": (421, {**GOOD, "Host": f"example.org:{PORT}"}, ""),
    "host that begins like ours": (421, {**GOOD, "Host": f"127.0.0.1:{PORT}.example.org"}, ""),
    "host without the port": (421, {**GOOD, "Host": "localhost"}, ""),
}
ROUTES = [
    (method, path) for method in ("GET", "POST", "DELETE", "PUT", "OPTIONS") for path in ("/mcp", "/mcp/", "/", "/x")
]


@pytest.fixture
def reached() -> list[str]:
    """What the guard let through."""
    return []


@pytest.fixture
async def http(reached: list[str]) -> AsyncIterator[httpx2.AsyncClient]:
    async def served(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["path"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app: AsgiApp = HttpGuard(served, PORT, TOKEN)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=HERE) as client:
        yield client


@pytest.mark.parametrize("fault", BAD)
async def test_a_request_with_a_fault_is_refused_on_every_route(
    http: httpx2.AsyncClient, reached: list[str], fault: str
) -> None:
    status, headers, query = BAD[fault]
    for method, path in ROUTES:
        answer = await http.request(method, f"{path}{query.format(token=TOKEN)}", headers=headers, json=START)
        assert (method, path, answer.status_code) == (method, path, status)
        assert TOKEN not in answer.text
    assert reached == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
@pytest.mark.parametrize("origin", [None, f"http://localhost:{PORT}", HERE])
async def test_a_request_with_the_token_from_this_machine_is_served(
    http: httpx2.AsyncClient, reached: list[str], host: str, origin: str | None
) -> None:
    headers = {**GOOD, "Host": f"{host}:{PORT}", **({"Origin": origin} if origin else {})}
    assert (await http.post("/mcp", headers=headers)).status_code == 204
    assert reached == ["/mcp"]


@pytest.mark.parametrize("doubled", ["host", "authorization", "origin"])
async def test_a_header_that_is_there_twice_is_refused(
    http: httpx2.AsyncClient, reached: list[str], doubled: str
) -> None:
    value = {"host": f"127.0.0.1:{PORT}", "authorization": GOOD["Authorization"], "origin": HERE}[doubled]
    headers = [("authorization", GOOD["Authorization"]), (doubled, value), (doubled, value)]
    assert (await http.post("/mcp", headers=headers)).status_code in (401, 403, 421)
    assert reached == []


@pytest.mark.behaviour("mcp-server")
async def test_no_refused_request_starts_a_team(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, over_http(team) as (url, token), httpx2.AsyncClient() as http:
        good = {"Authorization": f"Bearer {token}"}
        port = url.split(":")[2].partition("/")[0]
        faults = [
            {},
            {"Authorization": f"Bearer {TOKEN}"},
            {**good, "Origin": "https://example.org"},
            {**good, "Origin": "null"},
            {**good, "Host": f"example.org:{port}"},
        ]
        for headers in faults:
            answer = await http.post(url, json=START, headers={**JSON, **headers})
            assert answer.status_code in (401, 403, 421)
        answer = await http.post(f"{url}?token={token}", json=START, headers=JSON)
        assert answer.status_code == 401
        # A form is what a web page can send without asking first.
        answer = await http.post(url, data={"goal": "Write."}, headers=good)
        assert answer.status_code in (400, 415)
        assert teams_at(team.workspace) == []
