"""Who asks, and what the logs say at that moment.

`knowledge_checks` compares a prompt with it. `truth_of` takes it from the prompt's origin, in the agent's process.
`team_logs` folds it from files. Nothing here writes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from deskmate.core.agent.entries import UNTOLD, Compacted, Did, Entry, Heard, Noticed, Said, Started, WorkMode
from deskmate.core.agent.memory import Memory
from deskmate.core.agent.view import Origin, View
from deskmate.core.agent.work_mode import told_at_start
from deskmate.core.log.names import BOARD, IN_CHARGE, LEAD, ROSTER, USER, agent_id, mail, same_name
from deskmate.core.log.records import Item
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.prompt.prompts import CallBlock, Prompt, Spoke
from deskmate.core.team import board_fold, roster_fold
from deskmate.core.team.members import EMPTY as NOBODY
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.messages import Envelope, PlanResponse, envelope_in
from deskmate.core.team.tasks import EMPTY as NO_TASKS
from deskmate.core.team.tasks import BoardState

Numbered = tuple[int, Entry]
E = TypeVar("E", bound=Entry)
# The tools that send mail.
_SENDING = ("SendMessage", "ExitPlanMode")
_WIRE_ID = re.compile(r"call_(\d+)_(\d+)")


@dataclass(frozen=True)
class TeamHistory:
    """The records of roster and board, to see a team as it was at an earlier record."""

    roster: Sequence[Item] = ()
    board: Sequence[Item] = ()
    _rosters: dict[int, RosterState] = field(default_factory=dict)
    _boards: dict[int, BoardState] = field(default_factory=dict)

    def roster_at(self, number: int) -> RosterState:
        """Return the roster as it was at a record."""
        if number not in self._rosters:
            self._rosters[number] = roster_fold.fold(NOBODY, (item for item in self.roster if item.number <= number))
        return self._rosters[number]

    def board_at(self, number: int) -> BoardState:
        """Return the board as it was at a record."""
        if number not in self._boards:
            self._boards[number] = board_fold.fold(NO_TASKS, (item for item in self.board if item.number <= number))
        return self._boards[number]


@dataclass(frozen=True)
class Truth:
    """What is true when a model is asked.

    `joins_upto`: the asker has had time to learn who joined up to this roster record. `letters`: the mail of those it
    wrote to, by recipient and id. `history` is set if the prompt may tell something about the team. `asked_before`: the
    roster record when the same agent asked before, if the prompt may be older than `roster`. `home`: the same of the
    home of a lead that works elsewhere. `scope`: the named team that this is about, empty for a home.
    """

    me: Member
    memory: Memory
    entries: Sequence[Numbered]
    roster: RosterState
    board: BoardState
    joins_upto: int
    letters: Mapping[str, Mapping[str, Envelope]] = field(default_factory=dict)
    history: TeamHistory = field(default_factory=TeamHistory)
    asked_before: int | None = None
    home: "Truth | None" = None
    scope: str = ""

    @property
    def on_a_team(self) -> bool:
        """Whether the asker has teammates. A subagent has none."""
        return self.me.kind is not AgentKind.SUBAGENT

    @property
    def _summed_up(self) -> int:
        return max((number for number, entry in self.entries if isinstance(entry, Compacted)), default=0)

    @property
    def noticed_in_summary(self) -> int:
        """The roster record up to which the asker knew the team when its last summary was made."""
        upto, notices = self._summed_up, self._scoped(Noticed)
        return max((entry.roster for number, entry in notices if number < upto), default=0)

    @property
    def summary_of_this_team(self) -> tuple[int, str] | None:
        """The roster record that the last summary describes, and what the title of its list of members has.

        None if it is unknown or the summary was of another team.
        """
        found: int | None = None
        title, away = "your team", ""
        for _, entry in self.entries:
            if isinstance(entry, Compacted):
                found, title = (
                    (entry.roster, "your team") if away == self.scope else (entry.home, f"your other team, {self.team}")
                )
            elif isinstance(entry, Noticed) and entry.away is not None:
                away, found = entry.away, None if self.scope else found
        return None if found is None else (found, title)

    @property
    def team(self) -> str:
        """The name of the team."""
        return self.roster.team

    def named(self, text: str) -> str:
        """Return a text with the members of this team by their names alone, as its roster has them."""
        return text.replace(f"@{self.team}", "")

    def _scoped(self, kind: type[E]) -> Iterator[tuple[int, E]]:
        """Yield the entries of a kind that are about this team."""
        away = ""
        for number, entry in self.entries:
            if isinstance(entry, Noticed) and entry.away is not None:
                away = entry.away
            elif isinstance(entry, kind):
                team = getattr(entry, "team", None)
                if ("" if team not in (None, away) else away) == self.scope:
                    yield number, entry

    @property
    def has_moved(self) -> bool:
        """Whether the asker, a lead, moved to another team since its model last spoke."""
        return any(isinstance(entry, Noticed) and entry.away is not None for _, entry in self.told_since)

    def roster_of_result(self, wire_id: str) -> int | None:
        """Return the roster record that a result describes, by the id of its call in a prompt."""
        call = call_of(wire_id, self.memory.name)
        dids = (entry for _, entry in self.entries if isinstance(entry, Did) and entry.call == call)
        return next((did.roster for did in dids), None)

    def was_open_in_summary(self, id_: str, planner: str) -> bool:
        """Return whether a plan was settled only after the asker's last summary, which may call it open."""
        dids = (entry for number, entry in self.entries if number > self._summed_up and isinstance(entry, Did))
        member, upto = self.roster.members.get(planner), self.noticed_in_summary
        # Nothing more is known of a team that the lead has moved away from.
        left = member is None or (not member.here and member.status_in > upto)
        verdict_in = member.verdict_in if member else 0
        return left or verdict_in > upto or any(did.answered and did.answered.request_id == id_ for did in dids)

    @property
    def knows_environment(self) -> bool:
        """Whether the first entry says where the asker works, and whether a person is present."""
        started = next((entry for _, entry in self.entries if isinstance(entry, Started)), None)
        return bool(started and started.made_of.get("environment"))

    def tools_in(self, mode: WorkMode) -> tuple[str, ...]:
        """Return the tools that the asker has in a mode."""
        return self.me.tools(planning=mode.planning, delegate=mode.delegating)

    def modes_before_notices(self) -> Iterator[tuple[WorkMode, Noticed]]:
        """Yield each notice of another mode, with the mode that the asker was told before."""
        mode = UNTOLD
        for _, entry in self.entries:
            if isinstance(entry, Started):
                mode = told_at_start(entry)
            elif isinstance(entry, Noticed) and entry.work_mode:
                yield mode, entry
                mode = entry.work_mode

    @cached_property
    def told_since(self) -> list[Numbered]:
        """The entries that the model has not answered yet."""
        return unanswered(self.entries)

    @cached_property
    def in_context(self) -> list[Numbered]:
        """The entries in the prompt: those after what the summary replaces."""
        upto = next((entry.upto for _, entry in reversed(self.entries) if isinstance(entry, Compacted)), 0)
        return [(number, entry) for number, entry in self.entries if number > upto]

    def notices_of_this_team(self) -> list[Noticed]:
        """Return the notices in the context about the team the asker works in now."""
        # A lead that moved to a named team starts over: members there may have the same names.
        moves = [number for number, entry in self.in_context if isinstance(entry, Noticed) and entry.away]
        context = {number for number, _ in self.in_context if not self.scope or number > max(moves, default=0)}
        notices = (entry for number, entry in self._scoped(Noticed) if number in context)
        return [entry.model_copy(update={"text": self.named(entry.text)}) for entry in notices if entry.roster]

    def is_about_this_team(self, notice: Noticed) -> bool:
        """Return whether a notice is about this team."""
        return any(entry is notice for _, entry in self._scoped(Noticed))

    def heard_plans(self) -> list[tuple[str, str]]:
        """Return the plans that this agent was shown, as (request, planner)."""
        heard = (body for _, entry in self._scoped(Heard) for body in entry.mail)
        plans = (body for body in heard if body.get("type") == "plan_approval_request")
        return [(str(body.get("request_id")), str(body.get("sender"))) for body in plans]

    def is_open_plan(self, id_: str, planner: str) -> bool:
        """Return whether a plan that this agent was shown waits for an answer."""
        return self.roster.here(planner) and id_ not in self.answered_plans(planner)

    def answered_plans(self, planner: str) -> set[str]:
        """Return the requests of a planner that the lead or the user has answered."""
        letters = self.letters.get(planner, {}).values()
        answers = (letter.message for letter in letters if letter.sender in IN_CHARGE)
        return {answer.request_id for answer in answers if isinstance(answer, PlanResponse)}


