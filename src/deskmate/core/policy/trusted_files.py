"""Which files of a repository count, and how a team is known to be the user's own.

A definition is a file of a workspace that tells agents or Deskmate what to do: notes, settings, MCP servers, a skill,
an agent file, hooks, a command, a team file. It counts only with the bytes that a person approved. `trust` reads the
files, asks people and
stores their answers.
"""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias

from deskmate.core.values import frozen
from deskmate.errors import BadRecord

NOTES = ("AGENTS.md", "CLAUDE.md")
SETTINGS = ".deskmate/settings.toml"
# MCP servers, in the format of Claude Code.
SERVERS = ".mcp.json"
SKILL_FOLDERS = (".deskmate/skills", ".claude/skills")
SKILL = "SKILL.md"
# Files of Claude Code that may describe hooks.
HOOK_FILES = (".claude/settings.json", ".claude/settings.local.json")
AGENT_FOLDERS = (".deskmate/agents", ".claude/agents")
COMMAND_FOLDERS = (".deskmate/commands", ".claude/commands")
TEAM_FOLDER = ".deskmate/teams"
# How deep agent files and commands may be in their folders.
MOST_FOLDERS = 4
VERSION = 1

# The SHA-256 of what was approved last, by path in the workspace.
Approved: TypeAlias = Mapping[str, str]


class Approval(StrEnum):
    """How a definition compares with what was approved."""

    TRUSTED = "trusted"
    NEW = "new"
    CHANGED = "changed"


@frozen
class Definition:
    """A file, read once, so that the bytes hashed are the bytes used. `path`: in the workspace, separated by `/`."""

    path: str
    data: bytes

    @property
    def digest(self) -> str:
        """The SHA-256 of its bytes."""
        # Imported here because loading it would slow down every start.
        from hashlib import sha256

        return sha256(self.data).hexdigest()

    @property
    def text(self) -> str:
        """Its content as text."""
        return self.data.decode(errors="replace")


def standing(definition: Definition, approved: Approved) -> Approval:
    """Return how a definition compares with what was approved."""
    known = approved.get(definition.path)
    if known is None:
        return Approval.NEW
    return Approval.TRUSTED if known == definition.digest else Approval.CHANGED


def counting(definitions: Iterable[Definition], approved: Approved) -> tuple[Definition, ...]:
    """Return the definitions that were approved with exactly these bytes."""
    return tuple(one for one in definitions if standing(one, approved) is Approval.TRUSTED)


def digests(definitions: Iterable[Definition]) -> dict[str, str]:
    """Return the digests of definitions, as they are approved."""
    return {one.path: one.digest for one in definitions}


# -- how it is kept -------------------------------------------------------------------------------


def read_trust(data: bytes) -> dict[str, dict[str, str]]:
    """Return what was approved, by workspace; raise BadRecord for anything but what `write_trust` writes."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRecord("it is not JSON") from error
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise BadRecord(f"its version is not {VERSION}")
    workspaces = found.get("workspaces")
    if not isinstance(workspaces, dict) or not all(map(_is_approved, workspaces.values())):
        raise BadRecord("it does not list approved files by workspace")
    return workspaces


def _is_approved(found: object) -> bool:
    return isinstance(found, dict) and all(isinstance(digest, str) for digest in found.values())


def write_trust(workspaces: Mapping[str, Approved]) -> bytes:
    """Return what was approved, in the form in which it is stored."""
    written = {"version": VERSION, "workspaces": {place: dict(workspaces[place]) for place in sorted(workspaces)}}
    return json.dumps(written, indent=1, sort_keys=True).encode() + b"\n"


def signature(key: bytes, workspace: bytes, team: str) -> bytes:
    """Return the proof that a team was started in exactly this folder by someone who has the key."""
    import hmac

    # No path contains a zero byte.
    return hmac.digest(key, b"\0".join((b"deskmate team", workspace, team.encode())), "sha256").hex().encode()
