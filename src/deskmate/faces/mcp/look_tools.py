"""Tools that look at teams. They change nothing.

A docstring is what clients read about its tool. Tools without `async` run on a thread.
"""

import time
from collections.abc import Sequence
from typing import Annotated, Literal

from anyio import to_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from deskmate.app.question_answers import look_at_questions
from deskmate.core.log.names import LEAD, USER, agent_id
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.core.team.spending import Sum
from deskmate.core.team.status import Parked, status_detail, status_word
from deskmate.errors import Refused
from deskmate.faces.common.items.entry_items import EntryReader
from deskmate.faces.common.items.mail_items import mail_items
from deskmate.faces.common.items.question_items import question_item
from deskmate.faces.common.items.task_items import TaskItem, task_items
from deskmate.faces.mcp import shown_results as shown
from deskmate.faces.mcp.entry_results import entry_results
from deskmate.faces.mcp.serving import Serving
from deskmate.faces.mcp.shown_text import PAGE, TEXT, exact_value, plain, plain_line
from deskmate.queries.member_view import look_at_inbox, look_at_transcript
from deskmate.queries.stream_reader import teams_at
from deskmate.queries.team_news import SeenNews, follow_news
from deskmate.queries.team_results import look_at_result
from deskmate.queries.team_view import look_at_board, look_at_cost, look_at_policy, look_at_team, look_at_teams

_MOST_TEAMS, _MOST_MEMBERS, _MOST_NOTES, _MOST_FILES, _MOST_PROBLEMS = 100, 200, 20, 200, 20
_EVERY = 1_000_000

Team = Annotated[str | None, Field(description="Name of the team. Default: the last used one", max_length=200)]
Name = Annotated[str, Field(max_length=200)]
After = Annotated[int | None, Field(ge=0, description="Only what has a higher number. Default: the last ones")]
Limit = Annotated[int, Field(ge=1, le=100)]


