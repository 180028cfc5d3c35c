"""Tools that act on teams as the user. A server that only looks does not have them.

A docstring is what clients read about its tool.
"""

from typing import Annotated, Any, Literal

import click
from anyio import to_thread
from pydantic import Field

from deskmate.app import user_actions
from deskmate.app.detached.lead_process import LeadOrder, start
from deskmate.app.question_answers import answer as give_answer
from deskmate.app.question_answers import look_at_questions
from deskmate.core.log.names import ALL
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import BadInput, Refused
from deskmate.faces.common.command_start import bounded
from deskmate.faces.mcp.look_tools import Name, Team, question_result
from deskmate.faces.mcp.serving import Serving
from deskmate.faces.mcp.shown_results import Done, StartedTeam
from deskmate.faces.mcp.shown_text import plain, plain_line
from deskmate.queries.stream_reader import team_at

# A client gives up on a call after a minute. The request to leave stays open.
_STOP_SECONDS = 40.0
_WORDS = 200_000

Words = Annotated[str, Field(min_length=1, max_length=_WORDS)]
Mode = Annotated[
    Literal["plan", "default", "acceptEdits", "dontAsk", "bypass"] | None,
    Field(description="What happens to calls that no rule covers. Default: default, which asks the user"),
]
MaxCost = Annotated[float | None, Field(gt=0, description="Dollars. Can only lower the user's own cap")]
MaxTokens = Annotated[int | None, Field(ge=1, description="Tokens. Can only lower the user's own cap")]
MaxTime = Annotated[float | None, Field(gt=0, description="Seconds. Can only lower the user's own cap")]
MaxMembers = Annotated[int | None, Field(ge=0, description="Teammates. Can only lower the user's own cap")]
MaxSteps = Annotated[int | None, Field(ge=1, description="Steps of one turn. Can only lower the user's own cap")]


