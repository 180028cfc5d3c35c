"""Roles: which member a task is for, and what is said if nobody on the team takes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskmate.core.agent.rules.task_fit import untaken_text
from deskmate.core.log.records import Record
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.prompt.task_lines import line
from deskmate.core.team import members, roster_fold, roster_records
from deskmate.core.team.members import RosterState
from deskmate.core.team.roster_records import Joined, MemberLeft
from deskmate.core.team.tasks import EMPTY, Task, fits, role_key

WORDS = st.lists(st.text("abcäßIÉ", min_size=1, max_size=5), min_size=1, max_size=3)


def roster(*events: roster_records.Event) -> RosterState:
    founded = roster_records.TeamFounded(team="t", at=0)
    return roster_fold.fold(members.EMPTY, [Record(n, event.body()) for n, event in enumerate((founded, *events), 1)])


def is_for(role: str, *, name: str = "bob", has: str | None = "backend dev", reads_only: bool = False) -> bool:
    return fits(Task(1, "parse", role=role, created_by="lead"), name=name, role=has, reads_only=reads_only)


@pytest.mark.behaviour("claim")
@pytest.mark.parametrize(
    "role", ["backend dev", "Backend Dev", "BACKEND-DEV", " backend_  dev ", "ｂackend‑dev", "Bob"]
)
def test_a_role_fits_without_regard_to_case_width_and_spacing(role: str) -> None:
    assert is_for(role)


@pytest.mark.behaviour("claim")
@pytest.mark.parametrize("role", ["backend", "backenddev", "backend developer", "frontend dev", "alice"])
def test_another_role_does_not_fit(role: str) -> None:
    assert not is_for(role)


def test_a_role_of_nothing_but_spaces_is_no_role() -> None:
    assert is_for(" ", has=None)
    assert not is_for(" ", has=None, reads_only=True)


@given(WORDS, st.sampled_from([" ", "-", "_", "  ", "\t", " - "]), st.sampled_from([str.upper, str.lower, str.title]))
def test_however_a_role_is_written_it_is_the_same(words: list[str], between: str, case: object) -> None:
    assert callable(case)
    assert role_key(case(between.join(words))) == role_key(case(" ".join(words)))
    assert role_key(role_key(" ".join(words))) == role_key(" ".join(words))
    assert role_key(between.join(words).upper()) == role_key("_".join(words).upper())


@pytest.mark.behaviour("sender")
def test_a_line_shows_the_role_and_no_role_can_pose_as_another_part() -> None:
    task = Task(1, "parse", role='x"] done [completed', owner="bob")
    assert line(EMPTY, task) == '#1 [pending, role "x\'] done [completed"] parse @bob'


def test_a_role_that_nobody_here_has_is_said_with_those_there_are() -> None:
    team = roster(
        Joined(name="ann", role="tester", at=0),
        Joined(name="bob", role="Backend", at=0),
        Joined(name="cy", role="writer", at=0),
        MemberLeft(name="cy", at=1),
    )
    said = 'Nobody here has the role "writer". Roles here: "tester", "Backend".'
    assert untaken_text(team, Task(1, "s", role="writer")) == said
    assert untaken_text(team, Task(1, "s", role="backend")) == ""
    assert untaken_text(team, Task(1, "s", role="ann")) == ""
    assert untaken_text(team, Task(1, "s", role="lead")) == ""
    assert untaken_text(team, Task(1, "s", role="writer", owner="ann")) == ""
    assert untaken_text(team, Task(1, "s")) == ""
    assert untaken_text(roster(), Task(1, "s", role="writer")) == 'Nobody here has the role "writer". Roles here: none.'
    assert untaken_text(roster(), Task(1, "s")) == ""


def test_a_task_for_anybody_on_a_team_of_readers_is_said_to_have_no_taker() -> None:
    team = roster(Joined(name="ann", agent_type=AgentType.EXPLORE, at=0))
    assert untaken_text(team, Task(1, "s")) == (
        "No teammate takes it automatically, because every teammate is read-only. Give it an owner or a role."
    )