def unanswered(entries: Sequence[Numbered]) -> list[Numbered]:
    """Return the entries after the model's last answer."""
    start = next((place for place in range(len(entries), 0, -1) if isinstance(entries[place - 1][1], Said)), 0)
    return list(entries[start:])


def call_of(wire_id: str, member: str) -> str | None:
    """Return the id of a call in the logs from its id in a prompt."""
    found = _WIRE_ID.fullmatch(wire_id)
    return f"{member}:{found[1]}.{found[2]}" if found else None


def tells_of_team(entries: Sequence[Numbered]) -> bool:
    """Return whether a summary, or an entry that the model has not answered, describes roster or board."""
    summed_up = any(isinstance(entry, Compacted) for _, entry in entries)
    return summed_up or any(
        isinstance(entry, Noticed | Did) and (entry.roster or entry.board) for _, entry in unanswered(entries)
    )


def planners(entries: Iterable[Numbered]) -> set[str]:
    """Return who sent a plan that this agent has heard."""
    heard = (body for _, entry in entries if isinstance(entry, Heard) for body in entry.mail)
    return {str(body.get("sender")) for body in heard if body.get("type") == "plan_approval_request"}


def written_to(prompt: Prompt, roster: RosterState) -> set[str]:
    """Return who may have received mail by the calls whose results are new in a prompt."""
    spoke = next((passage for passage in reversed(prompt.passages) if isinstance(passage, Spoke)), None)
    calls = [block for block in spoke.blocks if isinstance(block, CallBlock)] if spoke else []
    values = [str(value) for call in calls if call.tool in _SENDING for value in (*call.arguments.values(), LEAD, USER)]
    everyone, heads = {*roster.members, USER}, {value.partition("@")[0].strip() for value in values}
    return {name for name in everyone if "broadcast" in values or any(same_name(name, head) for head in heads)}


