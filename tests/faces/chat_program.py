"""ChatProgram: the whole program in another process, against a scripted provider, with input through pipes."""

import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from anyio.from_thread import start_blocking_portal

from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import Plan
from deskmate.testing.team_scripts import hears, member_of
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.fake_app import Ended, environment
from tests.warm_program import run_deskmate

SECONDS = 60
DESKMATE = (sys.executable, "-m", "deskmate")
# What providers can send of them.
ODD = "\n".join(NAUGHTY).encode("utf-8", "replace").decode()
LONG = "\n".join(f"line {number}" for number in range(300))
ALICE = {"name": "alice", "role": "help", "prompt": "Report, once."}
BOB = {"name": "bob", "role": "help", "prompt": "sleep"}


def play(asked: Asked) -> Say:
    """Do as one is told last; a teammate reports to the lead, which says so."""
    if member_of(asked) == "alice":
        return Say("The report of alice.")
    if asked.results:
        return Say(LONG if any("at length" in str(result) for result in asked.results) else "Done.")
    deeds = {
        "hire": [Use("Task", ALICE)],
        "ls": [Use("bash", {"command": "ls"})],
        "wait": [Use("bash", {"command": "until test -e go; do sleep 0.05; done; echo at length"})],
        "doze": [Use("Task", BOB), Use("bash", {"command": "sleep 60"})],
        "sleep": [Use("bash", {"command": "sleep 60"})],
        "odd": [Use("bash", {"command": f"printf '%s' '{ODD[:2000]}'"})],
        "fail": [Use("read_file", {"path": "nowhere.txt"})],
    }
    for word, calls in deeds.items():
        if hears(asked, word):
            return Say(ODD if word == "odd" else f"I {word}.", calls)
    answers = {"long": LONG, "report of alice": "Alice has reported.", "paragraphs": "one\n\ntwo\n\n\nthree\n"}
    return Say(next((text for word, text in answers.items() if hears(asked, word)), "Hello.\nI am here."))


@dataclass(frozen=True)
class ChatProgram:
    """Where a conversation is held: a folder to work in, and an environment with a home and a provider."""

    folder: Path
    env: dict[str, str]

    def own(self, folder: Path, **env: str) -> "ChatProgram":
        """Return a place at the same provider, with a folder and a home that nobody else has."""
        return ChatProgram(folder, {**self.env, "HOME": str(_home(folder)), **env})

    def piped(self, stdin: str | bytes, *args: str) -> Ended:
        """Converse through pipes."""
        words = stdin.encode() if isinstance(stdin, str) else stdin
        ran = run_deskmate(args, folder=self.folder, env=self.env, stdin=words, seconds=SECONDS)
        return Ended(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    def typed(self, line: str) -> Ended:
        """Carry out a command line, without the word `deskmate`, with nothing to read."""
        return self.piped("", *shlex.split(line))

    def in_shell(self, line: str) -> Ended:
        """Have a line run by a shell that knows the whole program as `deskmate`."""
        known = f'deskmate() {{ {shlex.join(DESKMATE)} "$@"; }}'
        shell = ["sh", "-c", f"{known}\n{line}"]
        ran = subprocess.run(
            shell, cwd=self.folder, env=self.env, input="", capture_output=True, text=True, timeout=SECONDS, check=False
        )
        return Ended(ran.returncode, ran.stdout, ran.stderr)

    def begun(self, *args: str) -> "subprocess.Popen[str]":
        """Begin a conversation through pipes that goes on meanwhile."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*DESKMATE, *args], cwd=self.folder, env=self.env, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    @property
    def teams(self) -> list[str]:
        """The teams that were founded."""
        return sorted(path.name for path in self.folder.glob(".teams/*") if path.is_dir())


@contextmanager
def chat_program(
    place: Path, script: Callable[[Asked], Say] = play, faults: Plan = MappingProxyType({})
) -> Iterator[ChatProgram]:
    """Have a place for conversations with models that play a script, of a user who has no sandbox."""
    folder, home = place / "work", _home(place)
    folder.mkdir()
    opened = FakeProvider(script, faults=faults)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened) as provider:
        keys: Mapping[str, str] = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": provider.url}
        yield ChatProgram(folder, environment(home, DESKMATE_MODEL="anthropic:claude-sonnet-4-5", **keys))


def _home(folder: Path) -> Path:
    """Make the home of a user whose commands are not confined, and so asked about."""
    settings = folder / "home/.config/deskmate/settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("sandbox = false\n")
    return folder / "home"
