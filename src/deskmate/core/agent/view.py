"""Everything an agent sees when it decides.

The runtime makes one `View` for each decision. `Origin` accompanies the prompt that results, for checks of what a model
is told.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field

from deskmate.core.agent.actions import Settle
from deskmate.core.agent.entries import Entry, WorkMode
from deskmate.core.agent.memory import Memory
from deskmate.core.agent.work_mode import work_mode_of
from deskmate.core.log.records import Item
from deskmate.core.policy.permissions import Attempt, PermissionRule
from deskmate.core.policy.tool_table import AgentKind
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.tasks import BoardState
from deskmate.core.values import frozen


@frozen
class View:
    """All that `decide` may see.

    `attempts`: the open calls as the permission rules see them, by id; nothing could be determined about a missing one.
    `foreseen`: the results of calls that need a person's permission but would change nothing now. `waited`: monotonic
    seconds this process has seen each open request last, by request id; WORDS is the key for the oldest words the lead
    has not noticed. `over`: the cap that is reached. `time_is_up`: the cap on time is reached, which also ends running
    calls. `unheard`: teammates with unread mail that they will act on. `starting`: teammates that are starting and have
    not shown a status yet. `ends_at_rest`: nobody attends, and the run ends once this agent rests. `own_tools`: tools
    of the embedding program, which are not in the tool table. `rules`: the user's own rules, which apply besides the
    team's. `home`: what a lead that leads a named team sees of its home, with what it knows of it as `memory`.
    `work_mode`: how this agent may work now.
    """

    me: Member
    memory: Memory
    board: BoardState
    roster: RosterState
    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    foreseen: Mapping[str, Settle] = field(default_factory=dict)
    waited: Mapping[str, float] = field(default_factory=dict)
    over: str | None = None
    time_is_up: bool = False
    caps: str = ""
    full: bool = False
    unheard: frozenset[str] = frozenset()
    starting: frozenset[str] = frozenset()
    confined: bool = False
    ends_at_rest: bool = False
    own_tools: frozenset[str] = frozenset()
    rules: tuple[PermissionRule, ...] = ()
    home: "View | None" = None

    work_mode: WorkMode = field(init=False)

    def __post_init__(self) -> None:
        work_mode = work_mode_of(
            self.me, self.roster, owes_plan=self.memory.owes_plan, rules=self.rules, confined=self.confined
        )
        object.__setattr__(self, "work_mode", work_mode)

    @property
    def teams(self) -> "tuple[View, ...]":
        """The view of each team of this agent, the current one first."""
        return (self, self.home) if self.home else (self,)

    @property
    def company(self) -> list[Member]:
        """The teammates of a lead that have not left this team. Nobody else has any."""
        is_lead = self.me.kind is AgentKind.LEAD
        return [member for member in self.roster.teammates if is_lead and member.here]


@frozen
class Origin:
    """What a prompt was made from: the view that led to it, the transcript so far, and a way to read other streams.

    A provider receives none of it. Read `entries` before the next entry is recorded: the list grows.
    """

    view: View
    entries: Sequence[tuple[int, Entry]]
    read: Callable[[str], Awaitable[Sequence[Item]]]
