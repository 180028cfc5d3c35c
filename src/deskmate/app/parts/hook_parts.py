"""The hooks of a process, if there are any."""

from pathlib import Path

from deskmate.config import Settings, environment
from deskmate.core.policy.trusted_files import HOOK_FILES, SETTINGS
from deskmate.runtime.agent_parts import HookRunner
from deskmate.trust.approvals import Consent
from deskmate.workspace.sandbox.mounts import Level, Sandbox


def hooks_of(place: Path, team: str, settings: Settings, sandbox: Sandbox, consent: Consent) -> HookRunner | None:
    """Return what runs the hooks that are in force, None if there are none."""
    has_files = any(one.path in (SETTINGS, *HOOK_FILES) for one in consent.definitions)
    if not (settings.hooks or settings.claude_hooks or has_files):
        return None
    # Imported only if there are hooks.
    from deskmate.hooks.hook_process import HookPlace
    from deskmate.hooks.hook_runner import MachineHooks
    from deskmate.hooks.hook_sources import sources_of, table_of

    table = table_of(
        sources_of(settings, consent.definitions, place, confined=runs_of_project(settings, sandbox, place))
    )
    if not table.hooks:
        return None
    box = sandbox if sandbox.level is not Level.NONE else None
    return MachineHooks(table, HookPlace(place, place, team, environment(), box))


def runs_of_project(settings: Settings, sandbox: Sandbox, place: Path) -> bool:
    """Tell whether hooks of a workspace may run: in a sandbox, or if the user switched the sandbox off."""
    return not settings.sandbox or sandbox.confines(place)
