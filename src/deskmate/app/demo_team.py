"""The demo: a team that plays a script.

`session` runs the lead and shows the team as for any user. Special for the demo: the application in a new git
repository, a script instead of a model, and answers to questions that nobody else answers.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol

from deskmate.app.build import TeamParts
from deskmate.app.run_request import RunRequest
from deskmate.app.runner import Outcome, new_home, tell
from deskmate.app.session import Answer, Session, session_with
from deskmate.config import ModelSettings, Permission, Prices, Settings, environment
from deskmate.core.log.names import LEAD
from deskmate.core.policy.permissions import Mode
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.core.team.roster_records import PolicySet
from deskmate.core.team.tasks import Task
from deskmate.core.values import frozen
from deskmate.demo.application import texts_in
from deskmate.demo.demo_parts import play
from deskmate.demo.demo_script import CHECK, GOAL, PARTS
from deskmate.demo.paced_model import Paced
from deskmate.errors import BadSettings, UnknownRecipient
from deskmate.models.scripted import RehearsedModel
from deskmate.ports import Clock, Model
from deskmate.runtime.events import Feed
from deskmate.runtime.task_groups import task_group
from deskmate.stores.jsonl_store import TEAMS
from deskmate.trust.project_files import environment_of
from deskmate.workspace.local_workspace import LocalWorkspace
from deskmate.workspace.sandbox.mounts import Level, Sandbox

CHECK_SECONDS = 60.0
MODEL = "scripted:demo"
# Allowed from the start, so that only one thing is asked.
ALLOWED = ("bash(git add -A)", "bash(git commit *)")


class Person(Protocol):
    """The person who watches the demo."""

    @property
    def patience_seconds(self) -> float:
        """How long to wait for an answer before the demo gives one. Somebody may also answer in another face."""

    async def ask(self, question: Question) -> Answer:
        """Return an answer once there is one. Must not raise. It is cancelled if no answer comes in time."""

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        """Take note of the answer, and whether the person gave it."""


@frozen
class Rehearsed:
    """The result of the demo: how the lead ended, the board, and the result of the application's own tests."""

    outcome: Outcome
    team: str
    tasks: tuple[Task, ...]
    passed: bool
    output: str


def prepare() -> Path:
    """Make a folder with the application in a new git repository. Raises BadSettings if something is missing."""
    if shutil.which("git") is None:
        raise BadSettings("The demo needs git, which is not installed", "Install git.")
    try:
        folder = Path(tempfile.mkdtemp(prefix="deskmate-demo-")).resolve()
        for path, text in {**texts_in("rest"), "check.sh": _check_file()}.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadSettings(
            f"Cannot create a folder for the demo: {error}", "Set TMPDIR to a folder that you may write to."
        ) from error
    _commit(folder)
    return folder


def _check_file() -> str:
    # Commands of a team do not know which Python Deskmate runs in, so this file names it.
    return f"# The tests, by the Python that has graphql-core.\nexec {shlex.quote(sys.executable)} -B -m unittest -q\n"


