"""Teams for programs: set up once, then run, resumed, or talked to.

team = Team("support", model="anthropic:claude-sonnet-5-5", tools=[lookup])
outcome = team.run_sync("Which of yesterday's orders are late, and why?")
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypedDict, Unpack

import anyio
from anyio.abc import TaskGroup

from deskmate.app.run_request import RunRequest, Teammate
from deskmate.app.runner import founded, reopened
from deskmate.app.session import Session, attended, session_with
from deskmate.app.session_events import Event, EventQueue, TurnEnded
from deskmate.app.sessions.run_outcome import Outcome
from deskmate.app.sessions.wanted_result import with_result
from deskmate.app.user_answers import Answer
from deskmate.config import Settings, load_settings, overridden
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import BadInput, NoResult, Refused
from deskmate.library.function_tool import FunctionTool, as_tool
from deskmate.library.result_types import result_tool
from deskmate.ports import Model, Tool
from deskmate.runtime.events import Feed
from deskmate.runtime.task_groups import task_group
from deskmate.tools.result_tool import ResultTool
from deskmate.trust.approvals import survey

# Called with each event. It should return at once, because others wait for it. An error in it ends the run.
OnEvent: TypeAlias = Callable[[Event], None]
# What answers a question: a word or, for one with fields, their values by name.
Answered: TypeAlias = Answer | Mapping[str, object]
# Called with each question. It may be async. An error in it ends the run.
OnQuestion: TypeAlias = Callable[[Question], Answered | Awaitable[Answered]]


class RunOptions(TypedDict, total=False):
    """The options of a run, see `Team.run`."""

    result_type: Any
    on_event: OnEvent | None
    on_question: OnQuestion | None
    images: Sequence[str | Path]


class Team:
    """A team for a program: its lead, and the teammates, tasks, tools and limits that it starts with.

    `name`: each run is a new team: NAME, NAME-2, ... By default the name is main. `model`: `provider:model`, or any
    object with the methods of `Model`. `tools`: functions, plain or made with `@tool`, for the lead and every teammate
    that may do more than read. `teammates`, `tasks`: who and what is there from the start. The lead can add more.
    `workspace`: the folder to work in, by default the current one. `trust`: use the notes, settings, skills and
    agent files of the workspace even if the user has not approved them. `settings`: by default the user's own, see
    `load_settings`. The remaining arguments override those.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        model: str | Model | None = None,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        teammates: Sequence[Teammate] = (),
        tasks: Sequence[NewTask] = (),
        workspace: str | Path | None = None,
        trust: bool = False,
        permission_mode: Mode | str | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        max_time: float | None = None,
        settings: Settings | None = None,
    ) -> None:
        limits = {"max_cost": max_cost, "max_tokens": max_tokens, "max_time": max_time}
        model_name = model if isinstance(model, str) else None
        overrides = {"model": model_name, "permission_mode": permission_mode, **limits}
        found = overridden(settings or load_settings(), overrides)
        own = tuple(map(as_tool, tools))
        self._request = RunRequest(
            Path.cwd() if workspace is None else Path(workspace),
            None,
            name,
            found,
            numbered=True,
            watched=False,
            tools=own,
            asking_tools=frozenset(one.name for one in own if isinstance(one, FunctionTool) and one.asks),
            model=None if isinstance(model, str) else model,
            teammates=tuple(teammates),
            tasks=tuple(tasks),
        )
        self._trust = trust
        self._last: str | None = None

    async def run(self, goal: str, **options: Unpack[RunOptions]) -> Outcome:
        """Start the team, give it a goal, and return the outcome once everything is done.

        `result_type`: a pydantic model, or any type that pydantic can check. The lead must submit a result of that
        type, which is `outcome.result`. `on_event`: called with each event. `on_question`: called with each question,
        returns "yes", "always", "no" or the values of a form, and may be async. Without it, what would need permission
        is denied. `images`: files with images to send with the goal. Cancelling is safe: what was done is kept, and
        `resume` continues. Raises RunStopped if the lead cannot finish, for example because its model does not answer
        or a limit is reached, and NoResult.
        """
        return await self._play(replace(self._agreed(), goal=_checked(goal)), options)

    async def resume(self, goal: str | None = None, **options: Unpack[RunOptions]) -> Outcome:
        """Continue the last run where it stopped, after anything, and return the outcome. `goal`: what to say first.

        That is the last run of this object, or the last one of this name in the workspace, or without a name the team
        there that last got a message. Teammates that have left come back if there is a new goal, each under a new name.
        The rest is as for `run`.
        """
        request = replace(self._agreed(), goal=goal and _checked(goal), continues=True)
        if self._last is not None:
            request = replace(request, team=self._last, numbered=False)
        return await self._play(request, options)

    def session(self, *, continues: bool = False) -> AbstractAsyncContextManager[Session]:
        """Open a conversation with the team: `async with team.session() as session`.

        The team works while it is open, and questions wait for an answer. `continues`: continue the existing team.
        """
        return attended(replace(self._agreed(), continues=continues), Feed())

    def run_sync(self, goal: str, **options: Unpack[RunOptions]) -> Outcome:
        """Do the same as `run` in a program that is not async."""
        return _wait(partial(self.run, goal, **options))

    def resume_sync(self, goal: str | None = None, **options: Unpack[RunOptions]) -> Outcome:
        """Do the same as `resume` in a program that is not async."""
        return _wait(partial(self.resume, goal, **options))

    async def _play(self, request: RunRequest, options: RunOptions) -> Outcome:
        wanted = result_tool(options["result_type"]) if options.get("result_type") is not None else None
        on_event, on_question = options.get("on_event"), options.get("on_question")
        request = replace(request, lead_tools=(wanted,)) if wanted else request
        request = replace(request, images=_with_goal(request.goal, options.get("images", ())))
        opened = reopened if request.continues else founded
        async with (
            opened(request, Feed(), attended=on_question is not None) as (team_parts, teams),
            session_with(team_parts, teams) as session,
            task_group() as tasks,
        ):
            self._last = session.home
            if on_question is not None:
                tasks.start_soon(_answer_all, session, on_question, tasks)
            async with _told(session, on_event):
                outcome = await _to_result(session, wanted, told=bool(request.goal))
            tasks.cancel_scope.cancel()
        outcome = replace(outcome, kept=teams.kept)
        if on_event is not None:
            on_event(TurnEnded(outcome))
        if wanted and outcome.has_result:
            return outcome
        if wanted and outcome.end == "answered":
            message = f"The lead of team '{outcome.team}' submitted no result"
            raise NoResult(message, outcome, "To ask again: resume(result_type=...)")
        return outcome.checked()

    def _agreed(self) -> RunRequest:
        """Return the request with the files of the workspace that the user has approved."""
        found = survey(self._request.workspace, self._request.settings.state, reads=self._trust)
        return self._request.with_consent(found.whole if self._trust else found.consent)


