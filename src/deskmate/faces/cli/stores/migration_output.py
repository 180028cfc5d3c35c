"""What migrate prints."""

from pathlib import Path

import anyio

from deskmate import app
from deskmate.app.migration.team_migration import FILES, migrate, place_of
from deskmate.faces.common.text_tables import note, put


def copy_team(folder: Path | None, team: str, to: str) -> int:
    """Copy a team to another store."""
    copied = anyio.run(migrate, folder, team, to, app.load(app.environment()))
    where = place_of(to)
    for one in copied:
        there = f", of which {one.records - one.new:,} were there already" if one.new < one.records else ""
        note(f"Copied team '{one.team}' to {where}: {one.records:,} records of {one.streams} streams{there}")
    note("Every record was read back and compared. The team is still in its old store, too: continue only one of them.")
    note("To use the copy, unset the setting store." if to == FILES else "To use the copy, set store to that URL.")
    return put([one.team for one in copied])
