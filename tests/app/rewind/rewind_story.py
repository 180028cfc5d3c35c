"""A lead that is told to make files, in git or outside of it, and what goes back to before that."""

import re
import subprocess
from pathlib import Path

from deskmate.app import Feed, Outcome, RunRequest, environment, load, run
from deskmate.app.rewind.rewinding import Rewinder, stopped_rewinder
from deskmate.config import Settings
from deskmate.testing import Asked, Say, Use
from deskmate.testing.scenario import Scenario
from deskmate.testing.team_scripts import MemberScript

_WANTED = re.compile(r"paint (\w+)")
SETTINGS = {"permission_mode": "dontAsk", "sandbox": False}


def paint(asked: Asked) -> Say:
    """Write a file of the wanted colour, and another one with a command. Then say which colours were wanted."""
    wanted = _WANTED.findall(str(asked.prompt.passages[-1]))
    if asked.results or not wanted:
        colours = dict.fromkeys(_WANTED.findall(str(asked.prompt.passages)))
        return Say(f"Painted {', '.join(colours)}.")
    colour = wanted[-1]
    return Say(
        calls=[
            Use("write_file", {"path": f"{colour}.txt", "content": f"{colour}\n"}),
            Use("bash", {"command": f"echo {colour} >> wall; echo > drop-{colour}"}),
        ]
    )


def begin(folder: Path, *, in_git: bool, script: MemberScript = paint) -> Scenario:
    """Return a scenario whose workspace has one file."""
    (folder / "work").mkdir()
    (folder / "work/wall").write_text("bare\n")
    if in_git:
        subprocess.run(["git", "init", "-q", str(folder / "work")], check=True)
    return Scenario(folder, script)


def settings() -> Settings:
    """Return the settings of the user of an open scenario."""
    return load(environment(), SETTINGS)


def rewinder(team: Scenario, name: str | None = None) -> Rewinder:
    """Return what goes back, for a team of an open scenario."""
    return stopped_rewinder(team.workspace, name, settings())


async def go_on(team: Scenario, name: str, words: str) -> Outcome:
    """Say something to a team of an open scenario."""
    return await run(RunRequest(team.workspace, words, name, settings(), continues=True), Feed())


def files(team: Scenario) -> dict[str, str]:
    """Return the files of the workspace."""
    return {path.name: path.read_text() for path in team.workspace.iterdir() if path.is_file()}
