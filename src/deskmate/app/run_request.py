"""What to run: the one request that every face and program makes."""

import re
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deskmate.app.parts.provider_models import check_model, check_price
from deskmate.config import Settings, choose_model
from deskmate.core.agent.work_mode import RESULT_TOOL
from deskmate.core.goals import GoalRound
from deskmate.core.log.names import new_name
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.team.task_fields import NewTask
from deskmate.core.values import frozen
from deskmate.errors import BadInput
from deskmate.ports import Model, Tool
from deskmate.trust.approvals import NO_CONSENT, Consent

if TYPE_CHECKING:
    from deskmate.core.commands.command_prompts import CommandPrompt
    from deskmate.core.profiles.agent_profiles import AgentProfile
    from deskmate.tools.result_tool import ResultTool


@frozen
class Teammate:
    """A teammate that is there from the start. It takes tasks of its role from the board by itself.

    `prompt`: the first thing it is told. `model`, `mode`: by default those of the team. `plans_first`: it changes
    nothing until its plan is approved. `reads_only`: it never edits files or runs commands. `type`: the name of an
    agent type, built in or from a file. `isolation`: `own` for its own copy of the repository, `shared` or `auto`.
    """

    name: str
    role: str = ""
    prompt: str = ""
    model: str | None = None
    mode: Mode | str | None = None
    plans_first: bool = False
    reads_only: bool = False
    type: str = ""
    isolation: Isolation | str | None = None

    def __post_init__(self) -> None:
        if self.mode is not None and self.mode not in tuple(Mode):
            raise BadInput(f"{self.mode!r} is not a permission mode", f"Use one of {', '.join(Mode)}.")
        if self.isolation is not None and self.isolation not in tuple(Isolation):
            raise BadInput(f"{self.isolation!r} is not an isolation", f"Use one of {', '.join(Isolation)}.")
        if self.type and self.reads_only:
            raise BadInput(f"The teammate '{self.name}' has a type and reads_only", "Use one of the two.")
        if self.plans_first and not self.prompt:
            raise BadInput(
                f"The teammate '{self.name}' has nothing to plan", "Give it a prompt that says what to plan."
            )


@frozen
class RunRequest:
    """What to run. `workspace`: the folder to work in. By default it is found from the current folder.

    `goal`: the user's first words, if any. `prompt`: the command that they are, if they are one, and `mentioned`: the
    files that it mentions. `typed`: what a conversation begins with, as if it was typed there. `team_file`: the name or
    path of a file that describes the team, and `described`: its name for people, and its text. `images`: files with
    images to send with the first words. `continues`: continue the named team, or the last one with a message. If false,
    start a new team, with that name if one is given. `numbered`: the name is that of all runs of a program. A new team
    gets the first free of NAME, NAME-2, …, and the last one of these is continued. `consent`: which files of the
    workspace are used. `watched`: a person sees what happens as it happens. `result`: one of `lead_tools`, with which
    the lead of a run must submit its result. `types`: agent types besides those in files.

    The rest is for programs. `tools`: additional tools for agents that may do more than read, and `lead_tools` for the
    lead. They are allowed, except those in `asking_tools`, which the user is asked about. Teammates in their own
    process do not have them. `model`: the model of all agents that have none of their own, instead of the one in the
    settings. `until`: the goal that the lead gets. `added`: more
    instructions for the lead of a new team. `teammates`, `tasks`: who and what is there from the start.
    """

    workspace: Path | None
    goal: str | None
    team: str | None
    settings: Settings
    continues: bool = False
    numbered: bool = False
    images: tuple[Path, ...] = ()
    prompt: "CommandPrompt | None" = None
    mentioned: tuple[str, ...] = ()
    typed: str = ""
    team_file: str = ""
    described: tuple[str, str] | None = None
    until: GoalRound | None = None
    added: str = ""
    consent: Consent = NO_CONSENT
    watched: bool = True
    tools: tuple[Tool, ...] = ()
    lead_tools: tuple[Tool, ...] = ()
    asking_tools: frozenset[str] = frozenset()
    model: Model | None = None
    teammates: tuple[Teammate, ...] = ()
    tasks: tuple[NewTask, ...] = ()
    result: "ResultTool | None" = None
    types: "Mapping[str, AgentProfile]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [tool.name for tool in (*self.tools, *self.lead_tools)]
        taken = {*TOOLS, *({RESULT_TOOL} if not self.lead_tools else ())}
        for name in names:
            if name in taken or names.count(name) > 1:
                raise BadInput(f"There is already a tool named '{name}'", "Choose another name for your tool.")
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
                raise BadInput(
                    f"{ascii(name)[:80]} cannot be the name of a tool",
                    "Use 1 to 64 characters: letters, digits, '_' and '-'.",
                )
        mates = [teammate.name for teammate in self.teammates]
        for name in mates:
            if mates.count(name) > 1:
                raise BadInput(f"There are two teammates named '{name}'", "Give each a different name.")
        for number, task in enumerate(self.tasks):
            if not task.subject.strip():
                raise BadInput("A task has no subject", "Describe the work in one line.")
            if any(isinstance(one, NewTask) and one not in self.tasks[:number] for one in task.blocked_by):
                raise BadInput(
                    f"The task {task.subject!r} is blocked by a task that is not listed before it",
                    "List the blocking task first.",
                )

    def with_consent(self, consent: Consent) -> "RunRequest":
        """Return a copy that uses these files of the workspace, with settings as narrowed by the project.

        Raises BadSettings for a setting that a project may not have.
        """
        return replace(self, consent=consent, settings=consent.narrowed(self.settings))

    @property
    def tool_rules(self) -> tuple[str, ...]:
        """The permission rules for the tools of the program."""
        names = [tool.name for tool in (*self.tools, *self.lead_tools)]
        return tuple(f"{'ask' if name in self.asking_tools else 'allow'} {name}" for name in names)

    @property
    def old_tool_rules(self) -> tuple[str, ...]:
        """The rules that an earlier run of the program may have set for its tools, and that do not apply any more."""
        names = [tool.name for tool in (*self.tools, *self.lead_tools)]
        return tuple(f"{'allow' if name in self.asking_tools else 'ask'} {name}" for name in names)


def check_request(request: RunRequest) -> None:
    """Raise BadSettings if no model can be used, or BadName for a teammate, before anything is created."""
    if request.model is None:
        check_model(request.settings)
    else:
        check_price(request.model.name, request.settings)
    for teammate in request.teammates:
        new_name(teammate.name, "member")
        if teammate.model:
            check_price(choose_model(request.settings, teammate.model), request.settings)