class TeamOptions(TypedDict, total=False):
    """The arguments of `Team`."""

    name: str | None
    model: str | Model | None
    tools: Sequence[Tool | Callable[..., Any]]
    teammates: Sequence[Teammate]
    tasks: Sequence[NewTask]
    workspace: str | Path | None
    trust: bool
    permission_mode: Mode | str | None
    max_cost: float | None
    max_tokens: int | None
    max_time: float | None
    settings: Settings | None


async def run(
    goal: str,
    *,
    result_type: Any = None,
    on_event: OnEvent | None = None,
    on_question: OnQuestion | None = None,
    images: Sequence[str | Path] = (),
    **options: Unpack[TeamOptions],
) -> Outcome:
    """Give a new team a goal and return the outcome. The options are those of `Team`, and `Team.run` says the rest."""
    return await Team(**options).run(
        goal, result_type=result_type, on_event=on_event, on_question=on_question, images=images
    )


def run_sync(
    goal: str,
    *,
    result_type: Any = None,
    on_event: OnEvent | None = None,
    on_question: OnQuestion | None = None,
    images: Sequence[str | Path] = (),
    **options: Unpack[TeamOptions],
) -> Outcome:
    """Do the same as `run` in a program that is not async."""
    return Team(**options).run_sync(
        goal, result_type=result_type, on_event=on_event, on_question=on_question, images=images
    )


def _checked(goal: str) -> str:
    if not goal.strip():
        raise BadInput("The goal is empty", "Say what the team should do.")
    return goal


def _with_goal(goal: str | None, images: Sequence[str | Path]) -> tuple[Path, ...]:
    if images and not goal:
        raise BadInput("There are images without a goal", "Say what the team should do with them.")
    return tuple(map(Path, images))


def _wait(call: Callable[[], Awaitable[Outcome]]) -> Outcome:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        is_async = False
    else:
        is_async = True
    if is_async:
        raise BadInput("run_sync and resume_sync cannot be used in async code", "Use run or resume, with await.")
    return anyio.run(call)


@asynccontextmanager
async def _told(session: Session, on_event: OnEvent | None) -> AsyncIterator[None]:
    """Call `on_event` with each event, in a task of its own, so that an error in it ends the run and nothing else."""
    if on_event is None:
        yield
        return
    queue = EventQueue()

    async def pass_on() -> NoReturn:
        while True:
            news = queue.news
            for event in queue.take():
                on_event(event)
            await news.wait()

    with session.events.subscribed(queue.put, queue.wake):
        session.events.tell_seen()
        async with task_group() as tasks:
            tasks.start_soon(pass_on)
            yield
            await session.look()
            tasks.cancel_scope.cancel()
    for event in queue.take():
        on_event(event)


async def _to_result(session: Session, wanted: ResultTool | None, *, told: bool) -> Outcome:
    """Run the lead to its rest. If a result is wanted and missing, remind it of that."""

    async def ask(words: str) -> Outcome:
        await session.say(words)
        return await session.play_to_rest(told=True)

    outcome = await session.play_to_rest(told=told)
    return outcome if wanted is None else await with_result(outcome, wanted, partial(session.entries, LEAD), ask)


async def _answer_all(session: Session, on_question: OnQuestion, tasks: TaskGroup) -> NoReturn:
    """Answer every question as it is asked, each in a task of its own."""
    given: set[tuple[str, str]] = set()
    while True:
        fresh = [question for question in session.questions if question.key not in given]
        for question in fresh:
            given.add(question.key)
            tasks.start_soon(_answer, session, on_question, question)
        if not fresh:
            await session.looked()


async def _answer(session: Session, on_question: OnQuestion, question: Question) -> None:
    given = on_question(question)
    told = await given if isawaitable(given) else given
    answer: Answer = "yes" if isinstance(told, Mapping) else told
    words = json.dumps(dict(told)) if isinstance(told, Mapping) else ""
    if answer == "always" and question.rule is None and question.shake is not Shake.PLAN:
        answer = "yes"
    try:
        await session.answer(question, answer, words)
    except BadInput:
        # A form takes more than a yes. Anything else that is no answer is an error of the program.
        if words or not (question.input and answer == "yes"):
            raise
        await session.answer(question, "no")
    except Refused:
        # Somebody else may have answered it, or its asker has left.
        await session.look()
        if question.key in {one.key for one in session.questions}:
            raise
