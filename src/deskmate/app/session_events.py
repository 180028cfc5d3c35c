"""What happens in a session, as events, and when a turn is over.

Events are made from what the runtime tells and from what a session sees. Nothing depends on them: a program that missed
one looks at the session.
"""

import math
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, Protocol, Self, TypeAlias

import anyio

from deskmate.app.sessions.run_outcome import Outcome
from deskmate.core.agent.entries import Did, Said
from deskmate.core.log.names import LEAD, call_id
from deskmate.core.prompt.prompts import TextDelta, ThinkingDelta
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.members import Member
from deskmate.core.team.open_questions import Question
from deskmate.core.team.status import StatusWord, status_detail, status_word
from deskmate.core.team.tasks import BoardState, Task, blockers
from deskmate.core.values import frozen
from deskmate.errors import Refused
from deskmate.runtime.events import Arrived, Changed, Recorded, Seated, Streamed, TeamEvent

# How long nobody may do anything until a turn counts as over, if it is not known that nobody will.
LULL_SECONDS = 3.0


@frozen
class TextStreamed:
    """A piece of what a member is saying."""

    member: str
    text: str


@frozen
class ThinkingStreamed:
    """A piece of what a member's model is thinking."""

    member: str
    text: str


@frozen
class TextFinished:
    """What a member said in one step, whole."""

    member: str
    text: str


@frozen
class ToolCalled:
    """A member calls a tool. It may have to wait for permission first."""

    member: str
    call: str
    tool: str
    arguments: Mapping[str, Any]


@frozen
class ToolReturned:
    """The result of a call, as the member's model reads it. `ok`: whether the call succeeded."""

    member: str
    call: str
    tool: str
    text: str
    ok: bool


@frozen
class MailArrived:
    """Mail arrived for a member, which has not read it yet."""

    member: str
    sender: str
    kind: str


@frozen
class TeammateJoined:
    """A teammate runs from now on."""

    member: str


@frozen
class StatusChanged:
    """A member is now `working`, `idle`, `waiting`, `parked` or has `left`. `detail`: on what or why."""

    member: str
    status: StatusWord
    detail: str


@frozen
class TaskUpdated:
    """A task was created, changed in any way, or waits for other tasks than before."""

    task: Task


@frozen
class QuestionAsked:
    """A member waits for an answer: `session.answer(question, "yes")`."""

    question: Question


@frozen
class TurnEnded:
    """Nobody is working any more. This is the last event of `Session.stream`."""

    outcome: Outcome


Event: TypeAlias = (
    TextStreamed
    | ThinkingStreamed
    | TextFinished
    | ToolCalled
    | ToolReturned
    | MailArrived
    | TeammateJoined
    | StatusChanged
    | TaskUpdated
    | QuestionAsked
    | TurnEnded
)


# What to call with an event, and what to call when anything may have changed.
Subscriber: TypeAlias = tuple[Callable[[Event], None], Callable[[], None]]


class WatchedTeam(Protocol):
    """What is known of a team while somebody attends it."""

    @property
    def members(self) -> tuple[Member, ...]:
        """All members."""

    @property
    def board(self) -> BoardState:
        """The board."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open questions."""

    @property
    def busy(self) -> tuple[str, ...]:
        """The members that are busy."""

    async def lead_rests(self, *, team: bool = False) -> bool:
        """Return whether the lead has nothing left to do, and with `team` nobody else either."""

    async def look(self) -> None:
        """Read what is new."""


