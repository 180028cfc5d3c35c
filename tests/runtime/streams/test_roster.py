"""The roster, live: who came, who left, what each is doing, and what is permitted."""

from collections.abc import Awaitable
from pathlib import Path

import anyio
import pytest

from deskmate.core.log.names import RESERVED
from deskmate.core.log.records import Damaged
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentKind, AgentType
from deskmate.core.team.roster_records import (
    Joined,
    MemberIdle,
    MemberParked,
    MemberWaiting,
    MemberWorking,
    PolicySet,
    StatusRecord,
    parse_rule,
)
from deskmate.core.team.status import Idle, Left, Parked, Status, Waiting, Working
from deskmate.errors import Refused
from deskmate.runtime.streams.roster import Roster
from tests.runtime.team_process import Killed, Moment, TeamProcess, die

pytestmark = pytest.mark.anyio


async def refused(deed: Awaitable[object]) -> str:
    with pytest.raises(Refused) as why:
        await deed
    return str(why.value)


async def agrees(team: TeamProcess, roster: Roster) -> bool:
    """Tell whether a process that starts now sees the same roster."""
    return await team.another().roster.refresh() == roster.state


# -- founding and joining -------------------------------------------------------------------------


async def test_a_team_is_founded_once_with_its_lead(team: TeamProcess) -> None:
    roster = await team.another().roster.refresh()
    assert (roster.team, roster.founded) == ("team", team.clock.timestamp())
    assert [(member.name, member.kind) for member in roster.members.values()] == [
        ("lead", AgentKind.LEAD),
        ("alice", AgentKind.TEAMMATE),
        ("bob", AgentKind.TEAMMATE),
    ]
    assert (await refused(team.another().roster.found("other"))).startswith("Team 'team' already exists.")


async def test_who_joins_is_there_as_described(team: TeamProcess) -> None:
    joined = Joined(
        name="carol",
        agent_type=AgentType.EXPLORE,
        role="tester",
        prompt="Test it.",
        mode=Mode.ACCEPT_EDITS,
        at=5.0,
        cause="lead:1.0",
    )
    carol = await team.roster.join(joined)
    roster = await team.another().roster.refresh()
    assert roster.members["carol"] == carol
    assert (carol.agent_type, carol.role) == (AgentType.EXPLORE, "tester")
    assert (carol.status, carol.status_at, carol.status_in) == (Working(), 5.0, 4)
    assert (roster.mode_of("carol"), roster.mode_of("bob")) == (Mode.ACCEPT_EDITS, Mode.DEFAULT)


@pytest.mark.parametrize("leaves", [False, True])
async def test_a_name_is_never_used_twice_and_another_is_proposed(team: TeamProcess, leaves: bool) -> None:
    await team.join("bob-2")
    if leaves:
        await team.leave("bob")
    assert await refused(team.another().join("bob")) == (
        "The name 'bob' was used in this team before, and no name is used twice. Try 'bob-3'."
    )


@pytest.mark.behaviour("look-alikes")
@pytest.mark.parametrize(
    ("name", "like", "free"),
    [
        ("1ead", "lead", "teammate-2"),
        ("user_", "user", "teammate-2"),
        ("b0b", "bob", "bob-2"),
        ("bob-", "bob", "bob-2"),
    ],
)
async def test_nobody_joins_under_a_name_that_can_be_read_as_anothers(
    team: TeamProcess, name: str, like: str, free: str
) -> None:
    why = await refused(team.join(name))
    assert f"'{name}' looks like '{like}'" in why
    assert f"such as '{free}'" in why
    await team.leave("bob")
    assert "looks like" in await refused(team.another().join(name))
    await team.join(free)


@pytest.mark.behaviour("look-alikes", "S4")
async def test_who_joined_under_such_a_name_before_the_rule_is_still_there(team: TeamProcess) -> None:
    joined = Joined(name="b0b", at=0.0)
    await team.writer.append("roster", joined.body())
    assert "b0b" in (await team.another().roster.refresh()).members
    assert "Try 'bob-2'" in await refused(team.join("bob"))


async def test_a_proposed_name_is_no_look_alike_of_one_that_is_there(team: TeamProcess) -> None:
    await team.join("bob_2")
    assert "Try 'bob-3'" in await refused(team.join("bob"))


async def test_a_proposed_name_can_be_used_however_long_the_first_was(team: TeamProcess) -> None:
    name = "b" * 64
    await team.join(name)
    proposed = (await refused(team.join(name))).split("'")[-2]
    await team.join(proposed)
    assert proposed in team.roster.state.members


