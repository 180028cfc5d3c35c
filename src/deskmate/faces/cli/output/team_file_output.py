"""Teams that are described in files."""

from pathlib import Path

from deskmate import app
from deskmate.app.team_files.team_description import TeamDescription
from deskmate.app.team_files.team_file_places import list_team_files
from deskmate.faces.common.error_log import logging_to
from deskmate.faces.common.terminal_text import exact
from deskmate.faces.common.text_tables import note, put


def team_files(folder: Path | None) -> int:
    """Print the team files of a folder and of the user. Return the exit code."""
    with logging_to(note):
        listed = list_team_files(folder, app.load(app.environment()))
    lines = [line for team in listed.usable for line in _lines(team)]
    lines += [f"{exact(file)} ({how}, not trusted)" for file, how in listed.untrusted]
    lines += [f"not used: {exact(problem)}" for problem in listed.problems]
    lines += ["To review and trust team files, run: deskmate trust"] if listed.untrusted else []
    if not lines:
        note("There are no team files. Write .deskmate/teams/NAME.toml, then run: deskmate trust")
    return put(lines)


def _lines(team: TeamDescription) -> list[str]:
    members = ", ".join(f"{one.name} ({one.role})" if one.role else one.name for one in team.teammates)
    count = len(team.tasks)
    facts = [team.about, f"members: {members}" if members else "", f"tasks: {count}" if count else ""]
    name = Path(team.file).stem
    return [f"{exact(name)}  {exact(team.file)}", *(f"  {exact(fact)}" for fact in facts if fact)]
