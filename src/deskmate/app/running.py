"""Running: a team of one founded or gone on with, its seat held, its lead let play to the end of its turn."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deskmate.app.furnishing import Furniture, check_model, connected, furnished
from deskmate.app.places import current_folder, free_team, known_team, latest_team, workspace_of
from deskmate.config import Settings
from deskmate.core.decide import Rest, Stop
from deskmate.core.members import PolicySet
from deskmate.core.messages import Plain
from deskmate.core.names import LEAD, USER, new_name
from deskmate.core.policy import Mode
from deskmate.core.prompts import Usage
from deskmate.core.spending import Caps, Sum
from deskmate.errors import Held, Refused
from deskmate.runtime.agent import Agent
from deskmate.runtime.board import Board
from deskmate.runtime.clock import SystemClock
from deskmate.runtime.feed import Feed, Founded
from deskmate.runtime.groups import task_group
from deskmate.runtime.mailbox import Mailbox
from deskmate.runtime.office import Office
from deskmate.runtime.purse import Purse
from deskmate.runtime.roster import Roster
from deskmate.runtime.streams import Pen
from deskmate.runtime.team import Team
from deskmate.stores.jsonl import JsonlStore

GO_ON = "Go on where you stopped."


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a face wants done. `workspace`: where to look for one from, the current folder if not given."""

    workspace: Path | None
    goal: str | None
    team: str | None
    settings: Settings


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: the last words, why it ended, and what it came to. `cost`: None where a price is not known."""

    team: str
    text: str
    end: Literal["answered", "parked", "interrupted"]
    reason: str
    steps: int
    usage: Usage
    cost: float | None


async def run(wanted: Wanted, feed: Feed) -> Outcome:
    """Found a team of one, give its lead the goal, and return once it has nothing left to do."""
    folder = wanted.workspace or current_folder()
    place = workspace_of(folder)
    # Before anything is founded: settings that cannot be used leave nothing behind.
    check_model(wanted.settings)
    async with connected(wanted.settings) as client, _new_office(place, wanted, feed) as (name, office):
        await _permit(office, wanted.settings.permission_mode or Mode.DEFAULT)
        # At once, so that a kill from now on does not lose it.
        await _tell(office, wanted.goal)
        furniture = await furnished(place, name, wanted.settings, office, client, folder)
        return await _play(furniture, told=bool(wanted.goal))


async def resume(wanted: Wanted, feed: Feed) -> Outcome:
    """Go on with a team where it was left, the one last written to if none is named."""
    folder = wanted.workspace or current_folder()
    place = workspace_of(folder)
    name = known_team(place, wanted.team) if wanted.team else latest_team(place)
    check_model(wanted.settings)
    opened = _office(place, name, wanted.settings, feed, create=False)
    async with connected(wanted.settings) as client, opened as office:
        if not (await office.roster.refresh()).team:
            raise Refused(f"team '{name}' was never begun; begin one with: deskmate run")
        await _permit(office, wanted.settings.permission_mode)
        # At once, so that a kill from now on does not lose it.
        await _tell(office, wanted.goal)
        furniture = await furnished(place, name, wanted.settings, office, client, folder)
        return await _play(furniture, told=bool(wanted.goal))


@asynccontextmanager
async def _new_office(place: Path, wanted: Wanted, feed: Feed) -> AsyncIterator[tuple[str, Office]]:
    """Found the team that is wanted, or the first of main, main-2, … that nobody else founds just now."""
    async with AsyncExitStack() as stack:
        while True:
            name = new_name(wanted.team, "team") if wanted.team else free_team(place)
            try:
                office = await stack.enter_async_context(_office(place, name, wanted.settings, feed, create=True))
                await office.roster.found(name)
            except (Refused, Held) as error:
                if wanted.team:
                    raise Refused(f"team '{name}' is there already; go on by: deskmate resume {name}") from error
                await stack.aclose()
            else:
                yield name, office
                return


@asynccontextmanager
async def _office(place: Path, team: str, settings: Settings, feed: Feed, *, create: bool) -> AsyncIterator[Office]:
    """Hold the lead's seat, and yield what the agents of this process share."""
    async with AsyncExitStack() as stack:
        store = JsonlStore.open(place, team, create=create)
        stack.callback(store.close)
        await stack.enter_async_context(store.hold(LEAD, f"process {os.getpid()}"))
        pen = Pen(store, SystemClock())
        caps = Caps(cost=settings.max_cost, steps=settings.max_steps)
        yield Office(pen, Roster(pen), Board(pen), Purse(pen, caps), feed)


async def _permit(office: Office, mode: Mode | None) -> None:
    """Record that nobody attends, and the mode where one is wanted."""
    at = office.pen.clock.timestamp()
    await office.roster.permit(PolicySet(by=LEAD, mode=mode, attended=False, at=at))


async def _tell(office: Office, words: str | None) -> None:
    if words:
        await Mailbox(USER, office.pen, office.roster).send(LEAD, Plain(content=words))


async def _play(furniture: Furniture, *, told: bool) -> Outcome:
    office, team = furniture.office, furniture.team
    office.feed.tell(Founded(team))
    before = (await office.purse.refresh()).team
    agent = await Agent.seat(office, furniture.started(), furniture.lead)
    # Who resumes what could not go on wants it to: that takes a word of the user.
    if not told and (agent.parked or agent.interrupted):
        await _tell(office, GO_ON)
    async with task_group() as tasks:
        tasks.start_soon(Team(office, furniture.teammate, tasks).keep)
        end = await agent.play(until_rest=True)
        tasks.cancel_scope.cancel()
    spent = (await office.purse.refresh()).team.minus(before)
    if not spent.calls and not agent.last_words and not agent.parked:
        raise Refused(f"team '{team}' was never told what to do; tell it by: deskmate resume {team} \"GOAL\"")
    return _outcome(team, agent, end, spent)


def _outcome(team: str, agent: Agent, end: Rest | Stop, spent: Sum) -> Outcome:
    parked = isinstance(end, Rest) and end.word == "parked"
    # An answer of before is no answer to what could not be done now.
    words = agent.last_words if spent.calls or not parked else ""
    return Outcome(
        team=team,
        text=words,
        end="interrupted" if agent.interrupted else "parked" if parked else "answered",
        reason=(end.detail if isinstance(end, Rest) else end.reason) or ("" if words else "the model said nothing"),
        steps=spent.calls,
        usage=spent.usage,
        cost=None if spent.unpriced else spent.cost,
    )