def letters_in(items: Iterable[Item]) -> dict[str, Envelope]:
    """Return the mail in a mailbox, by id."""
    return {envelope.id: envelope for envelope in map(envelope_in, items) if envelope}


async def truth_of(prompt: Prompt, origin: Origin) -> Truth:
    """Return the truth as the asker could see it when it decided to ask."""
    view, memory = origin.view, origin.view.memory
    wanted = written_to(prompt, view.roster)
    if view.me.kind is AgentKind.LEAD:
        wanted |= planners(origin.entries) & view.roster.members.keys()
    letters = {name: letters_in(await origin.read(mail(name))) for name in sorted(wanted)}
    news = tells_of_team(origin.entries)
    history = TeamHistory(await origin.read(ROSTER), await origin.read(BOARD)) if news else TeamHistory()
    told_already = memory.informed or not (memory.owed or memory.demanded)
    joins_upto = memory.noticed[0] if told_already else view.roster.number
    home = await _truth_of_home(prompt, origin, view.home, history=news) if view.home else None
    return Truth(
        view.me,
        memory,
        origin.entries,
        view.roster,
        view.board,
        joins_upto,
        letters,
        history,
        home=home,
        scope=memory.away,
    )


async def _truth_of_home(prompt: Prompt, origin: Origin, home: View, *, history: bool) -> Truth:
    team = home.roster.team
    wanted = written_to(prompt, home.roster) | (planners(origin.entries) & home.roster.members.keys())
    letters = {name: letters_in(await origin.read(agent_id(mail(name), team))) for name in sorted(wanted)}
    records = [await origin.read(agent_id(stream, team)) for stream in (ROSTER, BOARD)] if history else [(), ()]
    known = home.memory
    return Truth(
        home.me, known, origin.entries, home.roster, home.board, known.noticed[0], letters, TeamHistory(*records)
    )