@pytest.mark.parametrize("name", sorted(RESERVED))
async def test_a_reserved_name_is_refused(team: TeamProcess, name: str) -> None:
    assert f"'{name}' is reserved" in await refused(team.join(name))


async def test_of_two_who_join_under_one_name_at_once_one_does(team: TeamProcess) -> None:
    reasons: list[str] = []

    async def join(process: TeamProcess) -> None:
        try:
            await process.join("carol")
        except Refused as why:
            reasons.append(str(why))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(join, team.another())
    assert reasons == ["The name 'carol' was used in this team before, and no name is used twice. Try 'carol-2'."] * 3
    assert [*(await team.roster.refresh()).members] == ["lead", "alice", "bob", "carol"]


@pytest.mark.behaviour("M2")
@pytest.mark.parametrize("moment", ["before append", "after append"])
async def test_a_spawn_repeated_after_a_crash_adds_one_teammate(team: TeamProcess, moment: Moment) -> None:
    joined = Joined(name="carol", prompt="Test it.", at=5.0, cause="lead:1.0")
    dying, wire = team.meddled()
    wire.at(moment, "roster", die)
    with pytest.raises(Killed):
        await dying.roster.join(joined)
    assert await team.roster.join(joined) == await team.another().roster.join(joined)
    assert [*(await team.roster.refresh()).members] == ["lead", "alice", "bob", "carol"]
    assert team.roster.state.skipped == ()


@pytest.mark.behaviour("colours")
async def test_colours_go_by_the_order_of_joining_those_who_left_counted(team: TeamProcess) -> None:
    await team.leave("alice")
    await team.another().join("carol", "dave")
    await team.leave("dave")
    await team.join("erin", "frank", "grace")
    colours = {member.name: member.colour for member in team.roster.state.teammates}
    assert colours == {
        "alice": "cyan",
        "bob": "yellow",
        "carol": "magenta",
        "dave": "green",
        "erin": "blue",
        "frank": "bright_red",
        "grace": "bright_cyan",
    }


# -- what each is doing ---------------------------------------------------------------------------


async def test_what_a_member_is_doing_is_seen_by_every_process(team: TeamProcess) -> None:
    other = team.another()
    told: list[tuple[StatusRecord, Status, int]] = [
        (MemberWorking(name="bob", at=1.0), Working(), 0),
        (MemberIdle(name="bob", at=2.0, heard=3), Idle(), 3),
        (MemberWaiting(name="bob", on="plan", at=3.0, heard=3), Waiting("plan"), 3),
        (MemberWorking(name="bob", at=4.0), Working(), 3),
        (MemberParked(name="bob", reason="over budget", at=5.0, heard=4), Parked("over budget"), 4),
    ]
    for number, (event, status, heard) in enumerate(told, 4):
        await team.roster.status(event)
        bob = (await other.roster.refresh()).members["bob"]
        assert (bob.status, bob.status_at, bob.status_in, bob.heard) == (status, event.at, number, heard)


async def test_last_words_stay_until_the_next_ones(team: TeamProcess) -> None:
    await team.roster.status(
        MemberIdle(name="bob", words="It is done.", peers=("to alice: done",), only_words=True, at=1.0)
    )
    await team.roster.status(MemberWorking(name="bob", at=2.0))
    bob = (await team.another().roster.refresh()).members["bob"]
    assert (bob.words, bob.peers, [words for _, words in bob.reports]) == (
        "It is done.",
        ("to alice: done",),
        ["It is done."],
    )


async def test_who_left_stays_left_whatever_a_late_record_says(team: TeamProcess) -> None:
    late = team.another()
    await late.roster.refresh()
    roster = await team.roster.leave("bob", "agreed to stop", heard=7, agreed=True)
    await late.roster.status(MemberWorking(name="bob", at=9.0))
    bob = (await late.roster.refresh()).members["bob"]
    assert bob == roster.members["bob"]
    assert (bob.here, bob.status, bob.heard) == (False, Left("agreed to stop", agreed=True), 7)
    assert late.roster.state.skipped == ("record 5: 'bob' has left. Nothing more is recorded about it.",)
    assert (
        await refused(late.roster.leave("bob", "again", heard=9))
        == "'bob' has left. Nothing more is recorded about it."
    )


