"""Open questions answered from any shell."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from deskmate.app.teams import permit
from deskmate.app.user_actions import OpenTeam, open_team, signing
from deskmate.app.user_answers import Answer, answer_to
from deskmate.core.log.names import USER, agent_id
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
    """The open questions of a team, in the order they were asked, then those of its lead's other team.

    `live`: whether a process runs the team.
    """

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
    async with _asked(folder, team) as (teams, seen):
        question = _meant(seen, id_)
        asker, _, other = question.member.partition("@")
        asked = replace(question, id=question.id.partition("@")[0])
        await teams[other or seen.team].mailbox.answer(asker, answer_to(asked, answer, words))
        if answer == "always" and question.rule:
            rule = question.rule
            for opened in teams.values():
                policy = PolicySet(by=USER, add_rules=(rule,), at=opened.writer.clock.timestamp())
                await permit(opened.roster, policy)
                # Also for the lead's first team, as if the user had been asked there.
                if (home := opened.roster.state.home) and home not in teams:
                    with open_team(folder, home) as at_home:
                        await permit(at_home.roster, policy)
        return SeenQuestions(seen.team, (question,), seen.colours, seen.live)


@asynccontextmanager
async def _asked(folder: Path | None, team: str | None) -> AsyncIterator[tuple[Mapping[str, OpenTeam], SeenQuestions]]:
    """Yield the questions of a team, by default of both teams of the lead that was used last. Then the team is in
    their ids and names.
    """
    with ExitStack() as stack:
        opened = stack.enter_context(open_team(folder, team))
        roster, name = await opened.roster.refresh(), opened.reading.team
        teams, questions = {name: opened}, await _open_in(opened)
        if team is None and (other := roster.home or signing(opened.reading.workspace).team_from(name)):
            teams[other] = stack.enter_context(open_team(folder, other))
            # Also those of this team: which one was used last may change before the user answers.
            questions = _of_team(name, questions) + _of_team(other, await _open_in(teams[other]))
        live = opened.reading.holder() is not None
        yield teams, SeenQuestions(name, questions, colours_of(roster), live)


def _of_team(team: str, questions: Iterable[Question]) -> tuple[Question, ...]:
    """Return the questions of one of two teams, with the team in their ids and names."""
    return tuple(replace(one, id=agent_id(one.id, team), member=agent_id(one.member, team)) for one in questions)


async def _open_in(opened: OpenTeam) -> tuple[Question, ...]:
    await opened.roster.refresh()
    budget = Budget(opened.writer, Caps())
    return await QuestionList(TeamState(opened.writer, opened.roster, opened.board, budget, Feed())).refresh()


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
