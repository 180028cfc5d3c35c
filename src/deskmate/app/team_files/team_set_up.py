"""Who and what is in a team from the start, because a program or a team file says so. All is put there once."""

import hashlib
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from deskmate.app.run_request import RunRequest, Teammate
from deskmate.core.hosts.placement import HOST
from deskmate.core.log.names import LEAD, USER, mail
from deskmate.core.log.records import Damaged
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.profiles.agent_profiles import AgentProfile, profile_of
from deskmate.core.team.messages import Plain, SentImage
from deskmate.core.team.roster_records import Joined
from deskmate.core.team.task_fields import NewTask
from deskmate.errors import BadInput, BadSettings, Refused
from deskmate.runtime.streams.mailbox import Mailbox
from deskmate.runtime.team_state import TeamState
from deskmate.trust.chosen_engine import engine_at

_FIRST_WORDS = f"{USER}:set-up"
_LOG = logging.getLogger(__name__)


async def set_up(team_state: TeamState, request: RunRequest, place: Path) -> None:
    """Let the teammates of a request join and put its tasks on the board. What is there already is not repeated.

    A teammate that has left comes back for a new goal under another name, because names are never used again. That of
    a team file does not. If the start of a team from a file was cut, it goes on, whatever the request says.
    """
    request = await _described(team_state, request)
    profiles = _profiles(request, place)
    for teammate in request.teammates:
        roster = await team_state.roster.refresh()
        names = [teammate.name, *(f"{teammate.name}-{number}" for number in range(2, len(roster.members) + 2))]
        joined = [name for name in names if name in roster.members]
        comes_back = request.goal and not request.described and not any(roster.here(name) for name in joined)
        if not joined or comes_back:
            wanted = _joined(teammate, names[len(joined)], team_state, request, profiles)
            await team_state.roster.join(await _placed(wanted, team_state, request, place))
    ids: dict[NewTask, int] = {}
    for task in request.tasks:
        same = sum(task_key(other) == task_key(task) for other in ids)
        blockers = [ids[blocker] if isinstance(blocker, NewTask) else blocker for blocker in task.blocked_by]
        cause = f"{USER}:set-up.{task_key(task)}.{same}"
        ids[task] = (await team_state.board.create(USER, replace(task, blocked_by=blockers), cause=cause)).id


async def resumed_request(team_state: TeamState, request: RunRequest) -> RunRequest:
    """Return a request that resumes a team, with the limits of the file that it was made from, if it was.

    They count from now on. Limits of the request itself are stronger.
    """
    known = (await team_state.roster.refresh()).described
    if known is None:
        return request
    # Imported here because few teams need it.
    from deskmate.app.team_files.team_description import read_team_file

    try:
        settings = read_team_file(known.text.encode(), known.file).resumed(request.settings)
    except (BadInput, BadSettings) as error:
        _LOG.warning("The limits of the team's file are not used: %s", error)
        return request
    team_state.budget.limit(settings.caps)
    return replace(request, settings=settings)


async def _described(team_state: TeamState, request: RunRequest) -> RunRequest:
    """Return the request with the team file that the team is made from. Record that file first, if it is new."""
    roster = await team_state.roster.refresh()
    if (known := roster.described) is None:
        if request.described:
            await team_state.roster.describe(*request.described, request.goal or "")
        return request
    # Imported here because few teams need it.
    from deskmate.app.team_files.team_file_places import described_request

    try:
        return described_request(request, known.text.encode(), known.file)
    except (BadInput, BadSettings) as error:
        _LOG.warning("The team is not completed from its file: %s", error)
        return request


async def tell_described(team_state: TeamState, images: tuple[SentImage, ...] | None) -> bool:
    """Tell the lead the first words of a team file, unless it was told them. Return whether they were told just now."""
    described = (await team_state.roster.refresh()).described
    if described is None or not described.words:
        return False
    items = await team_state.writer.store.read(mail(LEAD))
    if any(not isinstance(item, Damaged) and item.body.get("id") == _FIRST_WORDS for item in items):
        return False
    mailbox = Mailbox(USER, team_state.writer, team_state.roster)
    await mailbox.send(LEAD, Plain(content=described.words, images=images), id_=_FIRST_WORDS)
    return True


def task_key(task: NewTask) -> str:
    """Return what identifies a task if a program puts it on the board again."""
    text = "\0".join([task.subject, task.description, task.role or "", task.verify or ""])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _profiles(request: RunRequest, place: Path) -> Mapping[str, AgentProfile]:
    """Return the agent types that files describe, if a teammate is of one."""
    if not any(teammate.type for teammate in request.teammates):
        return {}
    # Imported here because few teams need it.
    from deskmate.app.parts.usable_types import agent_types

    return agent_types(place, request.settings, request.consent.definitions).by_name


def _joined(
    teammate: Teammate, name: str, team_state: TeamState, request: RunRequest, profiles: Mapping[str, AgentProfile]
) -> Joined:
    usual = AgentType.EXPLORE if teammate.reads_only else AgentType.GENERAL
    profile = profile_of(teammate.type or usual, profiles)
    known = profile.recorded
    widest = team_state.roster.state.mode
    mode = profile.mode_below(widest, widest) if teammate.mode is None else Mode(teammate.mode)
    plans = teammate.plans_first or mode is Mode.PLAN
    if mode is Mode.PLAN:
        mode = None
    if request.described and mode is not None and mode.wider_than(widest):
        _LOG.warning("%s works in mode %s, because the mode in %s is wider", name, widest, request.described[0])
        mode = None
    return Joined(
        name=name,
        **known,
        role=teammate.role or known["custom_type"] or "",
        prompt=teammate.prompt,
        model=teammate.model or profile.model,
        mode=mode,
        plan=plans or None,
        launcher=request.settings.launcher,
        isolation=teammate.isolation or profile.isolation,
        at=team_state.writer.clock.timestamp(),
        cause=f"{LEAD}:set-up.{name}",
    )


async def _placed(joined: Joined, team_state: TeamState, request: RunRequest, place: Path) -> Joined:
    """Return a new teammate with where it works. One that a program adds works in the folder of the user."""
    if not request.described:
        return joined
    if request.settings.store is not None:
        # Imported here because only teams on a server have hosts.
        from deskmate.app.hosts.team_hosts import TeamHosts

        # If no host has a free slot, it runs here.
        with suppress(Refused):
            on_host = await TeamHosts(team_state, engine_at(place), request.settings.caps).placing(joined)
            if on_host.launcher == HOST:
                return on_host
    # Imported here because few teams need it.
    from deskmate.app.handover.tree_choice import placed
    from deskmate.config import environment
    from deskmate.workspace.trees.tree_places import TreePlaces

    return placed(joined, request.settings, TreePlaces(request.settings.state, place, environment()))
