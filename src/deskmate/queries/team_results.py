"""What came of a team: answer, cost, time, files. It compares teams that tried the same."""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from deskmate.core.agent.answer import last_answer
from deskmate.core.agent.turn_results import edited_files
from deskmate.core.log.names import LEAD, ROSTER, SPEND, log
from deskmate.core.log.records import Record
from deskmate.core.team import spending
from deskmate.core.team.roster_records import TeamFounded, read_event
from deskmate.core.team.spending import Sum
from deskmate.core.values import frozen
from deskmate.queries.member_view import entries_in
from deskmate.queries.stream_reader import reading_of, title_at
from deskmate.queries.user_messages import user_envelopes


@frozen
class TeamResult:
    """What came of a team. `seconds`: how long it worked. `models`: in the order of their names.

    `files`: what members changed with a file tool. What commands changed is not included.
    """

    team: str
    title: str
    models: tuple[str, ...]
    answer: str
    spent: Sum
    seconds: float
    members: int
    files: tuple[str, ...]
    damage: tuple[str, ...]


def look_at_result(folder: Path | None, team: str) -> TeamResult:
    """Return what came of a team. Raises Refused if there is none of that name.

    What a fork copied from another team counts as its conversation, but not as its work: neither cost nor files.
    """
    reading = reading_of(folder, team)
    roster = reading.roster()
    home = reading.where(log(LEAD), roster)
    spent = [
        one
        for item in reading.items(SPEND)
        if isinstance(item, Record) and isinstance(one := spending.read_spent(item.body), spending.Spent)
    ]
    total = Sum()
    for one in spent:
        total = total.plus(one)
    founded = next((read_event(item.body) for item in reading.items(ROSTER) if isinstance(item, Record)), None)
    copied = (founded.copied or 0) if isinstance(founded, TeamFounded) else 0
    said = list(entries_in(home.items(log(LEAD))))
    asked = [one.timestamp for number, entry in said if number > copied for one in user_envelopes(entry)]
    files = set[str]()
    for member in roster.members:
        entries = said if member == LEAD else list(entries_in(reading.items(log(member))))
        since = copied if member == LEAD else 0
        files |= edited_files(member, [(number, entry) for number, entry in entries if number > since])
    return TeamResult(
        team=reading.team,
        title=title_at(reading.workspace, reading.team),
        models=tuple(sorted({one.model for one in spent})),
        answer=last_answer(said),
        spent=total,
        seconds=working_seconds(asked, [one.at for one in spent]),
        members=len(roster.teammates),
        files=tuple(sorted(files)),
        damage=reading.damage,
    )


def working_seconds(asked: Sequence[float], spent: Sequence[float]) -> float:
    """Return the time from each message of the user to the last model call before the next one, in all."""
    turns = pairwise([*sorted(asked), math.inf])
    return sum(max((at - begun for at in spent if begun <= at < ended), default=0.0) for begun, ended in turns)
