"""`TaskCompleted` hooks of work that the merge queue completes, on the files that merging made of it."""

import logging

from deskmate.core.hooks.hook_inputs import HookSession, input_of, task_details
from deskmate.core.hooks.hook_outputs import merged
from deskmate.core.team.tasks import Task
from deskmate.runtime.agent_parts import HookRunner
from deskmate.runtime.hooks.hook_steps import answers
from deskmate.runtime.team_state import TeamState

_EVENT = "TaskCompleted"
_LOG = logging.getLogger(__name__)


class MergeHooks:
    """The hooks of a process, for the merge queue of a team."""

    def __init__(self, team_state: TeamState, runner: HookRunner) -> None:
        self._team_state, self._runner = team_state, runner

    async def refusal(self, task: Task, branch: str, folder: str) -> str:
        """Run the hooks in a folder with the merged files. Return why they refuse the task, empty if they do not.

        What they say besides is logged: the queue has no transcript.
        """
        roster, owner = self._team_state.roster.state, task.owner or ""
        joined = roster.members[owner].joined if owner in roster.members else None
        hooks = self._runner.table.of_type((joined.custom_type if joined else None) or "").for_event(_EVENT)
        transcript = self._runner.transcript_path(roster.team, owner)
        session = HookSession(roster.team, transcript, folder, str(roster.mode_of(owner)), owner, roster.team)
        details = task_details("TaskUpdate", "", {"taskId": task.id}, task.subject, task.description)
        told = input_of(_EVENT, session, {**details, "merged_into": branch})
        effect = merged(await answers(self._runner, self._team_state.writer.redaction, hooks, session, told))
        for said in (*effect.shown, *self._runner.new_only(effect.failures)):
            _LOG.warning("Task #%d of team '%s': %s", task.id, roster.team, said)
        refused = effect.reason if effect.decision == "deny" else effect.stop or ""
        return "\n".join([refused, *effect.context]) if refused else ""
