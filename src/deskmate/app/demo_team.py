"""The demo: a team that plays a script.

`runner` starts and resumes it, and `session` shows it, as for any user. Special for the demo: the application in a new
git repository, a script instead of a model, and answers to questions that nobody else answers.
"""

import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NoReturn, Protocol, TypeAlias

from deskmate.app.build import TeamParts
from deskmate.app.run_request import RunRequest
from deskmate.app.runner import founded, reopened
from deskmate.app.session import Answer, Session, session_with
from deskmate.app.sessions.run_outcome import Outcome
from deskmate.config import ModelSettings, Permission, Prices, Settings, environment
from deskmate.core.agent.entries import Began, Said
from deskmate.core.log.names import LEAD, call_id
from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.core.prompt.prompts import Prompt
from deskmate.core.team.handshakes import Shake
from deskmate.core.team.open_questions import Question
from deskmate.core.team.tasks import Task
from deskmate.core.values import frozen
from deskmate.demo.application import texts_in
from deskmate.demo.demo_parts import play, speaker
from deskmate.demo.demo_script import CHECK, CUT_OFF, GOAL, PARTS, SCENES, TEAM
from deskmate.demo.paced_model import Paced
from deskmate.errors import BadSettings, UnknownRecipient
from deskmate.models.scripted import RehearsedModel, Say
from deskmate.ports import Model
from deskmate.runtime.events import Feed, Recorded, TeamEvent
from deskmate.runtime.system_clock import SystemClock
from deskmate.runtime.task_groups import task_group
from deskmate.trust.approvals import Consent
from deskmate.trust.chosen_engine import use_store

__all__ = ["SCENES", "DemoAct", "Person", "Rehearsal", "Rehearsed", "prepare", "rehearsal"]

CHECK_SECONDS = 60.0
MODEL = "scripted:demo"
ALLOWED = ("bash(sh check.sh)", "bash(git add -A)", "bash(git commit *)")
# The same on every machine: in a sandbox, other commands would not be asked about.
ASKED = ("bash(git switch *)",)
# What a real model of this kind costs. Nothing is charged for a script, but the accounts are worth a look.
PRICES = Prices(input=3, output=15, cache_read=0.3, cache_write=3.75)

# Called with who says what, when they begin to say it.
Says: TypeAlias = Callable[[str, str], None]


class Person(Protocol):
    """The person who watches the demo."""

    @property
    def patience_seconds(self) -> float:
        """How long to wait for an answer before the demo gives one. Somebody may also answer in another face."""

    async def ask(self, question: Question, stays: Callable[[], None]) -> Answer:
        """Return an answer once there is one. Must not raise. It is cancelled if no answer comes in time.

        `stays`: call it once the person is known to be there. Then there is no time limit any more.
        """

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
    """Make a folder with the application in a new git repository, and return it.

    Its parent is new too, and has everything else that the demo writes. Raises BadSettings if something is missing.
    """
    if shutil.which("git") is None:
        raise BadSettings("The demo needs git, which is not installed", "Install git.")
    try:
        folder = Path(tempfile.mkdtemp(prefix="deskmate-demo-")).resolve() / "library"
        for path, text in {**texts_in("rest"), "check.sh": _check_file()}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadSettings(
            f"Cannot create a folder for the demo: {error}", "Set TMPDIR to a folder that you can write to."
        ) from error
    _commit(folder)
    # It shows files, whatever store the user has chosen.
    use_store(folder, None)
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
    folder: Path,
    feed: Feed,
    *,
    resumes: bool = False,
    fast: bool = False,
    player: type[RehearsedModel] = RehearsedModel,
    says: Says = lambda member, words: None,
) -> AsyncIterator["Rehearsal"]:
    """Open a team in a prepared folder, or with `resumes` the team that is there.

    `fast`: without pauses for reading. `player`: plays the script.
    """
    request = RunRequest(
        folder,
        None if resumes else GOAL,
        TEAM if resumes else None,
        _settings(folder),
        continues=resumes,
        consent=Consent(trusted=True),
        model=_model(player, says, fast=fast),
    )
    opened = reopened if resumes else founded
    async with (
        opened(request, feed, attended=True) as (team_parts, teams),
        session_with(team_parts, teams) as session,
    ):
        yield Rehearsal(session, team_parts)


def _settings(folder: Path) -> Settings:
    """Return settings that depend on no file, so that the demo is the same for every user."""
    own = folder.parent / "state"
    settings = Settings(
        file=own / "settings.toml",
        state=own,
        permission=Permission(allow=list(ALLOWED), ask=list(ASKED)),
        permission_mode=Mode.ACCEPT_EDITS,
        # Its teammates commit by themselves, and show how questions are asked before that.
        isolation=Isolation.SHARED,
    )
    return settings.model_copy(update={"models": {MODEL: ModelSettings(prices=PRICES)}})


def _model(player: type[RehearsedModel], says: Says, *, fast: bool) -> Model:
    """Return the one model that plays every part."""

    def script(prompt: Prompt) -> Say:
        say = play(PARTS, prompt)
        says(speaker(prompt), say.text)
        return say

    model = player(script, name=MODEL)
    return model if fast else Paced(model, SystemClock())


@frozen
class DemoAct:
    """One act of the demo. `killed`: the process of the act before, which was killed, or None for the first act.

    `cue`: a file descriptor to write to when the team should be killed, or None. `fast`: without pauses for reading.
    """

    folder: Path
    killed: int | None
    cue: int | None
    fast: bool

    @property
    def resumes(self) -> bool:
        """Whether it continues with the team of the act before."""
        return self.killed is not None

    def feed(self) -> Feed:
        """Return a feed that gives the cue."""
        feed = Feed()
        if self.cue is not None:
            feed.listen(_CutOffCue(self.cue).hear)
        return feed


class _CutOffCue:
    """Listens to a team, and writes to a file descriptor once the member that the demo cuts off runs a command."""

    def __init__(self, cue: int) -> None:
        self._cue = cue
        self._commands: set[str] = set()
        self._is_reached = False

    def hear(self, event: TeamEvent) -> None:
        """Take in an event. It neither waits nor raises."""
        match event:
            case Recorded(member, number, Said(calls=calls)) if member == CUT_OFF:
                called = enumerate(calls)
                self._commands |= {call_id(member, number, index) for index, call in called if call.tool == "bash"}
            case Recorded(_, _, Began(calls=begun)) if self._commands.intersection(begun) and not self._is_reached:
                self._is_reached = True
                os.write(self._cue, b"!")


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
            answer = await person.ask(question, lambda: setattr(scope, "deadline", math.inf))
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
