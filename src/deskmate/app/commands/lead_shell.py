"""Shell commands of a prompt, judged and run as the lead's own."""

import time
from collections.abc import Sequence

from deskmate.core.agent.work_mode import has_tool, work_mode_of
from deskmate.core.commands.command_prompts import CommandPrompt
from deskmate.core.goals import CHECK_SECONDS
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Effect, Mode, PermissionRule, Verdict, judge
from deskmate.core.policy.secret_placeholders import refusal_to_run
from deskmate.core.policy.tool_table import TOOLS
from deskmate.core.prompt.user_frames import UserCommand
from deskmate.core.values import frozen
from deskmate.errors import Refused, ToolError
from deskmate.ports import Workspace
from deskmate.runtime.team_state import TeamState
from deskmate.tools.shell.bash import DEFAULT_SECONDS, attempt_to_run

_BASH = "bash"
# What is told to the lead of one command.
TOLD_CHARACTERS = 8_000
_TIMED_OUT = 124
_FOR_A_MODEL = " Continue without this call."


@frozen
class LeadShell:
    """Runs shell commands where and as the lead would.

    `rules`: the user's own. `confined`: there is a sandbox. `member`: whose workspace it is, so whose files their whole
    output is in.
    """

    team_state: TeamState
    workspace: Workspace
    rules: tuple[PermissionRule, ...]
    confined: bool
    member: str = LEAD

    async def asks(self, prompt: CommandPrompt) -> Sequence[tuple[str, str]]:
        """Return the shell commands that a person must allow first, each with the reason.

        Raises Refused if one is denied. Then none of them may run.
        """
        asking = list[tuple[str, str]]()
        for command in prompt.shell_commands:
            verdict = await self._verdict(command)
            reason = verdict.reason.replace(_FOR_A_MODEL, "")
            if verdict.effect is Effect.DENY:
                raise Refused(f"/{prompt.name} was not sent. It runs `{command}`, which is not permitted. {reason}")
            if verdict.effect is Effect.ASK:
                asking.append((command, reason))
        return asking

    async def _verdict(self, command: str) -> Verdict:
        roster = self.team_state.roster.state
        lead = roster.members[LEAD]
        planning = roster.plans(LEAD)
        work_mode = work_mode_of(lead, roster, owes_plan=False, rules=self.rules, confined=self.confined)
        if work_mode.delegating or not (planning or has_tool(work_mode, lead, _BASH)):
            return Verdict(Effect.DENY, "The lead has no bash now.")
        if planning:
            return Verdict(Effect.DENY, "The lead is in plan mode, where no commands run.")
        if why := refusal_to_run(command, self.team_state.writer.redaction):
            return Verdict(Effect.DENY, f"{why}.")
        return judge(
            await attempt_to_run(command, self.workspace),
            mode=Mode.PLAN if planning else roster.mode_of(LEAD),
            rules=(*self.rules, *roster.rules),
            traits=TOOLS,
            confined=self.confined,
            attended=roster.attended,
        )

    async def run_ordered(self, command: str) -> UserCommand:
        """Run a command that the user gave for the lead to meet, so only a rule can deny it. Raises Refused."""
        attempt = await attempt_to_run(command, self.workspace)
        rules = (*self.rules, *self.team_state.roster.state.rules)
        verdict = judge(attempt, mode=Mode.BYPASS, rules=rules, traits=TOOLS, confined=self.confined, attended=True)
        if verdict.effect is Effect.DENY:
            raise Refused(verdict.reason.replace(_FOR_A_MODEL, ""))
        return await self._run(command, CHECK_SECONDS)

    async def run(self, prompt: CommandPrompt) -> list[UserCommand]:
        """Run the shell commands of a prompt, one after the other. Return what each printed, bounded.

        Raises Refused if one cannot be started.
        """
        return [await self._run(command) for command in prompt.shell_commands]

    async def _run(self, command: str, seconds: float = DEFAULT_SECONDS) -> UserCommand:
        blob = f"{self.member}-{time.time_ns() // 1000}-0.txt"
        try:
            ran = await self.workspace.run(command, timeout_seconds=seconds, blob=blob)
        except ToolError as error:
            raise Refused(f"`{command}` cannot be run: {error}") from error
        output = "\n".join(filter(None, (_cut(ran.output.rstrip("\n")), ran.ended)))
        return UserCommand(command, output, _TIMED_OUT if ran.exit is None else ran.exit)


def _cut(output: str) -> str:
    """Return the beginning and the end of an output, and how much is left out between them."""
    left_out = len(output) - TOLD_CHARACTERS
    if left_out <= 0:
        return output
    half = TOLD_CHARACTERS // 2
    return f"{output[:half]}\n… {left_out:,} characters left out\n{output[-half:]}"
