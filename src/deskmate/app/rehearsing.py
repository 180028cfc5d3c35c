"""Rehearsing: a team that plays the demo's script, in a folder of its own, with everything real but the models' words.

`running` plays the lead as in any run. What a run has not is here: the application in a new git repository, the script
in place of a model, and a user who answers questions where nobody else does.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol, TypeAlias

from deskmate.app.furnishing import Furniture, environment_of
from deskmate.app.running import Outcome, Wanted, new_home, play_lead, tell
from deskmate.config import Settings
from deskmate.core.members import PolicySet
from deskmate.core.messages import PermissionRequest, PermissionResponse, envelope_in
from deskmate.core.names import LEAD, USER, mail
from deskmate.core.policy import Mode
from deskmate.core.records import Record
from deskmate.core.tasks import Task
from deskmate.demo.application import texts_in
from deskmate.demo.pacing import Paced
from deskmate.demo.parts import play
from deskmate.demo.script import CHECK, GOAL, PARTS
from deskmate.errors import BadSettings, UnknownRecipient
from deskmate.models.scripted import ScriptedModel
from deskmate.ports import Clock, Model
from deskmate.runtime.feed import Feed
from deskmate.runtime.groups import task_group
from deskmate.runtime.mailbox import Mailbox
from deskmate.runtime.office import Office
from deskmate.workspaces.local import LocalWorkspace

PATIENCE_SECONDS = 3.0
CHECK_SECONDS = 60.0
MODEL = "scripted:demo"

Answer: TypeAlias = Literal["yes", "always", "no"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a member wants to be allowed: exactly this tool with exactly these arguments."""

    id: str
    member: str
    tool: str
    arguments: Mapping[str, Any]
    reason: str


class Person(Protocol):
    """Who watches."""

    @property
    def there(self) -> bool:
        """Whether somebody can answer here. Elsewhere, at another face, somebody always can."""

    async def ask(self, question: Question) -> Answer:
        """Return an answer once there is one. It is cut where none comes in time, and must not raise."""

    def told(self, question: Question, answer: Answer, by_person: bool) -> None:
        """Hear what was answered, and whether the person did."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What it came to: how the lead ended, the board, and what the application's own tests say."""

    outcome: Outcome
    team: str
    tasks: tuple[Task, ...]
    passed: bool
    output: str


def prepare() -> Path:
    """Make a folder with the application in a new git repository; raise BadSettings where something is missing."""
    if find_spec("graphql") is None:
        raise BadSettings(
            "the demo moves an application to GraphQL and needs graphql-core for it; "
            "install it with: pip install 'deskmate[demo]', or in a checkout run: make demo"
        )
    if shutil.which("git") is None:
        raise BadSettings("the demo works in a git repository of its own, and there is no git; install git")
    try:
        folder = Path(tempfile.mkdtemp(prefix="deskmate-demo-")).resolve()
        for path, text in {**texts_in("rest"), "check.sh": _check_file()}.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadSettings(f"no folder for the demo: {error}; set TMPDIR to one that can be written to") from error
    _commit(folder)
    return folder


def _check_file() -> str:
    # Commands of a team do not know the environment that Deskmate runs in, so this names it.
    return f"# The tests, by the Python that has graphql-core.\nexec {shlex.quote(sys.executable)} -B -m unittest -q\n"


def _commit(folder: Path) -> None:
    """Keep the application as it is in a repository that nothing of the user's own settings gets in the way of."""
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
    # Not the rest of the environment: a hook or a rebase that runs us names its own repository there.
    environ = {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for step in steps:
        done = subprocess.run(["git", *step], cwd=folder, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BadSettings(f"git {step[0]} failed in {folder}: {done.stderr.strip()}; see whether git works there")


async def rehearse(folder: Path, feed: Feed, person: Person, *, fast: bool = False) -> Rehearsed:
    """Let the team play in a folder that was prepared; return what it came to.

    `fast`: without pauses, and where nobody is there to answer nobody is waited for.
    """
    settings = Settings(file=folder / "settings.toml")
    async with new_home(folder, Wanted(folder, GOAL, None, settings), feed) as teams:
        office = teams.office
        at = office.pen.clock.timestamp()
        # Attended: what is not allowed is asked, and waits.
        await office.roster.permit(PolicySet(by=LEAD, mode=Mode.ACCEPT_EDITS, attended=True, at=at))
        await tell(office, GOAL)
        furniture = Furniture(
            team=teams.home,
            models=partial(_model, office.pen.clock, fast),
            settings=settings,
            office=office,
            workspace=LocalWorkspace(folder, teams.home, LEAD),
            environment=environment_of(folder, attended=True),
            notes=("AGENTS.md", ""),
            skills={},
            teams=teams,
        )
        async with task_group() as tasks:
            tasks.start_soon(_User(office, person, 0.0 if fast and not person.there else PATIENCE_SECONDS).attend)
            outcome = await play_lead(furniture, teams, folder, told=True)
            tasks.cancel_scope.cancel()
        board, team = await office.board.refresh(), office.roster.state.team
        ran = await furniture.workspace.run(CHECK, timeout_seconds=CHECK_SECONDS, blob=f"{LEAD}-check.txt")
    return Rehearsed(outcome, team, tuple(board.tasks.values()), ran.exit == 0, ran.output)


def _model(clock: Clock, fast: bool, name: str | None) -> Model:
    """Return who plays every part. There is no other: `name` is not looked at."""
    model = ScriptedModel(partial(play, PARTS), name=MODEL)
    return model if fast else Paced(model, clock)


class _User:
    """Answers every question that nobody else answers in time, in the user's name."""

    def __init__(self, office: Office, person: Person, patience_seconds: float) -> None:
        self._office, self._person, self._patience_seconds = office, person, patience_seconds
        self._mailbox = Mailbox(USER, office.pen, office.roster)

    async def attend(self) -> NoReturn:
        """Answer questions, for as long as this runs."""
        store, seen = self._office.pen.store, 0
        while True:
            for item in await store.read(mail(USER), seen):
                seen = item.number
                envelope = envelope_in(item)
                if envelope and isinstance(envelope.message, PermissionRequest):
                    await self._answer(_question(envelope.sender, envelope.message))
            await store.changed({mail(USER): seen})

    async def _answer(self, question: Question) -> None:
        answer: Answer = "always"
        with self._office.pen.clock.move_on_after(self._patience_seconds) as scope:
            answer = await self._person.ask(question)
        if await self._was_answered(question):
            return
        if answer == "always":
            at = self._office.pen.clock.timestamp()
            await self._office.roster.permit(PolicySet(by=USER, add_rules=("allow bash",), at=at))
        await self._send(question, answer)
        self._person.told(question, answer, not scope.cancelled_caught)

    async def _was_answered(self, question: Question) -> bool:
        """Tell whether somebody at another face was faster."""
        items = await self._office.pen.store.read(mail(question.member))
        bodies = [item.body for item in items if isinstance(item, Record)]
        return any(
            body.get("type") == "permission_response" and body.get("request_id") == question.id for body in bodies
        )

    async def _send(self, question: Question, answer: Answer) -> None:
        response = PermissionResponse(request_id=question.id, approve=answer != "no")
        # Who left meanwhile waits for no answer.
        with suppress(UnknownRecipient):
            await self._mailbox.send(question.member, response)


def _question(member: str, request: PermissionRequest) -> Question:
    return Question(request.request_id, member, request.tool, request.arguments, request.reason)
