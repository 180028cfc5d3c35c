"""A lead in a process of its own outlives its starter and waits for answers."""

import os
import signal
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from deskmate.app.detached.lead_process import LeadOrder, start
from deskmate.app.question_answers import answer, look_at_questions
from deskmate.config.project_settings import Project
from deskmate.core.policy.permissions import Mode
from deskmate.errors import Refused
from deskmate.models.scripted import Say
from deskmate.queries.stream_reader import teams_at
from deskmate.queries.team_results import look_at_result
from deskmate.queries.team_view import SeenTeam, look_at_teams
from deskmate.testing import Scenario
from tests.faces.mcp.team_client import NOT_WRITTEN, gone, lead_processes, no_leads_left, writes_a_file
from tests.runtime.team_process import until

pytestmark = pytest.mark.anyio

OWN = {"sandbox": False}


def the_team(folder: Path) -> SeenTeam:
    (team,) = look_at_teams(folder)
    return team


async def test_it_is_no_child_of_its_starter_and_ends_once_it_has_its_answer(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team:
        with no_leads_left(team.workspace):
            started = await start(team.workspace, LeadOrder(goal="Write.", settings=OWN))
            assert (started.team, started.mode) == ("main", "default")
            (lead,) = lead_processes(team.workspace)
            parent, group = Path(f"/proc/{lead}/stat").read_text().rpartition(")")[2].split()[1:3]
            assert int(parent) != os.getpid()
            assert int(group) != os.getpgrp()
            await until(lambda: the_team(team.workspace).state == "asks you")
            await answer(team.workspace, None, None, "no", "")
            await gone(lead)
            assert look_at_result(team.workspace, "main").answer == NOT_WRITTEN


async def test_what_is_interrupted_by_a_signal_goes_on_where_it_was(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team:
        with no_leads_left(team.workspace):
            await start(team.workspace, LeadOrder(goal="Write.", settings=OWN))
            await until(lambda: the_team(team.workspace).state == "asks you")
            (lead,) = lead_processes(team.workspace)
            os.kill(lead, signal.SIGTERM)
            await gone(lead)
            assert the_team(team.workspace).state == "stopped"
            assert len((await look_at_questions(team.workspace, None)).questions) == 1
            await start(team.workspace, LeadOrder(team="main", continues=True, settings=OWN))
            await answer(team.workspace, None, None, "no", "")
            await until(lambda: not the_team(team.workspace).live)
            assert look_at_result(team.workspace, "main").answer == NOT_WRITTEN


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (LeadOrder(goal="x", limits=Project(permission_mode=Mode.BYPASS)), "wider"),
        (LeadOrder(goal="x", team="no/name"), "no/name"),
        (LeadOrder(goal="x", settings={"model": "openai:none"}), "key"),
        (LeadOrder(goal="x", team="main", continues=True), "no team"),
    ],
)
async def test_what_cannot_start_says_why_and_leaves_nothing(tmp_path: Path, order: LeadOrder, words: str) -> None:
    async with Scenario(tmp_path, writes_a_file) as team:
        with pytest.raises(Refused, match=words):
            await start(team.workspace, order)
        assert teams_at(team.workspace) == []


async def test_two_cannot_run_one_team(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team:
        with no_leads_left(team.workspace):
            await start(team.workspace, LeadOrder(goal="Write.", settings=OWN))
            with pytest.raises(Refused, match="process"):
                await start(team.workspace, LeadOrder(team="main", continues=True, settings=OWN))


async def test_a_team_that_only_talks_ends_by_itself(tmp_path: Path) -> None:
    async with Scenario(tmp_path, lambda asked: Say("Hello.")) as team:
        with no_leads_left(team.workspace):
            await start(team.workspace, LeadOrder(goal="Say hello.", settings=OWN))
            await until(lambda: not the_team(team.workspace).live)
            assert look_at_result(team.workspace, "main").answer == "Hello."


async def test_an_answer_that_comes_while_it_looks_whether_all_is_done_is_not_missed(tmp_path: Path) -> None:
    async with Scenario(tmp_path, writes_a_file) as team:
        with no_leads_left(team.workspace):
            for number in range(4):
                name = f"team-{number}"
                await start(team.workspace, LeadOrder(goal="Write.", team=name, settings=OWN))
                while not (await look_at_questions(team.workspace, name)).questions:
                    await checkpoint()
                await answer(team.workspace, name, None, "no", "")
                for lead in lead_processes(team.workspace):
                    await gone(lead)
                assert look_at_result(team.workspace, name).answer == NOT_WRITTEN
