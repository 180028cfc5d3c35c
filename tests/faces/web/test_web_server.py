"""What programs read and do through the interface of the page."""

import json
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskmate.core.team.messages import Interrupt, Plain, ShutdownRequest
from deskmate.core.team.task_fields import NewTask
from deskmate.faces.web.open_api import open_api
from deskmate.faces.web.page_requests import MOST_TEAMS
from tests.faces.disk_teams import files, founded, hands, played, sign, worked
from tests.faces.fake_app import Env
from tests.faces.web.page_server import PageServer, page_server

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("web")]

SOON = 20


@pytest.fixture
def own(place: Path, env: Env, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose team the user of this process began."""
    for name, value in env.items():
        monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name, raising=False)
    sign(place, env)
    return place


@pytest.fixture
def foreign(own: Path) -> Path:
    """The same workspace, with a second team that somebody else began."""
    return founded(own, "foreign", "carl")


async def first_change(server: PageServer, **wanted: Any) -> dict[str, Any]:
    async for _, change in server.changes("main", **wanted):
        found: dict[str, Any] = change
        return found
    raise AssertionError("the stream ended")


async def test_the_teams_are_listed_with_title_state_and_cost(foreign: Path) -> None:
    async with page_server(foreign) as server:
        answer = (await server.client.get("/api/teams")).json()
    assert answer["workspace"] == str(foreign)
    assert {team["name"] for team in answer["teams"]} == {"main", "foreign"}
    main = next(team for team in answer["teams"] if team["name"] == "main")
    assert (main["state"], main["open"], main["spent"]["unpriced"]) == ("stopped", 3, 1)


async def test_a_workspace_without_teams_has_an_empty_list(tmp_path: Path) -> None:
    async with page_server(tmp_path) as server:
        answer = (await server.client.get("/api/teams")).json()
    assert answer == {"workspace": str(tmp_path), "teams": [], "modes": ["plan", "default"]}


async def test_the_first_event_has_everything(place: Path) -> None:
    async with page_server(place) as server:
        change = await first_change(server, member="alice")
    assert list(change["members"]) == ["lead", "alice", "bob"]
    assert change["members"]["alice"]["status"] == "waiting: permission"
    assert [task["state"] for task in change["tasks"].values()] == ["in progress", "blocked", "blocked"]
    assert len(change["letters"]) == 2
    assert change["team"][""]["running"] is False
    kinds = [item["kind"] for item in change["transcript"]["items"]]
    assert kinds == ["notice", "mail", "words", "call"]
    assert change["transcript"]["items"][-1]["state"] == "done"


async def test_later_events_have_only_what_changed(place: Path) -> None:
    with anyio.fail_after(SOON):
        async with page_server(place) as server, hands(place) as team:
            stream = server.changes("main")
            await anext(stream)
            await team.board.create("lead", NewTask("one more"))
            _, change = await anext(stream)
            assert change.keys() == {"tasks"}
            assert [task["subject"] for task in change["tasks"].values()] == ["one more"]
            await team.mailbox("bob").send("alice", Plain(content="*hello*"))
            _, change = await anext(stream)
            [letter] = change["letters"].values()
            assert (letter["sender"], letter["body"]) == ("bob", [["p", {}, [["em", {}, ["hello"]]]]])
            await stream.aclose()


async def test_a_stream_that_was_cut_continues_after_the_last_entry(place: Path) -> None:
    async with page_server(place) as server:
        stream = server.changes("main", member="alice")
        number, change = await anext(stream)
        await stream.aclose()
        everything = change["transcript"]["items"]
        assert number > 0
        again = await first_change(server, member="alice", after=number)
        assert "transcript" not in again
        since = everything[1]["number"]
        again = await first_change(server, member="alice", after=since)
        assert [item["key"] for item in again["transcript"]["items"]] == [
            item["key"] for item in everything if item["number"] > since
        ]


@pytest.mark.parametrize("last", ["-1", "x", "1" * 20])
async def test_an_id_that_is_no_number_is_refused(place: Path, last: str) -> None:
    async with page_server(place) as server:
        answer = await server.client.get("/api/teams/main/events", headers={"Last-Event-ID": last})
    assert answer.status_code == 400


@pytest.mark.parametrize("team", ["nobody", "..", "%2e%2e", "a%2Fb", "MAIN", "x" * 300, "%00"])
@pytest.mark.parametrize("what", ["events", "history", "changes"])
async def test_a_team_that_does_not_exist_is_refused(place: Path, team: str, what: str) -> None:
    async with page_server(place) as server:
        answer = await server.client.get(f"/api/teams/{team}/{what}")
    assert answer.status_code in (404, 409)


async def test_what_the_user_does_is_written_in_the_name_of_the_user(own: Path) -> None:
    async with page_server(own) as server, hands(own) as team:
        assert await server.post("main", "messages", {"to": "alice", "text": "hi"}) == (
            200,
            {"recipient": "alice", "running": False},
        )
        assert await server.post("main", "interrupts", {"member": "bob"}) == (
            200,
            {"recipient": "bob", "running": False},
        )
        status, added = await server.post("main", "tasks", {"subject": "more", "blocked_by": [1]})
        assert (status, added["task"]) == (200, 4)
        last = (await team.mail_of("alice"))[-1]
        assert (last.sender, last.message) == ("user", Plain(content="hi"))
        assert isinstance((await team.mail_of("bob"))[-1].message, Interrupt)
        await team.roster.refresh()
        assert (await team.board.refresh()).tasks[4].created_by == "user"


async def test_a_teammate_of_a_running_team_is_asked_to_leave(own: Path) -> None:
    with played(own):
        async with page_server(own) as server, hands(own) as team:
            assert await server.post("main", "stops", {"member": "bob"}) == (200, {"recipient": "bob", "running": True})
            assert isinstance((await team.mail_of("bob"))[-1].message, ShutdownRequest)


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("messages", {"to": "nobody", "text": "hi"}, 409),
        ("messages", {"to": "user", "text": "hi"}, 409),
        ("messages", {"to": "alice", "text": ""}, 400),
        ("messages", {"to": "alice"}, 400),
        ("messages", {"to": "alice", "text": "hi", "sender": "lead"}, 400),
        ("messages", {"to": ["alice"], "text": "hi"}, 400),
        ("messages", [], 400),
        ("answers", {"id": "alice:3.0", "answer": "maybe"}, 400),
        ("answers", {"id": "alice:3.0", "answer": "yes"}, 409),
        ("tasks", {"subject": ""}, 400),
        ("tasks", {"subject": "x", "blocked_by": [99]}, 409),
        ("tasks", {"subject": "x", "verify": "rm -rf /"}, 400),
        ("interrupts", {"member": "nobody"}, 409),
        ("stops", {"member": "lead"}, 409),
        ("stops", {"member": "bob"}, 409),
    ],
)
async def test_what_cannot_be_done_is_refused_with_a_reason(own: Path, kind: str, body: Any, status: int) -> None:
    before = files(own)
    async with page_server(own) as server:
        found, answer = await server.post("main", kind, body)
    assert (found, files(own)) == (status, before)
    assert answer["error"]


async def test_a_team_of_somebody_else_is_shown_but_not_written_to(foreign: Path) -> None:
    before = files(foreign)
    async with page_server(foreign) as server:
        async for _, change in server.changes("foreign"):
            assert "carl" in change["members"]
            break
        status, answer = await server.post("foreign", "messages", {"to": "carl", "text": "hi"})
    assert (status, files(foreign)) == (409, before)
    assert "foreign" in answer["error"]


async def test_a_team_that_is_removed_meanwhile_ends_the_stream_with_a_reason(place: Path) -> None:
    with anyio.fail_after(SOON):
        async with (
            page_server(place) as server,
            server.client.stream("GET", "/api/teams/main/events", timeout=None) as answer,
        ):
            lines = answer.aiter_lines()
            assert await anext(lines) == "event: changes"
            for file in [*place.glob(".teams/main/*"), *place.glob(".tasks/main/*")]:
                if file.is_file():
                    file.unlink()
            (place / ".teams" / "main" / "roster.jsonl").write_text("{}\n")
            async for line in lines:
                if line == "event: trouble":
                    break


async def test_mail_names_are_not_paths(own: Path) -> None:
    async with page_server(own) as server:
        for name in ("../x", "a/b", "", "lead\n", "\0"):
            status, _ = await server.post("main", "messages", {"to": name, "text": "hi"})
            assert status in (400, 409)
    assert not list(own.parent.glob("x*"))


async def answer_of(server: PageServer, path: str) -> Any:
    answer = await server.client.get(f"/api/teams/main/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_past_is_told_once_and_again_to_a_page_of_an_earlier_server(place: Path) -> None:
    async with page_server(place) as server, hands(place) as team:
        # A page that shows the team keeps what was read of its past.
        async for _ in server.changes("main"):
            first = await answer_of(server, "history")
            known = f"history?after={len(first['steps'])}&history={first['history']}"
            assert (await answer_of(server, known))["steps"] == []
            await team.board.create("lead", NewTask("one more"))
            (step,) = (await answer_of(server, known))["steps"]
            assert [task["subject"] for task in step["tasks"].values()] == ["one more"]
            again = await answer_of(server, "history?after=3&history=another")
            assert (again["after"], again["steps"]) == (0, [*first["steps"], step])
            break


async def test_earlier_items_of_a_transcript_and_words_in_it_are_found(place: Path) -> None:
    async with page_server(place) as server:
        whole = await answer_of(server, "transcript?member=alice&before=999999")
        last = whole["items"][-1]
        assert whole["before"] == 0
        earlier = await answer_of(server, f"transcript?member=alice&before={last['number']}")
        assert [item["key"] for item in earlier["items"]] == [item["key"] for item in whole["items"][:-1]]
        found = await answer_of(server, "search?words=B.PY%20a.py")
        assert [(one["member"], one["key"]) for one in found["found"]] == [("alice", last["key"])]
        assert (await answer_of(server, "search?words=whale")) == {"found": [], "cut": False}


@pytest.mark.parametrize(
    "path",
    [
        "search",
        "search?words=%20",
        f"search?words={'x' * 201}",
        "transcript",
        "transcript?before=-1",
        "history?after=x",
        "files?point=1e3",
    ],
)
async def test_what_cannot_be_understood_is_refused(own: Path, path: str) -> None:
    async with page_server(own) as server:
        answer = await server.client.get(f"/api/teams/main/{path}")
    assert (answer.status_code, bool(answer.json()["error"])) == (400, True)


async def test_the_ninth_team_at_once_is_refused(own: Path) -> None:
    names = [f"team-{number}" for number in range(MOST_TEAMS)]
    for name in names:
        await anyio.to_thread.run_sync(founded, own, name)
    async with page_server(own) as server, AsyncExitStack() as running:
        for name in names:
            opened = await running.enter_async_context(hands(own, name))
            await running.enter_async_context(opened.writer.store.hold("lead", "process 7"))
        answer = await server.client.post("/api/teams", json={"goal": "one more"})
    assert (answer.status_code, str(MOST_TEAMS) in answer.json()["error"]) == (409, True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
VALUES = (
    st.sampled_from(("main", "alice", "now", "1", "#1", "0", "1e9", "user", "all", "yes", "\0", "../x")) | st.text()
)
PATHS: dict[str, dict[str, Any]] = open_api()["paths"]
# The stream of events never ends, and a new process is more than a request.
CALLS = [
    (method, path, operation)
    for path, methods in PATHS.items()
    for method, operation in methods.items()
    if (method, path.rpartition("/")[2]) not in (("get", "events"), ("post", "teams"), ("post", "resumes"))
]


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, dict[str, str], object]:
    """Draw a request with known names and any values."""
    method, path, operation = draw(st.sampled_from(CALLS))
    query = {
        one["name"]: draw(VALUES) for one in operation["parameters"] if one["in"] == "query" and draw(st.booleans())
    }
    body: object = None
    if method == "post":
        known = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
        body = draw(JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(known, VALUES | JSON)))
    return method, path.replace("{team}", draw(st.sampled_from(("main", "nobody", "%00", "..")))), query, body


@settings(max_examples=200 if "DESKMATE_SOAK" in os.environ else 20, deadline=None)
@given(st.lists(requests(), min_size=1, max_size=10))
def test_no_request_makes_the_server_fail(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, str, dict[str, str], object]]
) -> None:
    folder = worked(tmp_path_factory.mktemp("team"))

    async def ask() -> list[int]:
        async with page_server(folder) as server:
            headers = {"Content-Type": "application/json"}
            return [
                (
                    await server.client.request(
                        method, path, params=query, headers=headers, content=json.dumps(body).encode()
                    )
                ).status_code
                for method, path, query, body in asked
            ]

    # 503 says that files cannot be read or written, which is not the case here.
    assert all(status < 500 for status in anyio.run(ask))
