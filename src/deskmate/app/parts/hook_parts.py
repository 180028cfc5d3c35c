"""The hooks of a process, if there are any, and the hooks of a folder for people to look at."""

import json
import logging
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskmate.config import Settings, environment
from deskmate.core.policy.trusted_files import HOOK_FILES, SETTINGS, Definition
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.values import frozen
from deskmate.runtime.agent_parts import HookRunner
from deskmate.runtime.team_state import TeamState
from deskmate.trust.approvals import NO_CONSENT, Consent, survey
from deskmate.trust.project_files import has_types
from deskmate.trust.sandbox_choice import sandbox_of
from deskmate.workspace.sandbox.mounts import Level, Sandbox

if TYPE_CHECKING:
    from deskmate.core.hooks.hook_outputs import HookEffect, HookRun
    from deskmate.hooks.hook_sources import HookSource
    from deskmate.runtime.merge_queue import CompletionHooks

_LOG = logging.getLogger(__name__)


def hooks_of(place: Path, team: str, settings: Settings, sandbox: Sandbox, consent: Consent) -> HookRunner | None:
    """Return what runs the hooks that are in force, None if there are none."""
    types = _types(place, settings, consent.definitions)
    in_types = any(one.hooks for one in types)
    if not (settings.hooks or settings.claude_hooks or in_types or _may_describe(consent.definitions)):
        return None
    # Imported only if there are hooks.
    from deskmate.hooks.hook_process import HookPlace
    from deskmate.hooks.hook_runner import MachineHooks
    from deskmate.hooks.hook_sources import sources_of, table_of

    confined = _runs_of_project(settings, sandbox, place)
    sources = sources_of(settings, consent.definitions, types, place, confined=confined)
    if any(source.found.problems or source.unused for source in sources):
        _LOG.warning("Some hooks are not used. To see which, and why, run: deskmate hooks")
    table = table_of(sources)
    return MachineHooks(table, HookPlace(place, place, team, environment(), _box(sandbox))) if table.hooks else None


def _types(place: Path, settings: Settings, definitions: tuple[Definition, ...]) -> Collection[AgentProfile]:
    if not has_types(settings, definitions):
        return ()
    # Imported here because few starts find such a file.
    from deskmate.trust.type_files import types_of

    return types_of(definitions, place, settings.agent_folders).by_name.values()


def merge_hooks_of(team_state: TeamState, runner: HookRunner | None) -> "CompletionHooks | None":
    """Return the hooks that the merge queue of a team asks, None if there are none."""
    if runner is None or not any(hook.event == "TaskCompleted" for hook in runner.table.hooks):
        return None
    # Imported only if there are hooks.
    from deskmate.runtime.hooks.merge_hooks import MergeHooks

    return MergeHooks(team_state, runner)


def _may_describe(definitions: tuple[Definition, ...]) -> bool:
    return any(one.path in HOOK_FILES or (one.path == SETTINGS and b"hooks" in one.data) for one in definitions)


def _runs_of_project(settings: Settings, sandbox: Sandbox, place: Path) -> bool:
    """Tell whether hooks of a workspace may run: in a sandbox, or if the user switched the sandbox off."""
    return not settings.sandbox or sandbox.confines(place)


def _box(sandbox: Sandbox) -> Sandbox | None:
    return sandbox if sandbox.level is not Level.NONE else None


# -- for people to look at ------------------------------------------------------------------------


def list_hooks(folder: Path | None, settings: Settings, consent: Consent = NO_CONSENT) -> tuple["HookSource", ...]:
    """Return the files with hooks of a folder and of the user, also those that are not in force, and why not.

    `consent`: files that a run uses, although the user may have trusted them for that run only.
    """
    from dataclasses import replace

    from deskmate.hooks.hook_sources import of_project, of_types, sources_of
    from deskmate.trust.type_files import types_in

    found = survey(folder, settings.state, reads=True)
    used = (*found.consent.definitions, *(one for one in found.fresh if one in consent.definitions))
    types = _types(found.workspace, settings, used)
    needs_sandbox = _may_describe(used) or any(one.hooks and one.of_project for one in types)
    # The trial of a sandbox takes a moment.
    confined = not needs_sandbox or _runs_of_project(settings, sandbox_of(settings), found.workspace)
    sources = sources_of(settings, used, types, found.workspace, confined=confined)
    fresh = [one for one in found.fresh if one not in used]
    untrusted = [*filter(None, map(of_project, fresh)), *of_types(types_in(fresh, []))]
    why = "you have not trusted it ({}). To review and trust it, run: deskmate trust"
    return (*sources, *(replace(source, unused=why.format(found.unused[source.file])) for source in untrusted))


@frozen
class HookTrial:
    """What hooks answered to an example, and what they want together."""

    runs: tuple["HookRun", ...]
    effect: "HookEffect"


async def try_hooks(
    folder: Path | None, settings: Settings, event: str, tool: str, given: Mapping[str, Any]
) -> HookTrial:
    """Run the hooks of an event that are in force here with an example, as in a run. Nothing is recorded."""
    from deskmate.core.hooks.hook_inputs import HookSession, example_of, input_of
    from deskmate.core.hooks.hook_outputs import merged
    from deskmate.core.hooks.hook_tables import EVENTS
    from deskmate.core.hooks.tool_aliases import names_of, own_name
    from deskmate.hooks.hook_process import HookPlace
    from deskmate.hooks.hook_runner import MachineHooks
    from deskmate.hooks.hook_sources import table_of

    place = survey(folder, settings.state, reads=False).workspace
    table = table_of(list_hooks(folder, settings))
    names, details = example_of(event, own_name(tool), given, str(place))
    hooks = table.for_event(event, *(names_of(own_name(tool)) if EVENTS[event] == "the tool" else names))
    session = HookSession("example", "", str(place), "default", "", "example")
    with tempfile.TemporaryDirectory() as records:
        runner = MachineHooks(
            table, HookPlace(place, Path(records), "example", environment(), _box(sandbox_of(settings)))
        )
        told = json.dumps(input_of(event, session, details)).encode()
        runs = await runner.run(hooks, told, session)
    return HookTrial(runs, merged(runs, own_name(tool)))
