"""The records of a transcript.

`memory` folds them into what the agent knows. Nothing an agent must remember is kept anywhere else.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from deskmate.core.goals import GoalRound
from deskmate.core.log.facts import Fact, Foreign, reader
from deskmate.core.log.records import Json
from deskmate.core.team.handshakes import Shake


class Call(BaseModel):
    """A tool use the model asked for. Its id is `<member>:<number of its Said>.<index>`, so it is not stored.

    `flaw`: why its arguments could not be read; they are empty then. `redacted`: the arguments contained a secret and
    are incomplete here; only the process that heard them can run the call.
    """

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    tool: str
    arguments: dict[str, Any]
    flaw: str = ""
    redacted: bool | None = None


class Opened(BaseModel):
    """The request that a call sent to someone."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    request_id: str
    shake: Shake
    asked: str


class Answered(BaseModel):
    """The request of someone else that a call answered."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    request_id: str
    approve: bool


class WorkMode(BaseModel):
    """How an agent may work: what its model is told, and what decides which tools it is offered.

    `attended`: a person is there to answer. `barred`: tools whose every call is denied by the permission mode or a
    rule. None for either: not known.
    """

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    planning: bool = False
    delegating: bool = False
    attended: bool | None = None
    barred: tuple[str, ...] | None = None


UNTOLD = WorkMode()


class Started(Fact):
    """The first entry: who this agent is, what it was told, and what its system prompt is made of.

    `planning`: it must submit a plan first.
    """

    type: Literal["started"] = "started"
    name: str
    prompt: str = ""
    planning: bool = False
    roster: int | None = None
    made_of: dict[str, Any] = Field(default_factory=dict)


class Heard(Fact):
    """Mail that entered the context: heard means recorded here.

    It starts after record `after` of the mailbox and ends with record `upto`. `mail` has the envelopes as they are on
    disk, without repeats. `damage`: what could not be read. `team`: the team of the mailbox, if the lead leads a named
    team and so has two.
    """

    type: Literal["heard"] = "heard"
    box: str
    after: int
    upto: int
    mail: tuple[dict[str, Any], ...] = ()
    damage: tuple[str, ...] = ()
    team: str | None = None


class Said(Fact):
    """What the model answered.

    `unfinished`: it was cut and should continue. It ran out of room or, if `stopped`, of time. `stopped` alone: it was
    interrupted, and has only the text that had arrived.
    `blocks`: text, thinking and calls in their order, if that is more than the text followed by the calls.
    """

    type: Literal["said"] = "said"
    text: str = ""
    calls: tuple[Call, ...] = ()
    blocks: tuple[dict[str, Any], ...] = ()
    usage: dict[str, Any] = Field(default_factory=dict)
    unfinished: bool = False
    stopped: bool | None = None


class Began(Fact):
    """These calls are about to run.

    `fixed`: what must stay the same if a call runs again, such as the recipients of a broadcast.
    """

    type: Literal["began"] = "began"
    calls: tuple[str, ...]
    fixed: dict[str, Any] = Field(default_factory=dict)


class Did(Fact):
    """A call's one result: what the model reads, and what it changed that the agent must remember.

    `shown`: what a screen shows instead of the text. `images`: pictures kept in blobs. `files`: files as this agent now
    knows them, path and fingerprint. `tasks`: tasks this agent now knows as its own, with their epoch; none for a task
    it finished or gave up. `board`: the board record up to which it knows their text. `framed`: the text has frames
    that our own tool made, with everything else escaped. `lines`: how many lines a command printed, if the text is not
    complete. `roster`: the roster record on which the text's list of members is based. `team`: the team that the call
    acted on, if that is not the one that the lead works in.
    """

    type: Literal["did"] = "did"
    call: str
    text: str
    ok: bool = True
    shown: str = ""
    images: tuple[dict[str, str], ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    opened: Opened | None = None
    answered: Answered | None = None
    background: str | None = None
    tasks: dict[int, int | None] = Field(default_factory=dict)
    board: int | None = None
    framed: bool | None = None
    lines: int | None = None
    roster: int | None = None
    team: str | None = None


class PermissionAsked(Fact):
    """A person was asked to allow a call."""

    type: Literal["asked"] = "asked"
    call: str
    request_id: str


class Took(Fact):
    """A task entered the context: claimed, assigned, found again after a restart, or changed by somebody else.

    `text`: its text as of record `board`, in a frame that names its authors. Without `created_by` it is an entry of
    version 0.1, whose text is shown as it is. `notes`: what members said when they gave the task back, each with `by`
    and `text`. `changes`: a sentence on what somebody else changed while its owner works on the task.
    """

    type: Literal["took"] = "took"
    task: int
    epoch: int
    text: str
    created_by: str | None = None
    edited_by: tuple[str, ...] | None = None
    notes: tuple[dict[str, str], ...] | None = None
    board: int | None = None
    changes: str | None = None


class Noticed(Fact):
    """News other than mail entered the context: the lead's digest, or tasks that are no longer this agent's.

    `away`: the named team that a lead works in from here on; empty for its home. `team`: the team that the news is of,
    if that is not the one it works in. In an unattended run a lead is reminded that its team is `quiet` and which
    commands are still `running`, and told who was `dismissed`. `home`: then the roster record of its home, if it works
    elsewhere. `work_mode`: how the agent may work from here on; version 0.1 has `delegate` instead. `closed`: requests
    of this agent that nobody has to answer now. `handed_over`: whether finished work of teammates came into the lead's
    workspace. `goal`: the goal that was set, or one check of it.
    """

    type: Literal["noticed"] = "noticed"
    text: str
    roster: int = 0
    board: int = 0
    tasks: tuple[int, ...] = ()
    delegate: bool | None = None
    away: str | None = None
    quiet: bool | None = None
    running: tuple[str, ...] | None = None
    dismissed: tuple[str, ...] | None = None
    work_mode: WorkMode | None = None
    closed: tuple[str, ...] | None = None
    team: str | None = None
    home: int | None = None
    handed_over: bool | None = None
    goal: GoalRound | None = None


class Nudged(Fact):
    """The agent was reminded of a task it left unfinished, or (task 0) to submit its plan."""

    type: Literal["nudged"] = "nudged"
    task: int
    epoch: int
    text: str = ""


class Reported(Fact):
    """The lead was told that this agent rests on an unfinished task, or (task 0) that it submits no plan.

    If the agent is the lead itself, the user is told.
    """

    type: Literal["reported"] = "reported"
    task: int
    epoch: int


class Agreed(Fact):
    """The runtime agreed to a shutdown for this agent, because it was free."""

    type: Literal["agreed"] = "agreed"
    request_id: str


class AgentParked(Fact):
    """The agent cannot continue by itself. `caps`: the limits at that time; other limits may let it continue."""

    type: Literal["parked"] = "parked"
    reason: str
    caps: str = ""


class Ended(Fact):
    """A background command or subagent ended."""

    type: Literal["ended"] = "ended"
    background: str
    status: str
    text: str = ""
    blob: str | None = None


class Compacted(Fact):
    """Everything up to a record is rendered as this summary. `roster`: the roster record it is based on.

    `home`: the same of the home of a lead that works elsewhere. `usage`: of the model call that wrote the summary.
    """

    type: Literal["compacted"] = "compacted"
    upto: int
    summary: str
    roster: int | None = None
    home: int | None = None
    usage: dict[str, Any] | None = None


class Cleared(Fact):
    """Results up to a record are rendered as cleared."""

    type: Literal["cleared"] = "cleared"
    upto: int


class SummaryRequested(Fact):
    """The user wants the conversation summarised. The summary keeps above all what `focus` says, if anything."""

    type: Literal["summary_requested"] = "summary_requested"
    focus: str = ""


class SummaryDropped(Fact):
    """The summary that the user wanted was interrupted, or the model gave none. It is not tried again."""

    type: Literal["summary_dropped"] = "summary_dropped"


class Overflowed(Fact):
    """The provider refused the conversation as too long. Room must be made before the next call."""

    type: Literal["overflowed"] = "overflowed"


class PicturesRefused(Fact):
    """The provider refused the conversation because its model cannot see pictures. All before this are left out.

    `names`: the pictures that were left out now.
    """

    type: Literal["pictures_refused"] = "pictures_refused"
    names: tuple[str, ...] = ()


class Hooked(Fact):
    """The hooks of an event ran. `about`: what it is about, such as a call or a message.

    `decision`: allow, ask or deny; deny also means that the event was blocked. `arguments`: the input that replaces
    that of the call. `context`: what the model is told. `withheld`: messages that the model never reads. `stop`: why
    the agent must stop. `shown`: what the user is told. `late`: of hooks that nobody waited for, which decide nothing.
    """

    type: Literal["hooked"] = "hooked"
    event: str
    about: str = ""
    decision: Literal["allow", "ask", "deny"] | None = None
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    context: tuple[str, ...] | None = None
    withheld: tuple[str, ...] | None = None
    stop: str | None = None
    shown: tuple[str, ...] | None = None
    late: Literal[True] | None = None


# What by itself tells the model nothing.
SilentEntry: TypeAlias = (
    Began
    | PermissionAsked
    | Reported
    | Agreed
    | AgentParked
    | Compacted
    | Cleared
    | SummaryRequested
    | SummaryDropped
    | Overflowed
)
Entry: TypeAlias = (
    Started | Heard | Said | Did | Took | Noticed | Nudged | Ended | PicturesRefused | Hooked | SilentEntry
)
KINDS: tuple[type[Entry], ...] = (
    Started,
    Heard,
    Said,
    Began,
    Did,
    PermissionAsked,
    Took,
    Noticed,
    Nudged,
    Reported,
    Agreed,
    AgentParked,
    Ended,
    Compacted,
    Cleared,
    SummaryRequested,
    SummaryDropped,
    Overflowed,
    PicturesRefused,
    Hooked,
)
read_entry: Callable[[Json], Entry | Foreign] = reader(*KINDS)