class EventSource:
    """Makes events of what happens and passes them to all subscribers."""

    def __init__(self, seen: WatchedTeam) -> None:
        self._seen = seen
        self._tools: dict[str, str] = {}
        self._tasks: dict[int, tuple[Task, list[int]]] = {}
        self._asked: set[tuple[str, str]] = set()
        self._subscribers: list[Subscriber] = []
        self._closed, self._in_turn = False, False

    @contextmanager
    def subscribed(self, put: Callable[[Event], None], wake: Callable[[], None] = lambda: None) -> Iterator[None]:
        """While this is open, call `put` with each event, and `wake` whenever anything may have changed.

        Neither may wait or raise.
        """
        subscriber = (put, wake)
        self._subscribers.append(subscriber)
        try:
            yield
        finally:
            self._subscribers.remove(subscriber)

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        """Yield every event from now on. This ends when the session is closed."""
        queue = EventQueue()
        with self.subscribed(queue.put, queue.wake):
            while not self._closed:
                news = queue.news
                for event in queue.take():
                    yield event
                await news.wait()

    async def of_turn(self, say: Callable[[str], Awaitable[None]], text: str | None) -> AsyncGenerator[Event, None]:
        """Say a text, if there is one, and yield events until nobody works, except members that wait for permission.

        Every event comes before the end, and whatever the caller does with an event, such as answering a question,
        still counts. Raises Refused if another turn is running.
        """
        if self._in_turn:
            raise Refused(
                "Another turn of this session is still running",
                "Wait until it ends, or add a message to it with say().",
            )
        self._in_turn = True
        queue = EventQueue()
        try:
            with self.subscribed(queue.put, queue.wake):
                if text is not None:
                    await say(text)
                async with aclosing(self._until_still(queue, Turns(self._seen))) as events:
                    async for event in events:
                        yield event
        finally:
            self._in_turn = False

    async def _until_still(self, queue: "EventQueue", turns: "Turns") -> AsyncGenerator[Event, None]:
        lull = False
        while True:
            await self._seen.look()
            # Before the check: what happens during the check is not missed.
            news = queue.news
            still = await turns.is_still()
            self.tell_seen()
            if events := queue.take():
                for event in events:
                    yield event
                continue
            if still and (lull or await turns.is_over()):
                return
            with anyio.move_on_after(LULL_SECONDS if still else math.inf) as scope:
                await news.wait()
            lull = still and scope.cancelled_caught

    def hear(self, event: TeamEvent) -> None:
        """Take what the runtime tells."""
        for made in self._of(event):
            self._pass_on(made)
        self._wake()

    def look(self) -> None:
        """Take what a session sees."""
        self.tell_seen()
        self._wake()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End every iteration over events."""
        self._closed = True
        self._wake()

    def tell_seen(self) -> None:
        """Make events of tasks and questions that were not told yet. What nobody listens to is told later."""
        if not self._subscribers:
            return
        board = self._seen.board
        for task in board.current:
            if self._tasks.get(task.id) != (known := (task, blockers(board, task))):
                self._tasks[task.id] = known
                self._pass_on(TaskUpdated(task))
        for question in self._seen.questions:
            if question.key not in self._asked:
                self._asked.add(question.key)
                self._pass_on(QuestionAsked(question))

    def _pass_on(self, event: Event) -> None:
        for put, _ in tuple(self._subscribers):
            put(event)

    def _wake(self) -> None:
        for _, wake in tuple(self._subscribers):
            wake()

    def _of(self, event: TeamEvent) -> Iterator[Event]:
        match event:
            case Streamed(member, TextDelta(text)):
                yield TextStreamed(member, text)
            case Streamed(member, ThinkingDelta(text)):
                yield ThinkingStreamed(member, text)
            case Recorded(member, number, Said() as said):
                if said.text:
                    yield TextFinished(member, said.text)
                for index, call in enumerate(said.calls):
                    id_ = call_id(member, number, index)
                    self._tools[id_] = call.tool
                    yield ToolCalled(member, id_, call.tool, call.arguments)
            case Recorded(member, _, Did() as did):
                yield ToolReturned(member, did.call, self._tools.pop(did.call, ""), did.text, did.ok)
            case Changed(member, status):
                yield StatusChanged(member, status_word(status), status_detail(status))
            case Seated(member):
                yield TeammateJoined(member)
            case Arrived(member, sender, kind):
                yield MailArrived(member, sender, kind)
            case _:
                return


class EventQueue:
    """Events that nobody has taken yet. `news`: set once there is an event, or anything else may have changed."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self.news = anyio.Event()

    def put(self, event: Event) -> None:
        """Add an event."""
        self._events.append(event)
        self.wake()

    def wake(self) -> None:
        """Set `news`, and begin a new one."""
        self.news.set()
        self.news = anyio.Event()

    def take(self) -> list[Event]:
        """Return the events so far, and forget them."""
        events = list(self._events)
        self._events.clear()
        return events


class Turns:
    """The turns of a team. `hear` and `look` make waiters check again."""

    def __init__(self, seen: WatchedTeam, lull_seconds: float = LULL_SECONDS) -> None:
        self._seen, self._lull_seconds = seen, lull_seconds
        self._news = anyio.Event()

    def hear(self, event: TeamEvent) -> None:
        """Make waiters check again after an event."""
        self.look()

    def look(self) -> None:
        """Make waiters check again."""
        self._news.set()
        self._news = anyio.Event()

    async def answered(self) -> None:
        """Return when the lead has read everything and is idle or waits for the user."""
        await self._until(self._lead_waits)

    async def asked(self) -> None:
        """Return when a question is open, or nobody is working who could ask one."""

        async def holds() -> bool:
            still = await self.is_still()
            return still or bool(self._seen.questions)

        await self._until(holds)

    async def over(self) -> None:
        """Return when nobody is working, except members that wait for permission."""

        async def is_known() -> bool:
            return not await self.is_still() or await self.is_over()

        while True:
            await self._until(self.is_still)
            with anyio.move_on_after(self._lull_seconds):
                await self._until(is_known)
            if await self.is_still():
                # What was written last, such as mail to the user, belongs to the turn.
                await self._seen.look()
                return

    async def is_over(self) -> bool:
        """Return whether a team on which nobody works will also do nothing by itself. False: it is not known."""
        has_teammates = any(member.here for member in self._seen.members if member.name != LEAD)
        return not has_teammates or await self._seen.lead_rests(team=True)

    async def is_still(self) -> bool:
        """Return whether nobody is working, except members that wait for permission."""
        return await self._lead_waits() and not set(self._seen.busy) - self._asking - {LEAD}

    async def _lead_waits(self) -> bool:
        rests = await self._seen.lead_rests()
        return rests or LEAD in self._asking

    @property
    def _asking(self) -> set[str]:
        """Members that wait for permission, or whose subagent does. A member that submitted a plan keeps working."""
        return {one.member.partition(":")[0] for one in self._seen.questions if one.shake is not Shake.PLAN}

    async def _until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        while True:
            news = self._news
            if await holds():
                return
            await news.wait()
