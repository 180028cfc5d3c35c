"""Every message on the page about problems is one that the program prints."""

import os
import re
import shutil
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from deskmate import JsonlStore
from deskmate.testing import Asked, Say, Use
from deskmate.testing.provider_faults import ErrorStatus
from tests.faces.chat_program import ChatProgram, chat_program
from tests.test_docs import page, snippets

# These need another machine or 15 seconds. Other tests check their words.
ELSEWHERE = (
    "deskmate: stopped: Cannot connect to",
    "deskmate: stopped: The certificate of",
    "deskmate: Mode dontAsk runs commands without asking",
    "deskmate: Cannot use …: Read-only file system",
    "deskmate: Cannot use …: No space left on device",
    "Install the package bubblewrap.",
    "Fix that, then try again.",
)
FAULTS = {
    "401": ErrorStatus(401, message="invalid x-api-key"),
    "404": ErrorStatus(404, message="model: nope"),
    "413": ErrorStatus(413, message="request too large"),
}


def messages(text: str) -> list[str]:
    """Return each line that the page shows as printed."""
    blocks = [snippet.text for snippet in snippets(text) if snippet.language == "text"]
    return [line for block in blocks for line in block.splitlines()]


def is_printed(message: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in message.split("…"))
    return re.search(f"^{pattern}$", printed, re.MULTILINE) is not None


def answers(asked: Asked) -> Say:
    """Edit a file if asked to edit; otherwise answer at once."""
    if any("edit" in text for text in asked.texts) and not asked.results:
        return Say("I edit.", [Use("write_file", {"path": "b.txt", "content": "x"})])
    return Say("Done.")


class Provider:
    """A plan of faults: the folder named in a goal chooses what goes wrong."""

    def __init__(self) -> None:
        self.busy = 1

    def __call__(self, number: int, asked: Asked) -> ErrorStatus | None:
        for word, fault in FAULTS.items():
            if any(f"fail with {word}" in text for text in asked.texts):
                return fault
        if self.busy and any("be busy" in text for text in asked.texts):
            self.busy -= 1
            return ErrorStatus(429, retry_after=1, message="rate limited")
        return None


@dataclass
class User:
    """Types commands in one folder and keeps what was printed."""

    place: ChatProgram
    printed: str = ""

    def types(self, *words: str, stdin: str = "", **env: str) -> None:
        end = ChatProgram(self.place.folder, {**self.place.env, **env}).piped(stdin, *words)
        self.printed += end.stdout + end.stderr

    def asks_models(self) -> None:
        # The message names the program as the shell finds it.
        path = f"{Path(sys.executable).parent}:{self.place.env.get('PATH', '')}"
        self.types("run", "hi", ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="", DESKMATE_MODEL="", PATH=path)
        for fault in FAULTS:
            self.types("run", f"fail with {fault}")
        self.types("run", "hi", "--model", "foo:bar")
        self.types("run", "hi", "--model", "groq:qwen3")
        self.types("run", "hi", "--model", "openai:mine", "--max-cost", "1", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
        self.types("run", "be busy", "--max-cost", "0.001")

    def stops(self) -> None:
        self.types("run", "edit", "--team", "main", "--max-cost", "0.001")
        self.types("run", "edit", "--team", "main", "--max-steps", "1")
        self.types("run", "edit", "--team", "main")
        self.types("--team", "main", "--plain", stdin="edit\n")
        self.types("answer", "nope:1", "yes", "--team", "main")

    def starts(self) -> None:
        self.types("run", "hi", "--team", "mian")
        self.types("run", "hi", "--new-team", "main")
        (self.place.folder / "AGENTS.md").write_text("Be brief.\n")
        anyio.run(self._starts_while_held)
        settings = Path(self.place.env["HOME"]) / ".config/deskmate/settings.toml"
        before = settings.read_text()
        settings.write_text('modle = "x"\n')
        self.types("run", "hi")
        settings.write_text(before)
        copied = self.place.folder / "copied"
        for name in (".teams", ".tasks"):
            shutil.copytree(self.place.folder / name, copied / name)
        self.types("-C", "copied", "resume", "main", "hi")

    async def _starts_while_held(self) -> None:
        with closing(JsonlStore.open(self.place.folder, "main")) as store:
            async with store.hold("lead", f"process {os.getpid()}"):
                await anyio.to_thread.run_sync(lambda: self.types("resume", "main", "hi"))

    def loses_records(self) -> None:
        self.types("board", "add", "One", "--team", "main")
        self.types("board", "add", "Two", "--team", "main")
        self.types("run", "hi", "--team", "main")
        board = self.place.folder / ".tasks/main/board.jsonl"
        board.write_bytes(board.read_bytes().replace(b"One", b"Uno"))
        self.types("board", "main")
        transcript = self.place.folder / ".teams/main/lead_transcript.jsonl"
        with transcript.open("r+b") as file:
            file.truncate(len(b"".join(file.readlines()[:3])))
        self.types("resume", "main", "hi")


def test_every_message_on_the_page_is_printed(tmp_path: Path) -> None:
    with chat_program(tmp_path, answers, Provider()) as place:
        user = User(ChatProgram(place.folder, {**place.env, "DESKMATE_MODEL": "anthropic:claude-sonnet-5-5"}))
        user.asks_models()
        user.stops()
        user.starts()
        user.loses_records()
    printed = re.sub(r"before record \d+", "before record 4", user.printed)
    printed = re.sub(r"questions: lead:\d+\.0", "questions: lead:3.0", printed)
    shown = [line for line in messages(page("how-to/troubleshooting.md")) if not line.startswith(ELSEWHERE)]
    assert shown
    assert [line for line in shown if not is_printed(line, printed)] == []


@pytest.mark.parametrize("line", ["deskmate: gone", "deskmate: … is gone", "a (b)"])
def test_a_planted_message_that_is_not_printed_is_found(line: str) -> None:
    assert not is_printed(line, "deskmate: here\ndeskmate: gone away\nb (a) b\n")
    assert is_printed(line, "x\n" + line.replace("…", "all of it") + "\ny\n")