async def test_nobody_leaves_who_never_came(team: TeamProcess) -> None:
    assert await refused(team.roster.leave("carol", "", heard=0)) == (
        "'carol' is not on the roster. Only members have a status."
    )


# -- what is permitted ----------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["alice", "bob", "nobody"])
async def test_only_lead_and_user_change_what_is_permitted(team: TeamProcess, by: str) -> None:
    before = await team.roster.refresh()
    assert await refused(team.roster.permit(PolicySet(by=by, mode=Mode.BYPASS, at=1.0))) == (
        f"'{by}' cannot change permissions. Ask the lead."
    )
    forged = PolicySet(by=by, mode=Mode.BYPASS, add_rules=("allow bash",), attended=True, at=1.0)
    await team.writer.append("roster", forged.body())
    after = await team.another().roster.refresh()
    assert (after.mode, after.rules, after.attended) == (before.mode, before.rules, before.attended)


async def test_modes_are_set_for_the_team_and_for_one_member(team: TeamProcess) -> None:
    await team.roster.permit(PolicySet(by="user", mode=Mode.ACCEPT_EDITS, at=1.0))
    await team.another().roster.permit(PolicySet(by="lead", member="bob", mode=Mode.PLAN, at=2.0))
    roster = await team.roster.refresh()
    assert [roster.mode_of(name) for name in ("lead", "alice", "bob")] == [
        Mode.ACCEPT_EDITS,
        Mode.ACCEPT_EDITS,
        Mode.PLAN,
    ]


async def test_rules_are_added_once_and_removed(team: TeamProcess) -> None:
    added = PolicySet(by="user", add_rules=("allow bash(git diff *)", "deny bash(rm *)"), at=1.0)
    await team.roster.permit(added)
    await team.roster.permit(added)
    assert team.roster.state.rules == (parse_rule("allow bash(git diff *)"), parse_rule("deny bash(rm *)"))
    await team.another().roster.permit(PolicySet(by="user", remove_rules=("allow bash(git diff *)",), at=2.0))
    assert (await team.roster.refresh()).rules == (parse_rule("deny bash(rm *)"),)


async def test_whether_a_person_attends_stays_as_it_was_said_last(team: TeamProcess) -> None:
    assert (await team.roster.refresh()).attended is False
    await team.roster.permit(PolicySet(by="lead", attended=True, at=1.0))
    await team.roster.permit(PolicySet(by="lead", mode=Mode.DONT_ASK, at=2.0))
    assert (await team.another().roster.refresh()).attended is True
    await team.roster.permit(PolicySet(by="lead", attended=False, at=3.0))
    assert (await team.another().roster.refresh()).attended is False


# -- many at once, and damage ---------------------------------------------------------------------


async def test_processes_that_write_at_once_come_to_the_same_roster(team: TeamProcess) -> None:
    processes = [team.another() for _ in range(4)]

    async def live(name: str, process: TeamProcess) -> None:
        await process.join(name)
        await process.roster.status(MemberIdle(name=name, at=1.0))
        await process.roster.leave(name, "done", heard=0)

    async with anyio.create_task_group() as tasks:
        for index, process in enumerate(processes):
            tasks.start_soon(live, f"m{index}", process)
    for process in processes:
        await process.roster.refresh()
        assert await agrees(team, process.roster)
    assert sum(not member.here for member in processes[0].roster.state.teammates) == 4
    assert processes[0].roster.state.skipped == ()


async def test_of_two_looks_at_once_the_further_one_counts(team: TeamProcess) -> None:
    process, wire = team.meddled()

    async def join_and_look() -> None:
        await team.join("carol")
        await process.roster.refresh()

    wire.at("after read", "roster", join_and_look)
    assert "carol" in (await process.roster.refresh()).members
    assert await agrees(team, process.roster)


async def test_a_damaged_record_is_named_until_a_person_accepts_its_loss(
    team_on_disk: TeamProcess, folder: Path
) -> None:
    file = folder / "roster.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"alice"', b'"malice"', 1))
    process = team_on_disk.another()
    roster = await process.roster.refresh()
    assert ([*roster.members], roster.damaged) == (["lead", "bob"], frozenset({2}))
    (damaged,) = [item for item in await process.store.read("roster") if isinstance(item, Damaged)]
    assert (
        await refused(process.roster.accept(3)) == "Record 3 of the roster is not damaged. There is nothing to accept."
    )
    assert (await process.roster.accept(damaged.number)).damaged == frozenset()
    assert (await team_on_disk.another().roster.refresh()).damaged == frozenset()
