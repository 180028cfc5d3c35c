"""The files that describe hooks: the user's own, and those of a workspace as far as they are trusted.

A file of a workspace counts only with the bytes that a person approved: see `trust.approvals`.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from deskmate.config import Settings
from deskmate.config.settings_loader import read_toml
from deskmate.core.hooks.hook_tables import HookFile, HookTable, agent_hooks_in, hooks_in
from deskmate.core.policy.trusted_files import HOOK_FILES, SETTINGS, Definition
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.values import frozen
from deskmate.errors import BadSettings
from deskmate.fs.safe_files import read_regular
from deskmate.hooks.hook_yaml import yaml_of

CLAUDE_FILE = "settings.json"
_MOST_BYTES = 256_000
_NO_SANDBOX = "hooks of a workspace need a sandbox, and there is none here. See: deskmate doctor"


@frozen
class HookSource:
    """A file with hooks. `unused`: why its hooks are not in force, or empty."""

    file: str
    found: HookFile
    unused: str = ""


def sources_of(
    settings: Settings,
    definitions: Iterable[Definition],
    types: Iterable[AgentProfile],
    place: Path,
    *,
    confined: bool,
) -> tuple[HookSource, ...]:
    """Return the files with hooks: the user's own first, then the trusted ones of a workspace.

    `types`: the agent types of both. `confined`: hooks of a workspace may run here. They run files that agents can
    change, so they need a sandbox.
    """
    own = []
    if settings.hooks:
        file = str(settings.file)
        own.append(HookSource(file, hooks_in(settings.hooks, file, of_project=False)))
    theirs = [source for one in definitions if (source := of_project(one)) is not None]
    types = tuple(types)
    theirs += of_types(one for one in types if one.of_project)
    if not confined:
        theirs = [replace(source, unused=_NO_SANDBOX) for source in theirs]
    return (*own, *_of_claude(settings, place), *of_types(one for one in types if not one.of_project), *theirs)


def table_of(sources: Iterable[HookSource]) -> HookTable:
    """Return the hooks that are in force."""
    return HookTable(tuple(hook for source in sources if not source.unused for hook in source.found.hooks))


def of_project(definition: Definition) -> HookSource | None:
    """Return the hooks of a file of a workspace, None if it describes none."""
    if definition.path == SETTINGS:
        try:
            described = read_toml(definition.data, definition.path).get("hooks")
        except BadSettings as error:
            return HookSource(definition.path, HookFile((), (str(error),)))
    elif definition.path in HOOK_FILES:
        described = _in_json(definition.data)
    else:
        return None
    return HookSource(definition.path, hooks_in(described, definition.path, of_project=True)) if described else None


def of_types(profiles: Iterable[AgentProfile]) -> Iterator[HookSource]:
    """Yield the hooks of agent types that have some."""
    for one in profiles:
        if one.hooks:
            found = agent_hooks_in(yaml_of(one.hooks), one.file, one.name, of_project=one.of_project)
            yield HookSource(one.file, found)


def _of_claude(settings: Settings, place: Path) -> list[HookSource]:
    """Return Claude Code's own file of the user, if it has hooks. They are in force only if the settings say so."""
    if settings.claude_folder is None:
        return []
    file = os.path.realpath(settings.claude_folder / CLAUDE_FILE)
    shown = str(settings.claude_folder / CLAUDE_FILE)
    if Path(file).is_relative_to(os.path.realpath(place)):
        # Agents could write there.
        return []
    try:
        described = _in_json(read_regular(file, _MOST_BYTES))
    except OSError:
        return []
    if not described:
        return []
    unused = "" if settings.claude_hooks else f"to use them, set claude_hooks = true in {settings.file}"
    return [HookSource(shown, hooks_in(described, shown, of_project=False), unused)]


def _in_json(data: bytes) -> Any:
    """Return the `hooks` part of a file of Claude Code, an error text if it is not JSON."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return "not JSON"
    return found.get("hooks") if isinstance(found, dict) else "not a table"
