"""A crowd: twenty teammates at once, and nothing is lost, doubled or given to two."""

import re
from collections import Counter

import pytest

from deskmate.core.team.tasks import Claimed, TaskStatus, blocks
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import (
    MemberScript,
    add_task,
    all_texts,
    complete_task,
    given_task,
    hears,
    in_turn,
    member_of,
    send_mail,
    spawn,
    step,
    update_task,
)
from tests.scenarios.team.team_runner import TeamRunner

pytestmark = pytest.mark.anyio

CROWD = tuple(f"mate-{number}" for number in range(1, 21))
YOURS = "It is yours, then."
NOW = Use("SendMessage", {"type": "broadcast", "content": "Now!"})


def lead_of(*names: str, first: tuple[Use, ...] = ()) -> MemberScript:
    """Return a lead that spawns them all in one step and tells them to begin once all of them rest."""
    spawned = Say(calls=[*first, *(spawn(name) for name in names)])

    def lead(asked: Asked) -> Say:
        if step(asked) == 0:
            return spawned
        return Say(calls=[NOW]) if step(asked) == 2 else Say("Go on.")

    return lead


def crowd_on(runner: TeamRunner) -> tuple[str, ...]:
    """Return the crowd: of processes, which take their time to start, a small one is as good."""
    return CROWD if runner.launcher == "inline" else CROWD[:4]


def at_once(*calls: Use) -> MemberScript:
    """Return a part that rests until all are told to begin, then does all this in one step."""
    return lambda asked: Say(calls=calls) if hears(asked, "Now!") else Say("I am here.")


@pytest.mark.behaviour("spawn", "idle")
async def test_twenty_spawned_in_one_step_all_join_and_all_are_called(runner: TeamRunner) -> None:
    crowd = crowd_on(runner)
    parts = {name: in_turn(Say(f"I am {name}.")) for name in crowd}
    played = await runner.play({**parts, "lead": in_turn(Say(calls=[spawn(name) for name in crowd]))})
    # They join together: in which order is nobody's business.
    assert sorted(member.name for member in played.roster.teammates) == sorted(crowd)
    assert Counter(map(member_of, played.requests)) == {
        **dict.fromkeys(crowd, 1),
        "lead": len(played.requests_of("lead")),
    }
    assert {name: played.texts_of(name) for name in crowd} == {name: [f"I am {name}."] for name in crowd}
    assert played.everyone_left


@pytest.mark.behaviour("deliver", "broadcast", "sender", "M2", "M3")
async def test_letters_of_twenty_at_once_are_each_heard_once_in_the_order_of_their_sender(runner: TeamRunner) -> None:
    crowd = crowd_on(runner)

    def part(name: str) -> MemberScript:
        return at_once(*(send_mail(to, f"{number} from {name}") for number in (1, 2) for to in ("lead", "peer")))

    parts = {name: part(name) for name in crowd}
    played = await runner.play({**parts, "peer": in_turn(), "lead": lead_of(*crowd, "peer")})
    sent = {(name, f"{number} from {name}") for name in crowd for number in (1, 2)}
    for hearer in ("lead", "peer"):
        letters = [letter for letter in played.mail_to(hearer) if letter[1] != "Now!"]
        assert (len(letters), set(letters)) == (2 * len(crowd), sent)
        assert all(letters.index((name, f"1 from {name}")) < letters.index((name, f"2 from {name}")) for name in crowd)
    for name in (*crowd, "peer"):
        assert played.mail_to(name).count(("lead", "Now!")) == 1


@pytest.mark.behaviour("task-deps", "B4")
async def test_of_nineteen_who_edit_edges_at_once_each_is_seen_from_both_sides(runner: TeamRunner) -> None:
    crowd = crowd_on(runner)[:19]

    def part(name: str) -> MemberScript:
        def play(asked: Asked) -> Say:
            if hears(asked, "Now!"):
                # Nobody takes these: they are for nobody here.
                return Say(calls=[add_task(f"of {name}", role="nobody")])
            if made := re.search(r"Created #(\d+)", str(asked.results)):
                mine = int(made[1])
                return Say(calls=[update_task(1, addBlocks=[mine]), update_task(mine, description=f"by {name}")])
            return Say("Well.")

        return play

    parts = {name: part(name) for name in crowd}
    played = await runner.play({**parts, "lead": lead_of(*crowd, first=(add_task("the first", role="nobody"),))})
    board = played.board
    numbers = frozenset(range(2, len(crowd) + 2))
    assert blocks(board, 1) == numbers
    assert {number: board.tasks[number].blocked_by for number in numbers} == dict.fromkeys(numbers, frozenset({1}))
    assert {board.tasks[number].description for number in numbers} == {f"by {name}" for name in crowd}
    assert {board.tasks[number].created_by for number in numbers} == set(crowd)


