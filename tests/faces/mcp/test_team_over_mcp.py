"""A client starts a team, watches it, answers it and reads what came of it."""

import os
import signal
from pathlib import Path
from typing import Literal

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from deskmate.app.question_answers import answer
from deskmate.models.scripted import Say
from deskmate.testing import Asked, Scenario
from deskmate.testing.team_scripts import WAITING, add_task, complete_task, given_task, send_mail, spawn, step
from tests.faces.mcp.team_client import (
    NOT_WRITTEN,
    WRITTEN,
    TeamClient,
    gone,
    lead_processes,
    over_http,
    over_stdio,
    served,
    writes_a_file,
)

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("mcp-server")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_starts_a_team_answers_its_question_and_reads_its_answer(tmp_path: Path, mode: str) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, mode=mode, answers=True) as client:
        started = await client.call("start_team", goal="Write out.txt.")
        assert started == {"team": "main", "mode": "default", "notes": []}
        (asked,) = (await client.watch())["open_questions"]
        (question,) = (await client.call("get_team"))["questions"]
        assert (question["id"], question["tool"]) == (asked, "write_file")
        assert question["arguments"] == {"path": "out.txt", "content": "words"}
        assert not (team.workspace / "out.txt").exists()
        await client.call("answer_question", id=asked, answer="yes")
        assert await client.finish() == WRITTEN
        assert (await client.call("get_answer"))["files"] == ["out.txt"]
    assert (team.workspace / "out.txt").read_text() == "words"


async def test_a_client_that_may_not_answer_finds_no_tool_for_it_and_the_question_waits(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team) as client:
        await client.call("start_team", goal="Write out.txt.")
        (asked,) = (await client.watch())["open_questions"]
        assert "answer_question" not in await client.tools()
        await client.refusal("answer_question", id=asked, answer="yes")
        # Neither does mail answer it.
        await client.call("send_mail", text=f"yes, {asked}")
        assert (await client.call("get_team"))["questions"][0]["id"] == asked
        # The person does, from any shell.
        await answer(team.workspace, None, asked, "no", "")
        assert await client.finish() == NOT_WRITTEN


async def test_a_team_survives_its_server_and_another_server_continues_it(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, over_stdio(team, "--allow-answers") as client:
        await client.call("start_team", goal="Write out.txt.")
        await client.watch()
        (lead,) = lead_processes(team.workspace)
        server = _child_named("serve")
        os.kill(server, signal.SIGKILL)
        await gone(server)
        assert lead_processes(team.workspace) == [lead]
        async with over_stdio(team, "--allow-answers") as second:
            (asked,) = (await second.watch())["open_questions"]
            await second.call("answer_question", id=asked, answer="yes")
            assert await second.finish() == WRITTEN


def _child_named(word: str) -> int:
    """Return the child of this process that was started with a word."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if word.encode() in words and int(parent) == os.getpid():
            return int(place.name)
    raise AssertionError(f"no process was started with {word}")


async def test_a_lead_that_is_killed_is_seen_as_news_and_its_team_resumes(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, answers=True) as client:
        await client.call("start_team", goal="Write out.txt.")
        news = await client.watch()
        (lead,) = lead_processes(team.workspace)
        os.kill(lead, signal.SIGKILL)
        news = await client.call("wait_for_news", cursor=news["cursor"], until="any")
        assert ("process" in news["changed"], news["running"], news["state"]) == (True, False, "stopped")
        assert (await client.call("resume_team"))["team"] == "main"
        (asked,) = (await client.watch())["open_questions"]
        await client.call("answer_question", id=asked, answer="yes")
        assert await client.finish() == WRITTEN


async def test_a_stopped_team_ends_by_itself_and_continues_where_it_was(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, answers=True) as client:
        await client.call("start_team", goal="Write out.txt.")
        await client.watch()
        assert "lead" in (await client.call("stop_team"))["what"]
        await client.finish()
        assert lead_processes(team.workspace) == []
        assert "not running" in await client.refusal("stop_team")
        await client.call("resume_team", text="Go on.")
        assert await client.finish() != ""


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
async def test_a_team_is_served_over_http_to_clients_of_every_version(tmp_path: Path, version: str) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, over_http(team, "--read-only") as (url, token):
        authorized = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"})
        async with authorized as http:
            assert await _spoken(http, url, version) == version


async def _spoken(http: httpx2.AsyncClient, url: str, version: str) -> str:
    """Return which version a server speaks to a client of a version, after it has used some of its tools."""
    if version == "2025-06-18":
        return await _first_words(http, url, version)
    mode: Literal["auto", "legacy"] = "auto" if version == "2026-07-28" else "legacy"
    async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
        assert (await TeamClient(client).call("list_teams"))["teams"] == []
        assert "start_team" not in await TeamClient(client).tools()
        return client.protocol_version or ""


async def _first_words(http: httpx2.AsyncClient, url: str, version: str) -> str:
    """Return which version a server speaks to a client that begins as clients of 2025 do."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    answer = await http.post(
        url,
        json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
        headers={"Accept": "application/json, text/event-stream"},
    )
    assert answer.status_code == 200
    return version if f'"protocolVersion":"{version}"' in answer.text else answer.text


async def test_several_clients_work_with_several_teams_at_once(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team, served(team, answers=True) as client:
        found: dict[str, str] = {}

        async def work(number: int) -> None:
            async with served(team, answers=True, ends_leads=False) as other:
                name = (await other.call("start_team", goal=f"Write, {number}.", name=f"team-{number}"))["team"]
                (asked,) = (await other.watch(name))["open_questions"]
                await other.call("answer_question", id=asked, answer="no", team=name)
                found[name] = await other.finish(name)

        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(work, number)
        assert found == {f"team-{number}": NOT_WRITTEN for number in range(3)}
        assert {one["team"] for one in (await client.call("list_teams"))["teams"]} == set(found)


async def test_a_client_sees_members_tasks_and_mail_of_a_team_that_works(tmp_path: Path) -> None:
    def lead(asked: Asked) -> Say:
        return Say("go", [spawn("alice"), add_task("write the page")]) if step(asked) == 0 else WAITING

    def alice(asked: Asked) -> Say:
        if (task := given_task(asked)) is not None:
            return Say("done", [complete_task(task), send_mail("user", "The page is written.")])
        return WAITING

    async with Scenario(tmp_path, {"lead": lead, "alice": alice}) as team, served(team) as client:
        await client.call("start_team", goal="Build the page.")
        news = await client.call("wait_for_news")
        while "mail" not in news["changed"] and news["running"]:
            news = await client.call("wait_for_news", cursor=news["cursor"])
        (letter,) = (await client.call("read_mail"))["mail"]
        assert (letter["sender"], letter["text"]) == ("alice", "The page is written.")
        await client.finish()
        assert {one["name"] for one in (await client.call("get_team"))["members"]} == {"lead", "alice"}
        (task,) = (await client.call("list_tasks"))["tasks"]
        assert (task["subject"], task["state"]) == ("write the page", "done")
        entries = (await client.call("read_transcript", member="alice"))["entries"]
        assert "words" in {one["kind"] for one in entries}
