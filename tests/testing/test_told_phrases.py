"""The checker reads every text by which the product tells a fact: a phrase that only one side changes fails here."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from deskmate.core.agent.entries import Compacted, Noticed, Started, WorkMode
from deskmate.core.agent.memory import EMPTY as NOTHING
from deskmate.core.agent.memory import remember
from deskmate.core.agent.notices import digest, joins_and_leaves
from deskmate.core.agent.work_mode import change_text, mode_text
from deskmate.core.log.names import LEAD, USER
from deskmate.core.log.records import Record
from deskmate.core.policy.tool_table import AgentKind, AgentType, tools_of
from deskmate.core.prompt.compaction import summary_text
from deskmate.core.prompt.prompts import Prompt, TextBlock, Told
from deskmate.core.prompt.rendering import framed_summary, told_texts
from deskmate.core.prompt.system_prompt import Environment, brief, made_of
from deskmate.core.prompt.task_lines import authored_line, line
from deskmate.core.team import board_fold, roster_fold
from deskmate.core.team.members import EMPTY as NOBODY
from deskmate.core.team.members import RosterState, recipient_refusal
from deskmate.core.team.roster_records import (
    Event,
    Joined,
    MemberIdle,
    MemberLeft,
    MemberParked,
    MemberWaiting,
    MemberWorking,
    TeamFounded,
)
from deskmate.core.team.tasks import EMPTY as NO_TASKS
from deskmate.core.team.tasks import BoardEvent, BoardState, Claimed, Completed, Created, Deleted
from deskmate.testing.knowledge.prompt_parts import PromptParts
from deskmate.testing.knowledge.told_phrases import (
    MODES,
    created_told,
    here_told,
    leaves_out_news,
    left_out,
    mode_told,
    statuses_told,
    tasks_told,
)

pytestmark = pytest.mark.behaviour("K1", "K4", "K6")

STATUSES: dict[str, Event] = {
    "working": MemberWorking(name="bob", at=3.0),
    "idle": MemberIdle(name="bob", words="I am done, and left it idle.", peers=("to amy: parked",), at=3.0),
    "waiting": MemberWaiting(name="bob", on="plan", at=3.0),
    "parked": MemberParked(name="bob", reason="no key (left out)", at=3.0),
    "left": MemberLeft(name="bob", reason="working no more", at=3.0),
}


def roster_of(*events: Event) -> RosterState:
    begun: Sequence[Event] = (TeamFounded(team="main", at=0.0), Joined(name="bob", role="tester (of units)", at=1.0))
    return roster_fold.fold(NOBODY, (Record(number, event.body()) for number, event in enumerate([*begun, *events], 1)))


def large_team(count: int) -> RosterState:
    return roster_of(*(Joined(name=f"m{number}", role="worker", at=2.0) for number in range(count)))


def member_of(kind: AgentKind, agent_type: AgentType = AgentType.GENERAL) -> str:
    return brief(
        made_of(
            name=LEAD if kind is AgentKind.LEAD else "bob",
            kind=kind,
            team="main",
            members={},
            tools=tools_of(kind, agent_type),
            environment=Environment(workspace="/w", attended=True),
        )
    )


def prompt_of(system: str, *texts: str) -> Prompt:
    return Prompt(system, (Told(tuple(map(TextBlock, texts))),), ())


# -- statuses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", STATUSES)
def test_every_status_in_the_news_for_a_lead_is_read(word: str) -> None:
    roster = roster_of(STATUSES[word])
    assert list(statuses_told(digest(roster, NO_TASKS, (2, 0)), roster.members)) == [("bob", word)]


def test_an_interrupted_member_is_read_as_idle() -> None:
    roster = roster_of(MemberIdle(name="bob", held=True, at=3.0))
    assert list(statuses_told(digest(roster, NO_TASKS, (2, 0)), roster.members)) == [("bob", "idle")]


def test_who_joined_and_who_left_are_read_in_the_news_for_a_teammate() -> None:
    roster = roster_of(Joined(name="amy", at=2.0), Joined(name="dan", role="left over", at=2.0), STATUSES["left"])
    told = statuses_told(joins_and_leaves(roster, NO_TASKS, 2, "eve"), roster.members)
    assert sorted(told) == [("amy", "joined"), ("bob", "left"), ("dan", "joined")]


@pytest.mark.parametrize("word", [word for word in STATUSES if word != "left"])
def test_every_status_in_a_summary_is_read(word: str) -> None:
    roster = roster_of(STATUSES[word])
    (section,) = [one for one in summarised(roster).sections if "your team" in one.title]
    assert [told for one in section.lines for told in statuses_told(one, roster.members)] == [("bob", word)]


def summarised(roster: RosterState, offered: str = "read_file") -> PromptParts:
    started = Started(name=LEAD, prompt="begin")
    memory = remember(NOTHING, 1, started)
    text = summary_text("So far so good.", memory, [(1, started)], NO_TASKS, roster)
    entry = Compacted(upto=1, summary=text, roster=roster.number)
    return PromptParts(prompt_of(member_of(AgentKind.LEAD), framed_summary(entry)), [(1, started), (2, entry)])


def test_a_summary_of_a_team_too_large_for_a_list_says_how_to_see_the_rest() -> None:
    (section,) = [one for one in summarised(large_team(120)).sections if "your team" in one.title]
    assert sum(left_out(one, {"read_file"}) for one in section.lines) == 21
    assert sum(left_out(one, {"TaskList"}) for one in section.lines) == 0


def test_a_lead_that_cannot_read_files_is_told_of_all_members() -> None:
    roster = replace(large_team(120), delegate=True)
    (section,) = [one for one in summarised(roster).sections if "your team" in one.title]
    assert len(section.lines) == 121


def test_news_of_a_team_too_large_for_a_list_says_how_to_see_the_rest() -> None:
    roster = large_team(60)
    assert left_out(joins_and_leaves(roster, NO_TASKS, 2, "eve"), {"read_file"}) == 20
    gone = (MemberLeft(name=f"m{number}", at=3.0) for number in range(60))
    left = roster_fold.fold(roster, (Record(63 + number, event.body()) for number, event in enumerate(gone)))
    assert leaves_out_news(joins_and_leaves(left, NO_TASKS, roster.number, "eve"))
    assert left_out(joins_and_leaves(left, NO_TASKS, roster.number, "eve"), {"read_file"}) == 0


@pytest.mark.parametrize(("size", "leaves_out"), [(20, False), (100, True)])
def test_news_of_more_members_than_a_digest_lists_is_known_as_that(size: int, leaves_out: bool) -> None:
    names = [f"m{number}" for number in range(size)]
    words = [MemberIdle(name=name, words="x" * 2_000, only_words=True, at=3.0) for name in names]
    team = roster_of(*(Joined(name=name, at=2.0) for name in names), *words)
    text = digest(team, NO_TASKS, (2, 0))
    assert leaves_out_news(text) == leaves_out
    told = dict(statuses_told(text, team.members))
    assert (set(told.values()), len(told) == size) == ({"idle"}, not leaves_out)


def test_who_is_on_the_team_is_read_in_a_refusal() -> None:
    roster = roster_of(Joined(name="amy", at=2.0))
    refusal = recipient_refusal(roster, "nobody")
    assert refusal
    assert list(here_told(refusal)) == [{LEAD, "bob", "amy", USER}]


# -- tasks ------------------------------------------------------------------------------------------


def board_of(status: str) -> BoardState:
    made = Created(by=LEAD, at=1.0, task=1, subject='a "task" [completed]', role="tester")
    then: dict[str, list[BoardEvent]] = {
        "pending": [],
        "in progress": [Claimed(by="bob", at=2.0, task=1, epoch=0)],
        "completed": [Claimed(by="bob", at=2.0, task=1, epoch=0), Completed(by="bob", at=3.0, task=1, epoch=1)],
        "deleted": [Deleted(by="bob", at=2.0, task=1)],
    }
    events = [made, *then[status]]
    return board_fold.fold(NO_TASKS, (Record(number, event.body()) for number, event in enumerate(events, 1)))


@pytest.mark.parametrize("status", ["pending", "in progress", "completed", "deleted"])
def test_every_status_of_a_task_is_read(status: str) -> None:
    board = board_of(status)
    assert board.tasks[1].status.replace("_", " ") == status
    for text in (line(board, board.tasks[1]), authored_line(board, board.tasks[1])):
        assert list(tasks_told(text)) == [(1, status)]


@pytest.mark.parametrize("status", ["in progress", "completed", "deleted"])
def test_every_change_of_a_task_in_the_news_for_a_lead_is_read(status: str) -> None:
    assert list(tasks_told(digest(roster_of(), board_of(status), (2, 1)))) == [(1, status)]


def test_the_task_that_a_result_says_was_created_is_read() -> None:
    assert created_told("Created #12 parse") == 12
    assert created_told("I created #12") is None


# -- modes ------------------------------------------------------------------------------------------

MODES_OF_A_LEAD = [
    WorkMode(planning=planning, delegating=delegating, attended=attended, barred=())
    for planning, delegating, attended in product([False, True], repeat=3)
]


def told(mode: WorkMode) -> list[bool]:
    return [bool(mode.planning), bool(mode.delegating), False, bool(mode.attended)]


def read(system: str, *entries: Noticed | Started) -> list[bool | None]:
    texts = [text for entry in entries for text in told_texts(entry)]
    parts = PromptParts(prompt_of(system, *texts), list(enumerate(entries, 1)))
    return [mode_told(parts, mode) for mode in MODES]


@pytest.mark.parametrize("mode", MODES_OF_A_LEAD, ids=str)
def test_every_mode_that_is_stated_is_read(mode: WorkMode) -> None:
    found = read(member_of(AgentKind.LEAD), Noticed(text=mode_text(LEAD, mode)))
    assert list(map(bool, found)) == told(mode)
    assert found[-1] is mode.attended


@pytest.mark.parametrize(("before", "after"), list(product(MODES_OF_A_LEAD, repeat=2)), ids=str)
def test_every_change_of_mode_is_read(before: WorkMode, after: WorkMode) -> None:
    first, then = mode_text(LEAD, before), change_text(LEAD, before, after)
    assert list(map(bool, read(member_of(AgentKind.LEAD), Noticed(text=first), Noticed(text=then)))) == told(after)


@pytest.mark.parametrize("kind", [AgentKind.TEAMMATE, AgentKind.SUBAGENT])
@pytest.mark.parametrize("agent_type", AgentType)
def test_every_system_prompt_is_read(kind: AgentKind, agent_type: AgentType) -> None:
    found = read(member_of(kind, agent_type))
    assert list(map(bool, found)) == [False, False, agent_type is not AgentType.GENERAL, True]


@pytest.mark.parametrize("name", ["bob", "lead:3.0"])
def test_a_first_message_in_plan_mode_is_read(name: str) -> None:
    kind = AgentKind.SUBAGENT if ":" in name else AgentKind.TEAMMATE
    assert read(member_of(kind), Started(name=name, prompt="begin", planning=True))[0] is True
