"""A team as one HTML file, for people who were not there. It shows the same as the page, and can write to nobody."""

from pathlib import Path
from typing import Any

import anyio
import click

from deskmate import __version__, app
from deskmate.app.attach.team_on_disk import TeamOnDisk, watched
from deskmate.errors import Refused
from deskmate.faces.common.text_tables import note
from deskmate.faces.web.live.shared_team import SharedTeam
from deskmate.faces.web.live.transcripts import TimedWords
from deskmate.faces.web.page_files import single_file
from deskmate.queries.stream_reader import reading_of


def save_page(folder: Path | None, team: str | None, file: str) -> int:
    """Write the page of a team into a new file, or to stdout for `-`. Return the exit code. Raises DeskmateError."""
    name, page = team_export(folder, team)
    if file == "-":
        click.echo(page)
        return 0
    try:
        # Never replace a file: the name may have been mistyped.
        with open(file, "x", encoding="utf-8") as opened:
            opened.write(page)
    except OSError as error:
        hint = "Choose another name." if isinstance(error, FileExistsError) else ""
        raise Refused(f"Cannot write {file}: {error.strerror}", hint) from error
    note(f"Team {name} is in {file}. It has what the team read and wrote, so look at it before you share it.")
    return 0


def team_export(folder: Path | None, team: str | None) -> tuple[str, str]:
    """Return the name of a team and its page as one file. Raises Refused or StoreError."""
    reading = reading_of(folder, team)
    settings = app.load(app.environment())

    async def saved() -> dict[str, Any]:
        async with watched(reading.workspace, reading.team, settings) as opened:
            return await _saved(opened, settings)

    data = {**anyio.run(saved), "name": reading.team, "version": __version__}
    # Records have no secrets that were known when they were written. This takes out those that are known only now.
    return reading.team, single_file(reading.team, app.redaction_of(settings).value(data))


async def _saved(team: TeamOnDisk, settings: app.Settings) -> dict[str, Any]:
    shared = SharedTeam(team, settings)
    await shared.fold()
    await shared.past.refresh(team)
    words = {name: (await TimedWords.read(team, shared.past.times, name)).shown() for name in team.roster.members}
    return {"state": shared.since(0), "transcripts": words, "steps": shared.past.steps}
