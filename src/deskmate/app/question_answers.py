"""Open questions answered from any shell."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deskmate.app.teams import permit
from deskmate.app.user_actions import OpenTeam, open_team
from deskmate.app.user_answers import Answer, answer_to
from deskmate.core.log.names import USER
from deskmate.core.team.caps import Caps
from deskmate.core.team.open_questions import Question
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.values import frozen
from deskmate.errors import Refused
from deskmate.queries.stream_reader import colours_of
from deskmate.runtime.events import Feed
from deskmate.runtime.streams.budget import Budget
from deskmate.runtime.streams.question_list import QuestionList
from deskmate.runtime.team_state import TeamState


@frozen
class SeenQuestions:
    """The open questions of a team, in the order they were asked. `live`: whether a process runs the team."""

    team: str
    questions: tuple[Question, ...]
    colours: dict[str, str]
    live: bool


async def look_at_questions(folder: Path | None, team: str | None) -> SeenQuestions:
    """Return the questions of a team that wait for the user."""
    async with _asked(folder, team) as (_, seen):
        return seen


async def answer(folder: Path | None, team: str | None, id_: str | None, answer: Answer, words: str) -> SeenQuestions:
    """Answer the question with that id, or the only open one. Return only this question.

    The first answer counts. Raises Refused for a question that is not open, with those that are.
    """
    async with _asked(folder, team) as (opened, seen):
        question = _meant(seen, id_)
        await opened.mailbox.answer(question.member, answer_to(question, answer, words))
        if answer == "always" and question.rule:
            policy = PolicySet(by=USER, add_rules=(question.rule,), at=opened.writer.clock.timestamp())
            await permit(opened.roster, policy)
            # Also for the lead's first team, as if the user had been asked there.
            if home := opened.roster.state.home:
                with open_team(folder, home) as at_home:
                    await permit(at_home.roster, policy)
        return SeenQuestions(seen.team, (question,), seen.colours, seen.live)


@asynccontextmanager
async def _asked(folder: Path | None, team: str | None) -> AsyncIterator[tuple[OpenTeam, SeenQuestions]]:
    with open_team(folder, team) as opened:
        roster = await opened.roster.refresh()
        team_state = TeamState(opened.writer, opened.roster, opened.board, Budget(opened.writer, Caps()), Feed())
        questions = await QuestionList(team_state).refresh()
        live = opened.reading.holder() is not None
        yield opened, SeenQuestions(opened.reading.team, questions, colours_of(roster), live)


def _meant(seen: SeenQuestions, id_: str | None) -> Question:
    there = {question.id: question for question in seen.questions}
    if not there:
        raise Refused(f"No question is open in team '{seen.team}'")
    if id_ is None and len(there) == 1:
        return next(iter(there.values()))
    if id_ is None or id_ not in there:
        what = "More than one question is open" if id_ is None else f"Question '{id_[:80]}' is not open"
        raise Refused(f"{what} in team '{seen.team}'", f"Open questions: {', '.join(there)}")
    return there[id_]
