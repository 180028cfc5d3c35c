"""A literal agent plays every part of a team: what our prompts do not say, it cannot do."""

from collections.abc import Callable

import pytest

from deskmate.core.team.tasks import TaskStatus
from deskmate.testing import Asked
from deskmate.testing.literal.literal_agent import LiteralAgent
from deskmate.testing.literal.literal_reading import is_summary_request
from deskmate.testing.provider_faults import ErrorStatus as Refuse
from deskmate.testing.provider_faults import Fault, TooLong
from tests.scenarios.team.team_runner import TeamRun, TeamRunner

pytestmark = pytest.mark.anyio

REPORT = "The service speaks GraphQL."
GRAPHQL = f"""Move this service from REST to GraphQL.
Tasks:
- List the endpoints [analyst]: write notes.txt: "books: title"; tell backend: "The endpoints are listed."
- Write the schema [backend, after 1]: write schema.graphql: "type Query {{ books: [Book] }}"; tell frontend: "Served."
- Move the page [frontend, after 2]: write page.graphql: "query {{ books {{ title }} }}"; tell analyst: "Shown."
- Check it [analyst, after 3, verify grep -q books schema.graphql page.graphql]: write checked.txt: "yes"
Team: ann (analyst), backend (backend), frontend (frontend)
Report: {REPORT}
"""
FILES = {
    "notes.txt": "books: title",
    "schema.graphql": "type Query { books: [Book] }",
    "page.graphql": "query { books { title } }",
    "checked.txt": "yes",
}
PLANNED = f"""Write one file, and plan first.
Tasks:
- Write it [writer]: write out.txt: "as planned"
Team: ann (writer, plans)
Approve only plans that mention: tests
Report: {REPORT}
"""


def graphql() -> str:
    return GRAPHQL.replace("tell analyst", "tell ann")


def too_long_once(*signs: str) -> Callable[[int, Asked], Fault | None]:
    """Refuse, once for each sign, the first prompt whose latest words hold it: the agent must summarise there."""
    left = set(signs)

    def fault(number: int, asked: Asked) -> Fault | None:
        met = next((sign for sign in left if any(sign in text for text in asked.texts)), None)
        if met is None or is_summary_request(asked.prompt):
            return None
        left.remove(met)
        return TooLong()

    return fault


def no_fault(number: int, asked: Asked) -> Fault | None:
    return None


def assert_all_done(played: TeamRun, tasks: int) -> None:
    assert (played.outcome.end, played.outcome.text.splitlines()[-1]) == ("answered", REPORT)
    assert [task.status for task in played.board.tasks.values()] == [TaskStatus.COMPLETED] * tasks
    assert played.everyone_left


async def test_a_literal_team_moves_a_service_to_graphql(runner: TeamRunner) -> None:
    played = await runner.play(LiteralAgent(), goal=graphql())
    assert_all_done(played, 4)
    assert {path: runner.file(path) for path in FILES} == FILES


async def test_a_literal_team_goes_on_after_a_summary_of_everybody(runner: TeamRunner) -> None:
    faults = too_long_once("is yours now", "completed task", 'sender="backend"', "shutdown_request")
    played = await runner.play(LiteralAgent(), goal=graphql(), faults=faults)
    assert_all_done(played, 4)
    assert {path: runner.file(path) for path in FILES} == FILES


@pytest.mark.parametrize("sign", [None, "plan_approval_request", 'approve="no"', 'approve="yes"', "plan mode"])
async def test_a_plan_is_refused_then_approved_also_with_a_summary_at_any_step_of_it(
    runner: TeamRunner, sign: str | None
) -> None:
    played = await runner.play(LiteralAgent(), goal=PLANNED, faults=too_long_once(sign) if sign else {})
    assert_all_done(played, 1)
    assert runner.file("out.txt") == "as planned"


UNPLANNED = PLANNED.replace(", and plan first", "").replace(", plans", "")
HURRIED = UNPLANNED.replace("write out.txt", 'tell lead: "begun"; write out.txt').replace(
    "Report:", "Ask everybody to leave as soon as somebody writes to you.\nReport:"
)


@pytest.mark.parametrize("sign", [None, "shutdown_request", "stays for now"])
async def test_a_teammate_that_is_asked_to_leave_finishes_its_task_first(runner: TeamRunner, sign: str | None) -> None:
    """Ann's provider is busy after she wrote to the lead, until the lead has asked her to leave."""
    summarise, asked_to_leave = too_long_once(sign) if sign else no_fault, False

    def fault(number: int, asked: Asked) -> Fault | None:
        nonlocal asked_to_leave
        told = str(asked.prompt.passages)
        asked_to_leave = asked_to_leave or "shutdown_request" in told
        busy = "You are ann" in asked.system and "'content': 'begun'" in told and not asked_to_leave
        return Refuse(529) if busy else summarise(number, asked)

    played = await runner.play(LiteralAgent(), goal=HURRIED, faults=fault)
    assert any(
        'type="shutdown_response" request_id=' in str(asked.prompt.passages) for asked in played.requests_of("lead")
    )
    assert_all_done(played, 1)
    assert runner.file("out.txt") == "as planned"


@pytest.mark.parametrize("sign", [None, "is parked"])
async def test_a_parked_teammate_is_let_go_on_by_the_lead(runner: TeamRunner, sign: str | None) -> None:
    """A provider refuses ann's first request for good, so she is parked; the lead reads how she can go on."""
    refused = 0
    summarise = too_long_once(sign) if sign else no_fault

    def fault(number: int, asked: Asked) -> Fault | None:
        nonlocal refused
        if "You are ann" in asked.system and not refused:
            refused += 1
            return Refuse(400)
        return summarise(number, asked)

    played = await runner.play(LiteralAgent(), goal=UNPLANNED, faults=fault)
    assert refused == 1
    assert_all_done(played, 1)
    assert runner.file("out.txt") == "as planned"