class ActTools:
    """What a client may do in the name of the user."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._place = serving.workspace

    async def start_team(
        self,
        goal: Annotated[Words, Field(description="What the team has to do, with all it needs to know")],
        name: Annotated[str | None, Field(description="Default: main, main-2, ...", max_length=200)] = None,
        permission_mode: Mode = None,
        max_cost: MaxCost = None,
        max_tokens: MaxTokens = None,
        max_time: MaxTime = None,
        max_members: MaxMembers = None,
        max_steps: MaxSteps = None,
    ) -> StartedTeam:
        """Start a team of agents that works on a goal in this workspace. It returns at once: the team works on its own.

        Follow it with wait_for_news and get_team. get_answer has its answer when it has stopped.
        """
        limits = _limits(permission_mode, max_cost, max_tokens, max_time, max_members, max_steps)
        return await self._start({"goal": _message(goal), "team": name, "limits": limits})

    async def resume_team(
        self,
        team: Team = None,
        text: Annotated[str | None, Field(description="What to tell the lead first", max_length=_WORDS)] = None,
        permission_mode: Mode = None,
        max_cost: MaxCost = None,
        max_tokens: MaxTokens = None,
        max_time: MaxTime = None,
        max_members: MaxMembers = None,
        max_steps: MaxSteps = None,
    ) -> StartedTeam:
        """Continue a team that is not running. Without text, interrupted and parked members go on with their work."""
        limits = _limits(permission_mode, max_cost, max_tokens, max_time, max_members, max_steps)
        named = team_at(self._place, team)
        words = _message(text) if text else None
        return await self._start({"goal": words, "team": named, "continues": True, "limits": limits})

    async def send_mail(
        self,
        text: Words,
        to: Annotated[Name, Field(description="lead, the name of a teammate, or all")] = "lead",
        team: Team = None,
    ) -> Done:
        """Send a message to a member as the user. If the team is not running, it is read when the team continues."""
        named = self._tellable(team)
        sent = await user_actions.send(self._place, named, to, _message(text))
        later = "" if sent.live else ". The team is not running: resume_team continues it"
        return Done(team=sent.team, what=f"sent to {plain_line(sent.recipient)}{later}")

    async def create_task(
        self,
        subject: Annotated[str, Field(min_length=1, max_length=500, description="One line")],
        description: Annotated[str, Field(max_length=_WORDS)] = "",
        blocked_by: Annotated[list[int], Field(max_length=100, description="Tasks that must be done first")] = [],  # noqa: B006
        owner: Annotated[str | None, Field(max_length=200, description="The member that gets it")] = None,
        role: Annotated[str | None, Field(max_length=200, description="Only members of this role take it")] = None,
        verify: Annotated[
            str | None, Field(max_length=2000, description="A command that must succeed before it is done")
        ] = None,
        team: Team = None,
    ) -> Done:
        """Put a task on the board of a team as the user. Teammates take free tasks by themselves."""
        named = self._tellable(team)
        new = NewTask(subject, description, blocked_by=blocked_by, owner=owner, role=role, verify=verify)
        made = await user_actions.add_task(self._place, named, new)
        return Done(team=made.team, what=plain(f"created task #{made.task.id}. {made.untaken}".strip()))

    async def change_task(
        self,
        id: Annotated[int, Field(ge=1)],
        action: Annotated[
            Literal["assign", "complete", "delete"], Field(description="assign gives it to the member owner")
        ],
        owner: Annotated[str | None, Field(max_length=200)] = None,
        team: Team = None,
    ) -> Done:
        """Assign, complete or delete a task as the user."""
        named = self._tellable(team)
        match action:
            case "assign" if not owner:
                raise BadInput("The action assign needs an owner", "Name a member as owner.")
            case "assign":
                done = await user_actions.assign_task(self._place, named, str(id), owner or "")
            case "complete":
                done = await user_actions.complete_task(
                    self._place, named, str(id), lambda words: None, verifies=self._serving.answers
                )
            case "delete":
                done = await user_actions.drop_task(self._place, named, str(id))
        freed = f", which unblocked {', '.join(f'#{one}' for one in done.freed)}" if done.freed else ""
        return Done(team=done.team, what=f"task #{done.task.id}: {action}{freed}")

    async def interrupt(
        self,
        member: Annotated[Name, Field(description="lead, the name of a teammate, or all")] = "lead",
        team: Team = None,
    ) -> Done:
        """Interrupt a member. It stops what it does, and rests until somebody in charge writes to it."""
        done = await user_actions.interrupt(self._place, team, member, running=True)
        return Done(team=done.team, what=f"interrupted {plain_line(done.recipient)}")

    async def stop_team(self, team: Team = None) -> Done:
        """Interrupt every member of a team, so that it stops. Nothing is lost, and resume_team continues it."""
        done = await user_actions.interrupt(self._place, team, ALL, running=True)
        return Done(team=done.team, what=f"interrupted {plain_line(done.recipient)}. The team stops when they rest")

    async def stop_teammate(self, name: Name, team: Team = None) -> Done:
        """Ask a teammate to leave the team for good, and wait for its answer for a while."""
        ended = await user_actions.stop(self._place, team, name, lambda words: None, _STOP_SECONDS)
        what = ": ".join(filter(None, [f"{ended.member}: {ended.end}", ended.words]))
        return Done(team=ended.team, what=plain(what))

    async def _start(self, order: dict[str, Any]) -> StartedTeam:
        serving = self._serving
        await to_thread.run_sync(serving.check_more)
        begun = await start(self._place, LeadOrder.model_validate({**order, "settings": serving.flags}))
        return StartedTeam(team=begun.team, mode=begun.mode, notes=[plain(note) for note in begun.notes])

    def _tellable(self, team: str | None) -> str:
        """Return the team that is meant, if this server may tell it what to do. Raises Refused."""
        named = team_at(self._place, team)
        self._serving.check_mode(named)
        return named


class AnswerTools:
    """What a client may decide for the user, if the server was started with --allow-answers."""

    def __init__(self, serving: Serving) -> None:
        self._place = serving.workspace

    async def answer_question(
        self,
        id: Annotated[str, Field(max_length=200, description="The id of the question, as get_team shows it")],
        answer: Annotated[
            Literal["yes", "always", "no"],
            Field(description="always also allows all similar calls from now on or, for a plan, accepts its edits"),
        ],
        words: Annotated[
            str,
            Field(
                max_length=20_000, description="With no: the reason. With yes to a question with choices: the answer"
            ),
        ] = "",
        team: Team = None,
    ) -> Done:
        """Answer a question of a member as the user: may it make this call, or carry out this plan?"""
        id, _, other = id.partition("@")
        seen = await look_at_questions(self._place, team_at(self._place, other or team))
        question = next((one for one in seen.questions if one.id == id), None)
        if question and question.of_server and answer != "no":
            raise Refused(
                "An MCP server asks the user for this, so no client can say yes",
                f"A person can answer it with: deskmate answer --team {seen.team}",
            )
        if question and answer != "no" and not question_result(question).complete:
            raise Refused(
                "This question is too long to be shown here in full, so only no is possible",
                f"A person can answer it with: deskmate answer --team {seen.team}",
            )
        done = await give_answer(self._place, seen.team, id, answer, words)
        return Done(team=done.team, what=f"answered {answer}")


def _message(words: str) -> str:
    """Return words that are a message. Raises BadInput if there are none, or too many."""
    if not words.strip():
        raise BadInput("The message is empty", "Say what is to be done.")
    try:
        return bounded(words)
    except click.UsageError as error:
        raise BadInput(error.message) from error


def _limits(
    mode: str | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_time: float | None,
    max_members: int | None,
    max_steps: int | None,
) -> dict[str, Any]:
    asked = {
        "permission_mode": mode,
        "max_cost": max_cost,
        "max_tokens": max_tokens,
        "max_time": max_time,
        "max_members": max_members,
        "max_steps": max_steps,
    }
    return {name: value for name, value in asked.items() if value is not None}
