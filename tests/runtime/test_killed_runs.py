"""A process is killed between any two records of a run's end, or of a supervisor: the next one gets to the same end.

Each test plays its story once for every record that it writes, and kills the process right after that record.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.entries import Noticed
from deskmate.core.log.names import LEAD
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.messages import Plain, ShutdownRequest, Undeliverable
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.status import Left, Parked, Status
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Note
from deskmate.models.scripted import Step
from deskmate.ports import Launcher
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.task_groups import task_group
from deskmate.runtime.team_players import TeamPlayers
from deskmate.stores.memory_store import MemoryStore
from deskmate.texts import text
from tests.runtime.agent_harness import AgentHarness, last_told
from tests.runtime.mortal_store import Killed, MortalStore
from tests.runtime.teammate_harness import BrokenLauncher, DeafLauncher, InlineLauncher

pytestmark = pytest.mark.anyio

MATES = ("alice", "bob")
Story = Callable[[AgentHarness], Awaitable[None]]


async def killed_everywhere(
    opened: Callable[[], Awaitable[AgentHarness]], story: Story, check: Story, *, at_least: int
) -> None:
    """Play a story to its end once for each of its records, with a process that dies right after that record."""
    for appends in range(1, 200):
        first = await opened()
        mortal = first.restarted(first.model, store=MortalStore(first.store, appends))
        try:
            await mortal.team_state.roster.refresh()
            await story(mortal)
        except Killed:
            again = first.restarted(first.model)
            await again.team_state.roster.refresh()
            await story(again)
            await check(again)
        else:
            # It came to its end before it could die: it was killed after every record.
            await check(mortal)
            assert appends > at_least
            return
    raise AssertionError("the story never ends")


# -- the end of a run -------------------------------------------------------------------------------


def says(prompt: Prompt) -> Step:
    """Return what a member says. It depends only on what the member was told, so a restart changes nothing."""
    if f"You are {LEAD}," not in prompt.system:
        return "I looked."
    told = "\n".join(last_told(prompt))
    return "That was all." if "were dismissed" in told else "I see." if text("reminder") in told else "I wait."


async def with_a_team() -> AgentHarness:
    harness = await AgentHarness.opened(says, store=MemoryStore())
    for name in MATES:
        await harness.team_state.roster.join(Joined(name=name, prompt="begin", at=0.0))
    await harness.say("go")
    return harness


async def to_the_end(harness: AgentHarness) -> None:
    """Let a whole team play until the run of its lead is over."""
    async with task_group() as tasks:
        tasks.start_soon(TeamPlayers(harness.team_state, {"inline": InlineLauncher(harness)}, tasks).keep)
        assert await harness.turn() == Rest()
        tasks.cancel_scope.cancel()


async def ended_once(harness: AgentHarness) -> None:
    """Check that the lead was reminded once, its team dismissed once, and that its last words came after that."""
    entries = await harness.entries()
    notices = [entry for entry in entries if isinstance(entry, Noticed)]
    assert sum(entry.quiet is True for entry in notices) == 1
    assert [entry.dismissed for entry in notices if entry.dismissed] == [MATES]
    assert (await harness.lead()).transcript.last_words == "That was all."
    roster = await harness.team_state.roster.refresh()
    agreed = Left("agreed to a shutdown request", agreed=True)
    assert [member.status for member in roster.teammates] == [agreed, agreed]
    for name in MATES:
        # A request whose sender died may be sent again. It has the same id, so it is heard once.
        asked = {letter.id for letter in await harness.letters(name) if isinstance(letter.message, ShutdownRequest)}
        assert len(asked) == 1


@pytest.mark.behaviour("headless", "resume")
async def test_a_run_killed_after_any_record_is_reminded_once_dismisses_once_and_ends_with_its_last_words() -> None:
    await killed_everywhere(with_a_team, to_the_end, ended_once, at_least=20)


@pytest.mark.behaviour("headless", "resume")
async def test_a_run_killed_after_the_dismissal_gives_no_answer_before_everybody_has_left() -> None:
    harness = await with_a_team()
    transcript = (await harness.lead()).transcript
    await Mailbox(LEAD, harness.team_state.writer, harness.team_state.roster).hear(transcript)
    await transcript.record(Noticed(text="Your teammates were dismissed.", dismissed=MATES))
    here: list[list[str]] = []

    def step(prompt: Prompt) -> Step:
        if f"You are {LEAD}," in prompt.system:
            here.append([member.name for member in again.team_state.roster.state.teammates if member.here])
        return says(prompt)

    again = harness.restarted(step)
    await again.team_state.roster.refresh()
    await to_the_end(again)
    assert here == [[]]


# -- the supervisor ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Supervised:
    """A story of one supervisor: how alice is run, whether she is asked to stop, and how she ends."""

    launcher: Callable[[AgentHarness], Launcher]
    stops: bool
    end: Status
    notes: tuple[Note, ...]

    async def opened(self) -> AgentHarness:
        harness = await AgentHarness.opened(says, store=MemoryStore())
        await harness.team_state.roster.join(Joined(name="alice", at=0.0))
        await harness.team_state.board.create(LEAD, NewTask("parse"))
        await harness.team_state.board.claim(harness.team_state.roster.state.members["alice"], 1)
        await harness.send(Plain(content="the schema is final"), sender=LEAD, to="alice")
        if self.stops:
            await harness.send(ShutdownRequest(request_id="lead:9.0"), sender=LEAD, to="alice")
        return harness

    async def play(self, harness: AgentHarness) -> None:
        """Supervise alice until she has the status that the story ends with."""
        async with task_group() as tasks:
            players = TeamPlayers(harness.team_state, {"inline": self.launcher(harness)}, tasks)
            await tasks.start(players.keep)
            await harness.passing_until(lambda: harness.team_state.roster.state.members["alice"].status == self.end)
            if isinstance(self.end, Left):
                await players.gone()
            tasks.cancel_scope.cancel()

    async def check(self, harness: AgentHarness) -> None:
        """Check how alice ended, that her task is free, and that her mail came back once if she left."""
        alice = (await harness.team_state.roster.refresh()).members["alice"]
        assert alice.status == self.end
        task = (await harness.team_state.board.refresh()).tasks[1]
        assert (task.owner, task.notes) == (None, self.notes)
        back = [letter for letter in await harness.letters(LEAD) if isinstance(letter.message, Undeliverable)]
        assert len(back) == isinstance(self.end, Left)


FAILED = "failed 4 times within a minute, the last time with RuntimeError: boom"
FORCED = "forced: still running 185 s after a shutdown request"
STORIES = {
    "fails": Supervised(BrokenLauncher, False, Parked(FAILED), (Note("alice", f"alice was parked: {FAILED}"),)),
    "fails, asked to stop": Supervised(
        BrokenLauncher,
        True,
        Left("forced: asked to shut down while it could not run"),
        (Note("alice", f"alice was parked: {FAILED}"),),
    ),
    "deaf, asked to stop": Supervised(DeafLauncher, True, Left(FORCED), (Note("alice", f"alice left: {FORCED}"),)),
}


@pytest.mark.behaviour("supervise", "shutdown", "resume")
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
async def test_a_supervisor_killed_after_any_record_brings_a_teammate_to_the_same_end(
    story: Supervised, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "deskmate")
    await killed_everywhere(story.opened, story.play, story.check, at_least=2)
