"""What an agent hears and sees before it decides, and what it waits for when it rests."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from deskmate.core.agent.actions import Rest
from deskmate.core.agent.inbox import has_unheard
from deskmate.core.agent.notices import unnoticed_words
from deskmate.core.agent.rules.decide import WORDS
from deskmate.core.agent.rules.quiet import is_at_rest, turn_is_over
from deskmate.core.agent.view import HooksInForce, View
from deskmate.core.log.names import BOARD, LEAD, ROSTER
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.prompt.compaction import is_full
from deskmate.core.team.members import RosterState
from deskmate.core.team.status import Waiting, Working
from deskmate.runtime.perform.agent_work import AgentWork
from deskmate.runtime.task_groups import first_of
from deskmate.runtime.team_state import TeamState


async def listen(work: AgentWork) -> frozenset[str]:
    """Take in everything new: mail, ended background jobs, the shared streams. Return the teammates being started."""
    team_state, transcript = work.team_state, work.transcript
    work.bell.renew()
    # An agent about to leave would not answer this mail. Unheard mail goes back to its sender.
    while not transcript.memory.done and await work.mailbox.hear(transcript):
        pass
    if ended := work.jobs.ended(transcript.memory.background):
        await transcript.record(*ended)
    # Before the roster, because a status is written there first.
    starting = team_state.starting.names
    # One after the other: there is mostly nothing new, and then three tasks cost more than the reads.
    await team_state.roster.refresh()
    await team_state.board.refresh()
    await team_state.budget.refresh()
    if home := work.home:
        await home.roster.refresh()
        await home.board.refresh()
    return starting


async def see(work: AgentWork, starting: frozenset[str], *, ends_at_rest: bool) -> View:
    """Return everything the agent sees now. `starting`: as `listen` returned it."""
    team_state, parts, memory = work.team_state, work.parts, work.transcript.memory
    budget, limits, roster = team_state.budget, parts.model.limits, team_state.roster.state
    view = View(
        me=work.me,
        memory=memory,
        board=team_state.board.state,
        roster=roster,
        attempts=await work.calls.attempts(),
        waited=work.waits.look(_open_things(work)),
        unheard=await unheard(team_state, roster) if work.is_lead else frozenset(),
        starting=starting,
        over=budget.over(work.transcript.name, memory.steps),
        time_is_up=budget.time_is_up,
        caps=str(budget.caps),
        full=is_full(work.model_calls.tokens, limits.window, limits.output),
        confined=parts.confined,
        ends_at_rest=ends_at_rest,
        own_tools=frozenset(parts.tools.keys() - TOOLS.keys()),
        rules=parts.rules,
        home=await _see_home(work),
        hooks=_hooks(work),
    )
    foreseen = await work.calls.foreseen(view)
    return replace(view, foreseen=foreseen) if foreseen else view


async def _see_home(work: AgentWork) -> View | None:
    """Return what a lead that works elsewhere sees of its home, once it has recorded that it works elsewhere."""
    home, memory = work.home, work.transcript.memory
    if home is None or memory.home is None:
        return None
    # Before the roster, because a status is written there first.
    starting, roster = home.starting.names, await home.roster.refresh()
    known = memory.in_team(roster.team)
    words = [WORDS] if unnoticed_words(roster, known.noticed[0]) else []
    return View(
        me=roster.members[LEAD],
        memory=known,
        board=home.board.state,
        roster=roster,
        waited=work.waits_at_home.look(words),
        unheard=await unheard(home, roster),
        starting=starting,
    )


def _hooks(work: AgentWork) -> HooksInForce | None:
    if work.parts.hooks is None:
        return None
    # Imported only if there are hooks.
    from deskmate.runtime.hooks.hook_steps import session_began

    return HooksInForce(work.parts.hooks.table.of_type(work.parts.custom_type), session_began(work))


def _open_things(work: AgentWork) -> list[str]:
    memory, roster = work.transcript.memory, work.team_state.roster.state
    words = [WORDS] if work.is_lead and unnoticed_words(roster, memory.noticed[0]) else []
    return [*memory.requests, *memory.demands, *words]


async def unheard(team_state: TeamState, roster: RosterState) -> frozenset[str]:
    """Return the teammates that have unheard mail to act on, as of a roster. Empty if somebody works there.

    Others in this process may read a later roster meanwhile, on which a teammate works again.
    """
    here = [member for member in roster.teammates if member.here]
    if any(isinstance(member.status, Working) for member in here):
        return frozenset()
    inboxes = team_state.inboxes
    return frozenset([member.name for member in here if has_unheard(member, await inboxes.refresh(member.name))])


async def wait_for_news(work: AgentWork, view: View, rest: Rest) -> None:
    """Return once something that the agent looks at may have changed since this view."""
    team_state, heard = work.team_state, work.transcript.memory.cursors
    since = {stream: heard.get(box, 0) for box, stream in work.mailbox.boxes.items()}
    # As it was when the agent decided to rest: others in this process may have read further since.
    since[BOARD] = view.board.number
    # If every member woke whenever another joins, leaves or rests, the cost would grow with the square of the team.
    if work.is_lead or rest.status in (Waiting("permission"), Waiting("plan")) or view.roster.damaged:
        since[ROSTER] = view.roster.number
    waits: list[Callable[[], Awaitable[object]]] = [work.bell.wait]
    if work.is_lead:
        waits.append(partial(team_state.starting.changed, view.starting))
    if (home := work.home) and view.home:
        at_home = view.home.roster, view.home.board
        since |= {f"{ROSTER}@{at_home[0].team}": at_home[0].number, f"{BOARD}@{at_home[0].team}": at_home[1].number}
        waits.append(partial(home.starting.changed, view.home.starting))
    await first_of(partial(team_state.writer.store.changed, since), *waits)


async def is_resting(work: AgentWork) -> bool:
    """Return whether the agent has heard all its mail and has nothing left to do by itself."""
    for name, stream in work.mailbox.boxes.items():
        after = work.transcript.memory.cursors.get(name, 0)
        if await work.team_state.writer.store.read(stream, after, sync=False):
            return False
    roster = await work.team_state.roster.refresh()
    return is_at_rest(work.transcript.memory, roster, str(work.team_state.budget.caps))


async def is_turn_over(work: AgentWork, view: View) -> bool:
    """Return whether nothing is new since a lead came to rest, and nobody on its teams brings anything by itself."""
    # Before the roster, because a status is written there first.
    home = await _as_now(work.home, view.home) if work.home and view.home else None
    now = replace(await _as_now(work.team_state, view), home=home)
    return _seen(now) == _seen(view) and turn_is_over(now)


async def _as_now(team_state: TeamState, view: View) -> View:
    """Return what a lead sees of one of its teams now."""
    # Before the roster, because a status is written there first.
    starting, mail = team_state.starting.names, await unheard(team_state, team_state.roster.state)
    roster, board = await team_state.roster.refresh(), await team_state.board.refresh()
    return replace(view, unheard=mail, starting=starting, roster=roster, board=board)


def _seen(view: View) -> list[tuple[int, int]]:
    """Return how far roster and board of each team were read."""
    return [(team.roster.number, team.board.number) for team in view.teams]


async def tell_end(work: AgentWork, view: View | None) -> None:
    """Tell hooks that the session ends, if there are any. `view`: what the agent saw last, None if it never looked."""
    if work.parts.hooks is not None and view is not None:
        # Imported only if there are hooks.
        from deskmate.runtime.hooks.hook_steps import end_session

        await end_session(work, view)
