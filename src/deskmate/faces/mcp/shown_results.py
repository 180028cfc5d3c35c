"""What tools return. Clients get the JSON schemas of these classes."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from deskmate.faces.mcp.shown_text import NOTICE


class ShownResult(BaseModel):
    """A result of a tool, or a part of one."""

    model_config = ConfigDict(frozen=True)


class ShownWords(ShownResult):
    """A result with words of agents or tools."""

    notice: str = Field(NOTICE, description="How to read the texts of this result")


class TeamLine(ShownResult):
    """A team in a list."""

    team: str
    title: str = Field(description="The start of the first message of the user")
    state: str = Field(description="stopped: no process runs it. asks you: a question waits for the user")
    running: bool | None
    tasks_open: int
    tasks_done: int
    cost_usd: float | None = Field(description="null: the price of some calls is unknown")


class TeamList(ShownWords):
    """The teams of the workspace, the last used first."""

    workspace: str
    teams: list[TeamLine]
    more: int = Field(0, description="How many teams are not listed")


class ShownMember(ShownResult):
    """A member and what it does."""

    name: str
    role: str
    status: str = Field(description="working, idle, waiting, parked or left")
    detail: str = Field(description="What it waits for, or why it is parked or left")
    task: int | None = Field(description="The task that it has in progress")
    cost_usd: float | None


class ShownQuestion(ShownResult):
    """A question that waits for the user. Invisible characters in what it would allow are written out."""

    id: str
    member: str
    kind: Literal["permission", "plan", "choice", "input"] = Field(
        description="choice: the member itself asks, and the answer is yes with words. "
        "input: an MCP server asks the user something. Only a person can say yes to that"
    )
    tool: str
    arguments: dict[str, str]
    plan: str
    reason: str
    rule: str | None = Field(description="The rule that the answer always would add")
    complete: bool = Field(description="false: it is too long to be shown, so it can only be answered elsewhere")


class ShownTeamState(ShownWords):
    """A team: its members, its open questions and what it has cost."""

    team: str
    title: str
    state: str
    running: bool | None
    mode: str = Field(description="The permission mode")
    members: list[ShownMember]
    questions: list[ShownQuestion]
    tasks_open: int
    tasks_done: int
    cost_usd: float | None
    model_calls: int
    tokens: int
    works_in: str | None = Field(description="The other team that the lead created and works in")
    problems: list[str]
    cursor: str = Field(description="For wait_for_news")


class ShownTask(ShownResult):
    """A task on the board."""

    id: int
    subject: str
    state: str = Field(description="free, given, blocked, in progress, done or dropped")
    owner: str | None
    role: str | None
    waits_for: list[int] = Field(description="The tasks that must be done first")
    verify: str | None = Field(description="The command that must succeed before it is done")


class TaskPage(ShownWords):
    """Tasks in the order of their numbers."""

    team: str
    tasks: list[ShownTask]
    next_after: int | None = Field(description="Pass this as after to get the next page; null: this is the last")


class TaskDetails(ShownWords):
    """All of one task."""

    team: str
    task: ShownTask
    description: str
    notes: list[str]
    created_by: str | None
    receipt: str = Field(description="How the verify command ended, and the end of its output")


class ShownMail(ShownResult):
    """A message."""

    number: int
    sender: str
    kind: str = Field(description="Empty for plain words")
    text: str
    unread: bool | None = Field(description="null in the mailbox of the user, which has no cursor")


class MailPage(ShownWords):
    """Mail of a member, oldest first."""

    team: str
    member: str
    mail: list[ShownMail]
    next_after: int = Field(description="Pass this as after to get only later mail")
    more: bool = Field(description="Whether there is later mail already")


class ShownEntry(ShownResult):
    """A part of a transcript."""

    number: int
    kind: str = Field(description="words, thought, call, mail, task, notice, parked or summary")
    title: str
    text: str


class TranscriptPage(ShownWords):
    """What a member heard, said and did, oldest first."""

    team: str
    member: str
    entries: list[ShownEntry]
    next_after: int = Field(description="Pass this as after to get only later entries")
    more: bool = Field(description="Whether there are later entries already")


class News(ShownWords):
    """Whether anything has happened in a team."""

    team: str
    cursor: str = Field(description="Pass this the next time")
    changed: list[str] = Field(
        description="What has news: members, board, mail (to the user), lead (its transcript), process. Empty: nothing"
    )
    state: str
    running: bool
    open_questions: list[str] = Field(description="Their ids; get_team shows them. ID@TEAM: one of the other team")
    other_team: str | None = Field(None, description="The other open team of the same lead. Its news count too")


class TeamAnswer(ShownWords):
    """What came of a team so far. It is final if the state is stopped or idle and no question is open."""

    team: str
    state: str
    answer: str = Field(description="The last answer of the lead")
    stopped_because: str = Field(description="Why the lead cannot continue; empty if it can")
    cost_usd: float | None
    seconds: float
    files: list[str] = Field(description="Files that members changed with file tools")
    tasks_open: int


class StartedTeam(ShownResult):
    """A team that runs in a process of its own from now on. It continues when this server ends."""

    team: str
    mode: str
    notes: list[str]


class Done(ShownResult):
    """What was done in the name of the user."""

    team: str
    what: str