def _commit(folder: Path) -> None:
    """Commit the application to a new repository, independent of the user's own git settings."""
    own = {
        "user.name": "demo",
        "user.email": "demo@localhost",
        "commit.gpgsign": "false",
        "core.hooksPath": "/dev/null",
    }
    steps = [
        ["init", "-q"],
        *(["config", *pair] for pair in own.items()),
        ["add", "-A"],
        ["commit", "-qm", "REST"],
        ["tag", "rest"],
    ]
    # Not the rest of the environment: if a git hook or rebase runs us, it contains that repository.
    path = environment().get("PATH", os.defpath)
    environ = {"PATH": path, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for step in steps:
        done = subprocess.run(["git", *step], cwd=folder, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BadSettings(f"git {step[0]} failed in {folder}: {done.stderr.strip()}", "Check that git works there.")


@asynccontextmanager
async def rehearsal(
    folder: Path, feed: Feed, *, fast: bool = False, player: type[RehearsedModel] = RehearsedModel
) -> AsyncIterator["Rehearsal"]:
    """Open a team in a prepared folder. `fast`: without pauses for reading. `player`: plays the script."""
    free = {MODEL: ModelSettings(prices=Prices(input=0, output=0))}
    # Where no agent of the demo looks, so nothing is written outside the folder.
    settings = Settings(file=folder / "settings.toml", state=folder / TEAMS, permission=Permission(allow=list(ALLOWED)))
    # Not from a file: a user cannot set what a script costs.
    settings = settings.model_copy(update={"models": free})
    # The same on every machine: the commands are ours, and the demo shows a question about a command.
    sandbox = Sandbox(Level.NONE)
    async with new_home(folder, RunRequest(folder, GOAL, None, settings), feed) as teams:
        team_state = teams.first
        at = team_state.writer.clock.timestamp()
        # Attended: a call that is not allowed becomes a question and waits.
        policy = PolicySet(by=LEAD, mode=Mode.ACCEPT_EDITS, attended=True, sandbox=sandbox.level, at=at)
        await team_state.roster.permit(policy)
        await tell(team_state, GOAL)
        team_parts = TeamParts(
            team=teams.home,
            models=partial(_model, player, team_state.writer.clock, fast),
            settings=settings,
            team_state=team_state,
            workspace=LocalWorkspace(
                folder,
                teams.home,
                LEAD,
                environ=environment(),
                sandbox=sandbox,
                redaction=team_state.writer.redaction,
            ),
            environment=environment_of(folder, sandbox, attended=True, trusted=True),
            notes=("AGENTS.md", ""),
            skills={},
            sandbox=sandbox,
            teams=teams,
        )
        async with session_with(team_parts, teams) as session:
            yield Rehearsal(session, team_parts)


def _model(player: type[RehearsedModel], clock: Clock, fast: bool, name: str | None) -> Model:
    """Return the one model that plays every part, whatever `name` says."""
    model = player(partial(play, PARTS), name=MODEL)
    return model if fast else Paced(model, clock)


class Rehearsal:
    """A team that plays the script, and the session of the person who watches it."""

    def __init__(self, session: Session, team_parts: TeamParts) -> None:
        self.session = session
        self._team_parts, self._clock = team_parts, team_parts.team_state.writer.clock
        self._asked: set[tuple[str, str]] = set()

    async def play(self, person: Person) -> Rehearsed:
        """Run the team to the end and return the result.

        Questions that the person does not answer in time are answered in the user's name.
        """
        async with task_group() as tasks:
            tasks.start_soon(self._attend, person)
            outcome = await self.session.play_to_rest()
            tasks.cancel_scope.cancel()
        team_state = self._team_parts.team_state
        board = await team_state.board.refresh()
        ran = await self._team_parts.workspace.run(CHECK, timeout_seconds=CHECK_SECONDS, blob=f"{LEAD}-check.txt")
        return Rehearsed(outcome, self.session.team, tuple(board.tasks.values()), ran.exit == 0, ran.output)

    async def _attend(self, person: Person) -> NoReturn:
        while True:
            # The lead answers plans, as its script says.
            permissions = [one for one in self.session.questions if one.shake is Shake.PERMISSION]
            fresh = [one for one in permissions if one.key not in self._asked]
            for question in fresh:
                self._asked.add(question.key)
                await self._answer(person, question)
            if not fresh:
                await self.session.looked()

    async def _answer(self, person: Person, question: Question) -> None:
        answer: Answer = "always"
        with self._clock.move_on_after(person.patience_seconds) as scope:
            answer = await person.ask(question)
        # Somebody in another face may have been faster.
        await self.session.look()
        if question not in self.session.questions:
            return
        if question.rule is None and answer == "always":
            answer = "yes"
        # A member that left meanwhile needs no answer.
        with suppress(UnknownRecipient):
            await self.session.answer(question, answer)
        person.told(question, answer, not scope.cancelled_caught)
