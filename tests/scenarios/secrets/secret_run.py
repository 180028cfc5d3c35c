"""The play: a team that meets every canary, through the whole program in processes of its own."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from deskmate.core.prompt.compaction import summary_request
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import ErrorStatus, Fault
from deskmate.testing.team_scripts import hears, step
from tests.faces.fake_app import environment
from tests.scenarios.secrets.planted_secrets import COMMANDS, ENVIRON, SETTINGS, SHAPED, plant
from tests.warm_program import run_deskmate

SECONDS = 60
ALLOWED = ("head", "tail", "sleep", "cat", "seq", "tr", "printf", "wc")
RULES = [f"bash({program} *)" for program in ALLOWED]
# What a program without redaction would be: the search must find every canary then.
CARELESS = """
import sys
from deskmate.core.policy.redaction import Redaction
Redaction.find = lambda self, text: []
from deskmate.faces.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

STORY = (
    Say(
        f"I know {SHAPED['words']}, do I?",
        [
            *(Use("read_file", {"path": name}) for name in (".env", "coded.txt", "read.txt", "formats.txt")),
            Use("grep", {"pattern": "needle"}),
            Use("bash", {"command": "cat background.txt", "run_in_background": True}),
        ],
        thinking=f"Hm, {SHAPED['thought']}.",
    ),
    Say(calls=[Use("bash", {"command": command}) for command in COMMANDS]),
    Say(
        calls=[
            Use("TaskCreate", {"subject": f"use {SHAPED['task']}", "description": SHAPED["task"], "owner": "lead"}),
            Use("Task", {"prompt": "Look."}),
            Use("Task", {"name": "alice", "prompt": f"Use {SHAPED['prompt']}.", "model": "openai:gpt-5"}),
            Use("Task", {"name": "bob", "prompt": "Plan.", "plan_mode_required": True}),
        ],
    ),
    Say("Well.", [Use("SendMessage", {"recipient": "alice", "content": SHAPED["mail"], "summary": SHAPED["mail"]})]),
    Say(f"It is {SHAPED['answer']}."),
)


def play(asked: Asked) -> Say:
    """Say what is next, as the conversation stands."""
    done = step(asked)
    if asked.format == "openai":
        return Say("I have heard.", [Use("SendMessage", {"recipient": "lead", "content": SHAPED["mail"]})][done:])
    if re.match("You are bob, ", asked.system):
        return Say("See.", [Use("ExitPlanMode", {"plan": f"Use {SHAPED['plan']}."})][done:])
    if not re.match("You are lead, ", asked.system):
        return Say(f"There is {SHAPED['subagent']}.")
    if any(text.startswith(summary_request()[:40]) for text in asked.texts):
        return Say(f"We spoke of {SHAPED['summary']}.")
    if hears(asked, "touch it"):
        return Say(calls=[Use("bash", {"command": f"touch asked-{SHAPED['asked about']}"})])
    if hears(asked, "hello"):
        return Say("Yes?")
    return STORY[min(done, len(STORY) - 1)]


def fail(_number: int, asked: Asked) -> Fault | None:
    """Let a provider show the key it was sent, as careless ones do."""
    if not hears(asked, "go wrong"):
        return None
    return ErrorStatus(401, message=f"no such key: {asked.headers['x-api-key']}")


@dataclass(frozen=True)
class Stand:
    """Where it is played. `said`: what each command wrote to its outputs. `careful`: whether anything is redacted."""

    folder: Path
    home: Path
    env: dict[str, str]
    provider: FakeProvider
    careful: bool
    said: dict[str, bytes] = field(default_factory=dict)

    def type(self, *args: str, stdin: str = "") -> int:
        """Type a command, with nothing taken from the modes of what it makes; return its exit code."""
        if self.careful:
            ran = run_deskmate(args, folder=self.folder, env=self.env, stdin=stdin.encode(), seconds=SECONDS, umask=0)
        else:
            ran = subprocess.run(
                [sys.executable, "-c", CARELESS, *args],
                cwd=self.folder,
                env=self.env,
                input=stdin.encode(),
                capture_output=True,
                timeout=SECONDS,
                check=False,
                umask=0,
            )
        self.said[f"{args[0]} {len(self.said)}"] = ran.stdout + b"\n" + ran.stderr
        return ran.returncode


@contextmanager
def stand(place: Path, launcher: str, *, careful: bool = True) -> Iterator[Stand]:
    """Have everything planted, and a provider that plays."""
    folder, home = place / "work", place / "home"
    folder.mkdir()
    home.mkdir()
    provider = FakeProvider(play, faults=fail, fragment=5)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(provider):
        planted = plant(folder, home, provider.url)
        settings = home / ".config" / "deskmate" / "settings.toml"
        rules = f"[permission]\nallow = {RULES}\n"
        settings.write_text(f'launcher = "{launcher}"\nsandbox = false\n{settings.read_text()}{rules}')
        env = environment(home, DESKMATE_MODEL="anthropic:claude-sonnet-4-5", **planted)
        yield Stand(folder, home, {**env, "ANTHROPIC_BASE_URL": provider.url}, provider, careful)


def perform(stand: Stand) -> list[int]:
    """Have everything said and done, and return the exit codes."""
    conversation = (
        f"hello {SHAPED['typed in a conversation']}\ntouch it\n/no not {SHAPED['refusal']}\n/compact\ngo wrong\n"
    )
    return [
        stand.type("run", "--trust", "--output", "stream-json", f"Go, with {SHAPED['typed']}."),
        stand.type("send", "lead", f"hello, take {SHAPED['sent']}"),
        stand.type("board", "add", f"use {SHAPED['task of the user']}"),
        stand.type("--plain", "--new-team", "talk", stdin=conversation),
        stand.type("tail", "lead", "main"),
        stand.type("doctor"),
        stand.type("oops", SHAPED["mistyped"]),
    ]


# In which header each provider gets its key, and the only one who does.
KEYS = {"anthropic": ("x-api-key", ENVIRON["ANTHROPIC_API_KEY"]), "openai": ("authorization", SETTINGS["openai"])}
