"""Sessions of teams that nobody plays, stamped by a clock that stands still; and a screen for one panel."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widget import Widget

from deskmate import JsonlStore
from deskmate.app import Feed, RunRequest, load
from deskmate.app.runner import reopened
from deskmate.app.session import Session
from deskmate.core.agent.entries import Call, Said, Started
from deskmate.core.team.messages import PermissionRequest, PlanRequest
from deskmate.core.team.roster_records import Joined
from deskmate.faces.tui.questions.answer_list import AnswerList
from deskmate.faces.tui.questions.question_panel import QuestionsPanel
from deskmate.runtime.agent import Agent
from deskmate.runtime.streams.board import Board
from deskmate.runtime.streams.log_writer import LogWriter
from deskmate.runtime.streams.roster import Roster
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import FakeClock
from tests.faces.disk_teams import OpenTeam, sign

START = 1_700_000_000.0
NOW = START + 900
SIZES = [(80, 24), (160, 48)]


class PanelApp(App[None]):
    """A screen that holds one panel and nothing else."""

    def __init__(self, panel: Widget) -> None:
        super().__init__()
        self.panel = panel

    def compose(self) -> ComposeResult:
        yield self.panel


class QuestionApp(PanelApp):
    """A screen with something above the questions, which tells the session what was answered."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "escape", "count")]

    def __init__(self, session: Session) -> None:
        self.clock = FakeClock()
        self.questions = QuestionsPanel(self.clock.monotonic)
        super().__init__(self.questions)
        self.session = session
        self.answers: list[tuple[str, str, str]] = []
        self.told: list[str] = []
        self.typed = ""
        self.escapes = self.wanted = 0

    def compose(self) -> ComposeResult:
        yield VerticalScroll()
        yield self.questions

    def action_escape(self) -> None:
        self.escapes += 1

    async def on_questions_panel_answered(self, message: QuestionsPanel.Answered) -> None:
        self.answers.append((message.question.member, message.answer, message.words))
        await self.session.answer(message.question, message.answer, message.words)
        self.questions.show(self.session, NOW)

    @property
    def answer_list(self) -> AnswerList:
        """The list that answers are chosen from."""
        return self.query_one(AnswerList)

    def on_key(self, event: events.Key) -> None:
        self.typed += event.character or ""

    def on_questions_panel_unanswered(self, message: QuestionsPanel.Unanswered) -> None:
        self.typed += message.text

    def on_questions_panel_keys_wanted(self) -> None:
        self.wanted += 1

    def on_questions_panel_seen(self, message: QuestionsPanel.Seen) -> None:
        self.told.append(message.question.member)

    async def seen(self, pilot: Pilot[None]) -> None:
        """Show what there is, and let the person see it, with the focus on it."""
        self.questions.show(self.session, NOW)
        await pilot.pause()
        self.questions.focus()
        self.clock.advance(1)
        await pilot.pause()


@asynccontextmanager
async def team(folder: Path, *members: tuple[str, str]) -> AsyncIterator[tuple[OpenTeam, FakeClock]]:
    """Found a team of these names and roles and yield what it takes to do something to it, and its clock."""
    with closing(JsonlStore.open(folder, "main", create=True)) as store:
        sign(folder, {"HOME": str(folder)})
        clock = FakeClock(START)
        writer = LogWriter(store, clock)
        roster = Roster(writer)
        await roster.found("main")
        for name, role in members:
            await roster.join(Joined(name=name, role=role, at=START))
        yield OpenTeam(writer, roster, Board(writer, roster)), clock


@asynccontextmanager
async def session_at(folder: Path) -> AsyncIterator[Session]:
    """Open a session of the team that is there, with nobody played."""
    environ = {"HOME": str(folder), "DESKMATE_MODEL": "anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY": "sk-test"}
    wanted = RunRequest(folder, None, "main", load(environ, {"sandbox": False}))
    async with reopened(wanted, Feed(), attended=True) as (team_parts, teams):
        session = Session(
            team_parts, teams, await Agent.seat(team_parts.team_state, team_parts.started(), team_parts.lead)
        )
        await session.look()
        yield session


Deed = Callable[[OpenTeam, FakeClock], Awaitable[None]]
MEMBERS = (("alice", "schema"), ("bob", "dev"), ("carol", "dev"))


async def made(folder: Path, deed: Deed, *members: tuple[str, str]) -> Path:
    """Found a team, do something to it, and return its workspace."""
    async with team(folder, *(members or MEMBERS)) as (hands, clock):
        await deed(hands, clock)
    return folder


async def ask(
    hands: OpenTeam, who: str, tool: str, arguments: dict[str, Any], reason: str = "", rule: str | None = None
) -> str:
    """Have somebody ask the user for a permission, as an agent does: said and journaled before it is sent.

    Return the id of the request.
    """
    id_ = await _called(hands, who, Call(tool=tool, arguments=arguments))
    request = PermissionRequest(request_id=id_, tool=tool, arguments=arguments, reason=reason, rule=rule)
    await hands.mailbox(who).send("user", request)
    return id_


async def hand_in(hands: OpenTeam, who: str, plan: str) -> str:
    """Have somebody submit a plan; return the id of the request."""
    id_ = await _called(hands, who, Call(tool="submit_plan", arguments={"plan": plan}))
    await hands.mailbox(who).send("lead", PlanRequest(request_id=id_, content=plan))
    return id_


async def send_out(hands: OpenTeam, who: str) -> str:
    """Have somebody send a subagent; return what that is called in the streams."""
    return await _called(hands, who, Call(tool="Task", arguments={"prompt": "look"}))


async def _called(hands: OpenTeam, who: str, call: Call) -> str:
    transcript = await Transcript.load(hands.writer, who)
    if not transcript.entries:
        await transcript.record(Started(name=who, prompt="begin"))
    return f"{who}:{await transcript.record(Said(calls=(call,)))}.0"


@asynccontextmanager
async def asking(
    folder: Path, deed: Deed, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[QuestionApp, Pilot[None]]]:
    """Show the questions of a team to which something was done, on a screen of a size."""
    async with (
        session_at(await made(folder, deed)) as session,
        (app := QuestionApp(session)).run_test(size=size) as pilot,
    ):
        yield app, pilot
