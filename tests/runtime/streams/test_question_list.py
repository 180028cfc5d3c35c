"""The questions of a team, read live: whose transcript does not hold what they ask about still asks."""

import pytest

from deskmate.core.agent.entries import Did
from deskmate.core.log.names import LEAD, USER, log
from deskmate.core.team.messages import PermissionRequest, PermissionResponse
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.streams.question_list import QuestionList
from tests.runtime.agent_harness import AgentHarness

pytestmark = pytest.mark.anyio


async def test_a_question_about_a_record_that_is_not_there_is_open_until_it_is_answered() -> None:
    harness = await AgentHarness.opened([], attended=True)
    team_state = harness.team_state
    ask = PermissionRequest(request_id="lead:99.0", tool="bash", arguments={"command": "ls"})
    await Mailbox(LEAD, team_state.writer, team_state.roster).send(USER, ask)
    questions = QuestionList(team_state)
    assert [one.id for one in await questions.refresh()] == ["lead:99.0"]
    await Mailbox(USER, team_state.writer, team_state.roster).send(
        LEAD, PermissionResponse(request_id="lead:99.0", approve=False)
    )
    assert await questions.refresh() == ()


async def test_what_is_read_again_and_again_closes_a_question_once_its_call_has_a_result() -> None:
    harness = await AgentHarness.opened([], attended=True)
    team_state = harness.team_state
    ask = PermissionRequest(request_id="lead:1.0", tool="bash", arguments={})
    await Mailbox(LEAD, team_state.writer, team_state.roster).send(USER, ask)
    questions = QuestionList(team_state)
    assert len(await questions.refresh()) == len(await questions.refresh()) == 1
    await team_state.writer.append(log(LEAD), Did(call="other", text="").body())
    await team_state.writer.append(log(LEAD), Did(call="lead:1.0", text="").body())
    assert await questions.refresh() == ()
    assert log(LEAD) in questions.since