@pytest.mark.behaviour("claim", "B1")
async def test_of_many_who_claim_one_task_at_once_one_has_it_and_the_others_are_told_who(runner: TeamRunner) -> None:
    crowd = crowd_on(runner)[:8]

    def part(asked: Asked) -> Say:
        if hears(asked, "Now!"):
            return Say(calls=[update_task(1, status="in_progress")])
        if taken := re.search("belongs to '([^']+)'", str(asked.results)):
            return Say(calls=[send_mail(taken[1], YOURS)])
        # It stays in progress until everybody has tried.
        all_told = sum(YOURS in text for text in all_texts(asked)) == len(crowd) - 1
        return Say(calls=[complete_task(1)]) if all_told and hears(asked, YOURS) else Say("Well.")

    # Explorers take nothing by themselves: they claim when they are told to.
    spawns = Say(calls=[add_task("the one"), *(spawn(name, subagent_type="Explore") for name in crowd)])
    lead = in_turn(spawns, Say("Go on."), Say(calls=[NOW]), then=Say("Go on."))
    played = await runner.play({**dict.fromkeys(crowd, part), "lead": lead})
    (claim,) = [event for event in played.streams.board_events if isinstance(event, Claimed)]
    first = {name: played.results_of(name)[0] for name in crowd}
    assert first.pop(claim.by)[0]
    assert set(first.values()) == {(False, f"Task #1 belongs to '{claim.by}'. Ask {claim.by}, or choose another task.")}
    assert (played.board.tasks[1].status, played.board.tasks[1].owner) == (TaskStatus.COMPLETED, claim.by)


@pytest.mark.behaviour("autoclaim", "claim", "B6")
async def test_a_crowd_takes_every_task_from_the_board_each_by_one_and_lowest_first(runner: TeamRunner) -> None:
    crowd = crowd_on(runner)[:5]

    def part(asked: Asked) -> Say:
        number = given_task(asked)
        return Say(calls=[complete_task(number)]) if number else Say("Next.")

    work = [add_task(f"piece {number}") for number in range(1, 16)]
    lead = in_turn(Say(calls=[*work, *map(spawn, crowd)]))
    played = await runner.play({**dict.fromkeys(crowd, part), "lead": lead})
    claims = [event for event in played.streams.board_events if isinstance(event, Claimed)]
    assert [claim.task for claim in claims] == list(range(1, 16))
    assert {id_: (found.status, found.owner) for id_, found in played.board.tasks.items()} == {
        claim.task: (TaskStatus.COMPLETED, claim.by) for claim in claims
    }


@pytest.mark.behaviour("task-deps", "assign", "send", "B5", "M6")
async def test_circles_and_names_and_numbers_nobody_knows_are_refused_in_words(runner: TeamRunner) -> None:
    wrong = [
        (update_task(1, addBlockedBy=[3]), r"Task #1 would wait for itself: #1 -> .*#3.*#1"),
        (update_task(2, addBlocks=["#2"]), "Task #2 cannot block itself"),
        (update_task(1, addBlockedBy=[9]), "There is no task #9"),
        (update_task(9, status="completed"), "There is no task #9"),
        (add_task("a fourth", blockedBy=[7]), "There is no task #7"),
        (update_task(1, owner="nobody-here"), "'nobody-here' is not on this team. On the team: lead, alice, user."),
        (add_task("a fourth", owner="nobody-here"), "'nobody-here' is not on this team"),
        (send_mail("nobody-here", "Hello?"), "'nobody-here' is not on this team. On the team: lead, alice, user."),
        (send_mail("alice@elsewhere", "Hello?"), "is not in team 'main'"),
        (spawn("alice"), "The name 'alice' was used in this team before.* Try 'alice-2'"),
        (spawn("user"), "user"),
        (spawn("bob", team_name="elsewhere"), "Your team is 'main'"),
    ]
    opening = [
        add_task("one", role="x"),
        add_task("two", role="x", blockedBy=[1]),
        add_task("three", role="x", blockedBy=[2]),
    ]
    lead = in_turn(Say(calls=[*opening, spawn("alice")]), Say(calls=[use for use, _ in wrong]))
    # What a teammate may not do on top: give work to others, and what is the lead's.
    hers = [
        (update_task(1, owner="lead"), "Only the lead and the user can assign"),
        (Use("SendMessage", {"type": "shutdown_request", "recipient": "lead"}), "Only the lead can send"),
        (Use("Task", {"prompt": "x", "name": "carol"}), "You do not have the tool 'Task'"),
    ]
    alice = in_turn(Say(calls=[use for use, _ in hers]))
    played = await runner.play({"lead": lead, "alice": alice})
    results = played.results_of("lead")[len(opening) + 1 :]
    for (ok, text), (_, words) in zip([*results, *played.results_of("alice")], [*wrong, *hers], strict=True):
        assert not ok
        assert re.search(words, text), text
    assert [found.blocked_by for found in played.board.tasks.values()] == [frozenset(), frozenset({1}), frozenset({2})]
    assert [member.name for member in played.roster.teammates] == ["alice"]
