"""What a start imports before its first request, and what it leaves for later."""

import subprocess
import sys
from pathlib import Path

from deskmate.testing import Asked, Say, Use
from tests.faces.chat_program import chat_program

# Prints the modules at the first connection, then those at the end.
WATCHED = """
import sys

def watch(event, _):
    if event == "socket.connect" and not found:
        found.append(" ".join(sys.modules))

found = []
sys.addaudithook(watch)
from deskmate.faces.cli.main import main
main(["run", "look around"])
print(found[0], " ".join(sys.modules), sep="\\n", file=sys.stderr)
"""
# What only calls, answers, conversations, other wire formats, settings files, screens, trees of teammates or files of
# other tools need.
LATER = {
    "deskmate.core.commands.command_prompts",
    "deskmate.core.commands.command_files",
    "deskmate.hooks",
    "deskmate.trust.type_files",
    "yaml",
    "deskmate.tools.every_tool",
    "deskmate.tools.shell.bash",
    "deskmate.tools.files.file_tools",
    "deskmate.app.session",
    "deskmate.models.wires.openai",
    "deskmate.demo",
    "deskmate.faces.tui",
    "deskmate.launchers.process",
    "deskmate.runtime.merge_queue",
    "deskmate.runtime.radar.conflict_radar",
    "deskmate.workspace.checkpoints.git_checkpoints",
    "deskmate.workspace.trees.tree_places",
    "deskmate.models.http.server_trust",
    "genai_prices",
    "httpx2",
    "html",
    "tree_sitter",
    "textual",
}
ANSWERING = {
    "deskmate.tools.every_tool",
    "deskmate.tools.shell.bash",
    "deskmate.tools.files.file_tools",
    "genai_prices",
    # The price table imports it, to update itself if it is told to.
    "httpx2",
    # The end of a run looks for work to hand over.
    "deskmate.workspace.trees.tree_places",
}


def looks_once(asked: Asked) -> Say:
    return Say("All is well.") if asked.results else Say("", [Use("glob", {"pattern": "*"})])


def test_a_start_imports_only_what_its_first_request_needs_and_the_rest_while_it_is_answered(tmp_path: Path) -> None:
    with chat_program(tmp_path, looks_once) as place:
        command = [sys.executable, "-c", WATCHED]
        end = subprocess.run(
            command,
            cwd=place.folder,
            env=place.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (end.returncode, end.stdout) == (0, "All is well.\n")
    before, after = (set(line.split()) for line in end.stderr.splitlines()[-2:])
    assert before & LATER == set()
    assert after & LATER == ANSWERING


def test_the_plain_chat_imports_nothing_of_the_screen() -> None:
    words = (
        "import sys; from deskmate.faces.cli.plain import plain_chat, keyboard; "
        "from deskmate.faces.common.chat.completions import mention_completions as complete; "
        "complete('a', [], ['a.py']); print(*sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert set(ended.stdout.split()) & {"textual", "rich", "deskmate.faces.tui"} == set()


def test_importing_the_front_door_of_programs_imports_no_http_client_and_no_tool() -> None:
    words = "import sys; from deskmate import Team, tool; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert set(ended.stdout.split()) & {"httpx2", "genai_prices", "deskmate.tools.every_tool", "tree_sitter"} == set()
