"""Readable copies: `config.json` and one file per task.

They are for people and scripts. The process that holds the lead's seat writes them atomically. `config.json` has the
number of the roster record it shows. They can be deleted at any time. Deskmate reads nothing from them, except to see
whether records are missing.
"""

import json
from collections.abc import Mapping
from typing import Any

from deskmate.core.log.names import LEAD, agent_id
from deskmate.core.team.members import Member, RosterState
from deskmate.core.team.status import status_detail, status_word
from deskmate.core.team.tasks import BoardState, Task, blocks
from deskmate.errors import StoreCorrupt
from deskmate.fs.private_folder import PrivateFolder

CONFIG = "config.json"


def config(roster: RosterState) -> dict[str, Any]:
    """Return what `config.json` shows."""
    return {
        "name": roster.team,
        "description": roster.description,
        "created_at": roster.founded,
        "lead_agent_id": agent_id(LEAD, roster.team),
        "members": [_member(member, roster.team) for member in roster.members.values()],
        "roster": roster.number,
    }


def _member(member: Member, team: str) -> dict[str, Any]:
    word, detail = status_word(member.status), status_detail(member.status)
    return {
        "name": member.name,
        "agent_id": agent_id(member.name, team),
        "agent_type": member.agent_type,
        "role": member.role,
        "color": member.colour,
        "status": f"{word}({detail})" if detail else word,
        "is_active": member.here,
    }


def task_file(board: BoardState, task: Task) -> dict[str, Any]:
    """Return what `<id>.json` shows."""
    return {
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "activeForm": task.active_form,
        "status": task.status,
        "owner": task.owner,
        "epoch": task.epoch,
        "blockedBy": sorted(task.blocked_by),
        "blocks": sorted(blocks(board, task.id)),
        "role": task.role,
        "verify": task.verify,
        "created": task.created,
        "updated": task.updated,
        "notes": [note.text for note in task.notes],
        "receipt": task.receipt.model_dump(mode="json") if task.receipt else None,
    }


class Projections:
    """Writes the files that are not up to date."""

    def __init__(self, team: PrivateFolder, tasks: PrivateFolder) -> None:
        self._team, self._tasks = team, tasks

    def write(self, roster: RosterState, board: BoardState) -> None:
        """Bring the files up to date, also deleted and damaged ones. Blocks, so call it in a thread."""
        _show(self._team, CONFIG, config(roster))
        for task in board.tasks.values():
            _show(self._tasks, f"{task.id}.json", task_file(board, task))


def _show(folder: PrivateFolder, name: str, value: Mapping[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2).encode(errors="replace") + b"\n"
    if not _holds(folder, name, text):
        folder.replace(name, text)


def _holds(folder: PrivateFolder, name: str, text: bytes) -> bool:
    """Return whether a file contains exactly this text. False if it cannot be read."""
    try:
        with folder.reader(name) as file:
            return file.read(len(text) + 1) == text
    except (OSError, StoreCorrupt):
        return False
