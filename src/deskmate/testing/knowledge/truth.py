"""Who asks, and what the logs say at that moment.

`knowledge_checks` compares a prompt with it. `truth_of` takes it from the prompt's origin, in the agent's process.
`team_logs` folds it from files. Nothing here writes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from deskmate.core.agent.entries import UNTOLD, Compacted, Did, Entry, Heard, Noticed, Said, Started, WorkMode
from deskmate.core.agent.memory import Memory
from deskmate.core.agent.view import Origin
from deskmate.core.agent.work_mode import told_at_start
from deskmate.core.log.names import BOARD, IN_CHARGE, LEAD, ROSTER, USER, mail, same_name
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
    roster record when the same agent asked before, if the prompt may be older than `roster`.
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
        upto = self._summed_up
        return max(
            (entry.roster for number, entry in self.entries if isinstance(entry, Noticed) and number < upto), default=0
        )

    @property
    def summary_of_this_team(self) -> int | None:
        """The roster record that the last summary describes, or None if it is unknown or of another team."""
        found: int | None = None
        for _, entry in self.entries:
            if isinstance(entry, Compacted):
                found = entry.roster
            elif isinstance(entry, Noticed) and entry.away is not None:
                found = None
        return found

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
        found: list[Noticed] = []
        for _, entry in self.in_context:
            if isinstance(entry, Noticed):
                # A lead that moved to another team starts over: members there may have the same names.
                found = [*found, entry] if entry.away is None else []
        return [entry for entry in found if entry.roster]

    def heard_plans(self) -> list[tuple[str, str]]:
        """Return the plans that this agent was shown, as (request, planner)."""
        heard = (body for _, entry in self.entries if isinstance(entry, Heard) for body in entry.mail)
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
    return Truth(view.me, memory, origin.entries, view.roster, view.board, joins_upto, letters, history)