class LookTools:
    """The tools that every server has."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._place = serving.workspace

    def list_teams(self) -> shown.TeamList:
        """List the Deskmate teams of this workspace, the last used first."""
        found = look_at_teams(self._place) if teams_at(self._place) else ()
        lines = [
            shown.TeamLine(
                team=one.name,
                title=plain_line(one.title),
                state=one.state,
                running=one.live,
                tasks_open=one.open_tasks,
                tasks_done=one.done_tasks,
                cost_usd=_dollars(one.spent),
            )
            for one in found[:_MOST_TEAMS]
        ]
        return shown.TeamList(workspace=str(self._place), teams=lines, more=max(0, len(found) - _MOST_TEAMS))

    async def get_team(self, team: Team = None) -> shown.ShownTeamState:
        """Show a team: members and what each does, open questions, tasks, cost."""
        seen = await to_thread.run_sync(look_at_team, self._place, team)
        board = await to_thread.run_sync(look_at_board, self._place, seen.name)
        spent = await to_thread.run_sync(self._spent, seen.name)
        policy = await to_thread.run_sync(look_at_policy, self._place, seen.name)
        news = await self._now(seen.name)
        members = [
            shown.ShownMember(
                name=one.name,
                role=plain_line(one.role),
                status=status_word(one.status) if seen.is_current(one) else "stopped",
                detail=plain_line(status_detail(one.status)),
                task=board.board.working.get(one.name),
                cost_usd=_dollars(spent.get(one.name, Sum())),
            )
            for one in seen.members[:_MOST_MEMBERS]
        ]
        return shown.ShownTeamState(
            team=seen.name,
            title=plain_line(seen.title),
            state=seen.state,
            running=seen.live,
            mode=policy.mode,
            members=members,
            questions=[question_result(one) for one in await self._questions(seen.name)],
            tasks_open=seen.open_tasks,
            tasks_done=seen.done_tasks,
            cost_usd=_dollars(seen.spent),
            model_calls=seen.spent.calls,
            tokens=seen.spent.tokens,
            works_in=seen.away,
            problems=[plain_line(words) for words in seen.damage[:_MOST_PROBLEMS]],
            cursor=news.cursor,
        )

    def list_tasks(
        self,
        team: Team = None,
        after: Annotated[int, Field(ge=0, description="Only tasks with a higher number")] = 0,
        limit: Limit = 50,
    ) -> shown.TaskPage:
        """List the tasks on the board of a team, in the order of their numbers."""
        seen = look_at_board(self._place, team)
        items = [item for item in task_items(seen.board) if item.task.id > after]
        page = items[:limit]
        following = page[-1].task.id if len(items) > limit else None
        return shown.TaskPage(team=seen.team, tasks=[_task(item) for item in page], next_after=following)

    def get_task(self, id: Annotated[int, Field(ge=1)], team: Team = None) -> shown.TaskDetails:
        """Show all of one task: description, notes, and how its verify command ended."""
        seen = look_at_board(self._place, team)
        item = next((one for one in task_items(seen.board) if one.task.id == id), None)
        if item is None:
            raise Refused(f"There is no task #{id} in team '{seen.team}'", "list_tasks shows all tasks.")
        task, receipt = item.task, item.task.receipt
        return shown.TaskDetails(
            team=seen.team,
            task=_task(item),
            description=plain(task.description, PAGE),
            notes=[plain(f"{note.by}: {note.text}") for note in task.notes[-_MOST_NOTES:]],
            created_by=task.created_by,
            receipt=plain(f"exit status {receipt.exit}\n{receipt.output}") if receipt else "",
        )

    def read_mail(
        self,
        member: Annotated[Name, Field(description="Whose mail. user: what members wrote to the user")] = USER,
        team: Team = None,
        after: After = None,
        limit: Limit = 20,
    ) -> shown.MailPage:
        """Read the mail of a member, or the mail that members sent to the user. This does not mark it as read."""
        seen = look_at_inbox(self._place, team, member, _EVERY)
        letters = [one for one in seen.letters if after is None or one.number > after]
        page = letters[-limit:] if after is None else letters[:limit]
        mail = [
            shown.ShownMail(
                number=letter.number,
                sender=letter.envelope.sender,
                kind=item.title,
                text=plain(item.text, min(PAGE // len(page), TEXT * 4)),
                unread=None if letter.heard is None else not letter.heard,
            )
            for letter in page
            for item in mail_items([letter])
        ]
        return shown.MailPage(
            team=seen.team,
            member=seen.member,
            mail=mail,
            next_after=page[-1].number if page else after or 0,
            more=bool(page) and page[-1] != letters[-1],
        )

    def read_transcript(
        self,
        member: Annotated[Name, Field(description="Whose transcript")] = LEAD,
        team: Team = None,
        after: After = None,
        limit: Limit = 30,
    ) -> shown.TranscriptPage:
        """Read what a member heard, said and did: words, tool calls and their results."""
        seen = look_at_transcript(self._place, team, member)
        reader = EntryReader()
        # All entries are read, so that a result finds the name of its call.
        read = [(number, reader.read(seen.member, number, entry)) for number, entry in seen.entries]
        later = [(number, items) for number, items in read if after is None or number > after]
        page = later[-limit:] if after is None else later[:limit]
        most = PAGE // max(1, sum(len(items) for _, items in page))
        return shown.TranscriptPage(
            team=seen.team,
            member=seen.member,
            entries=[entry for number, items in page for entry in entry_results(number, items, min(TEXT, most))],
            next_after=page[-1][0] if page else after or 0,
            more=bool(page) and page[-1][0] != later[-1][0],
        )

    async def get_answer(self, team: Team = None) -> shown.TeamAnswer:
        """Show what came of a team: the last answer of the lead, cost, time and changed files."""
        seen = await to_thread.run_sync(look_at_team, self._place, team)
        found = await to_thread.run_sync(look_at_result, self._place, seen.name)
        lead = next((one.status for one in seen.members if one.name == LEAD), None)
        return shown.TeamAnswer(
            team=seen.name,
            state=seen.state,
            answer=plain(found.answer, PAGE),
            stopped_because=plain(lead.reason) if isinstance(lead, Parked) else "",
            cost_usd=_dollars(found.spent),
            seconds=round(found.seconds, 1),
            files=[plain_line(path) for path in found.files[:_MOST_FILES]],
            tasks_open=seen.open_tasks,
        )

    async def wait_for_news(
        self,
        ctx: Context,
        team: Team = None,
        cursor: Annotated[
            str | None,
            Field(description="From an earlier result. Without one, the answer comes at once", max_length=200),
        ] = None,
        until: Annotated[
            Literal["attention", "any"],
            Field(
                description="attention: a question is open, there is new mail to the user, or the team is not running"
            ),
        ] = "attention",
        seconds: Annotated[float, Field(ge=0, le=55, description="How long to wait at most")] = 25,
    ) -> shown.News:
        """Wait until a team needs attention, or until anything happens in it. Call it again with the new cursor."""
        begun, is_first, changed = time.monotonic(), cursor is None, dict[str, None]()
        while True:
            async for news in follow_news(self._place, team, cursor, max(0.0, begun + seconds - time.monotonic())):
                await ctx.report_progress(min(time.monotonic() - begun, seconds), seconds, f"watching team {news.team}")
            found = await self._news(news)
            changed |= dict.fromkeys(news.changed)
            has_mail = "mail" in news.changed and not is_first
            wanted = until == "any" or not found.running or found.open_questions or has_mail
            if wanted or time.monotonic() - begun >= seconds:
                return found.model_copy(update={"changed": list(changed)})
            cursor, is_first = news.cursor, False

    async def _news(self, news: SeenNews) -> shown.News:
        seen = await to_thread.run_sync(look_at_team, self._place, news.team)
        questions = [one.id for one in await self._questions(news.team)]
        # The team is in the id, as in that of a member outside its team.
        questions += [agent_id(one.id, news.other) for one in await self._questions(news.other)] if news.other else []
        return shown.News(
            team=news.team,
            cursor=news.cursor,
            changed=list(news.changed),
            state=seen.state,
            running=bool(seen.live),
            open_questions=questions,
            other_team=news.other or None,
        )

    def _spent(self, team: str) -> dict[str, Sum]:
        sums: dict[str, Sum] = {}
        for member, _, one in look_at_cost(self._place, team).rows:
            sums[member] = sums.get(member, Sum()).added(one)
        return sums

    async def _now(self, team: str) -> SeenNews:
        return [news async for news in follow_news(self._place, team, None, 0)][-1]

    async def _questions(self, team: str) -> Sequence[Question]:
        try:
            return (await look_at_questions(self._place, team)).questions
        except Refused:
            # Somebody else began this team, so this user cannot answer for it.
            return ()


_KINDS: dict[Shake, Literal["permission", "plan", "input"]] = {
    Shake.PERMISSION: "permission",
    Shake.PLAN: "plan",
    Shake.INPUT: "input",
}


def question_result(question: Question) -> shown.ShownQuestion:
    """Return a question for a client."""
    asked = question_item(question).arguments if question.input else question.arguments.items()
    arguments = {plain_line(name): exact_value(value) for name, value in asked}
    plan = exact_value(question.plan)
    size = len(plan) + sum(len(name) + len(value) for name, value in arguments.items())
    return shown.ShownQuestion(
        id=question.id,
        member=question.member,
        kind="choice" if question.is_choice else _KINDS[question.shake],
        tool=question.tool,
        arguments={name: plain(value, PAGE // (len(arguments) or 1)) for name, value in arguments.items()},
        plan=plain(plan, PAGE),
        reason=plain_line(question.reason),
        rule=None if question.rule is None else plain_line(str(question.rule)),
        complete=size <= PAGE,
    )


def _task(item: TaskItem) -> shown.ShownTask:
    task = item.task
    return shown.ShownTask(
        id=task.id,
        subject=plain_line(task.subject),
        state=item.state.value,
        owner=task.owner,
        role=None if task.role is None else plain_line(task.role),
        waits_for=list(item.waits_for),
        verify=None if task.verify is None else exact_value(task.verify)[:TEXT],
    )


def _dollars(one: Sum) -> float | None:
    return None if one.unpriced else round(one.cost, 6)
