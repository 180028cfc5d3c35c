"""Completion: by the protocol that shells speak, and in a real one. Nothing but offers is ever printed."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class

from deskmate.core.team.task_fields import NewTask
from deskmate.faces.cli.root_commands import deskmate
from deskmate.faces.cli.shell_completion import SHELLS
from tests.faces.disk_teams import SECRET, OpenTeam, founded, in_team, obeyed, spoil, worked
from tests.faces.fake_app import Ended, Env, environment, run_command
from tests.warm_program import run_deskmate

COMMANDS_OF_BOARD = ["add", "assign", "done", "drop"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two teams. In the one last written to, a member has left and a task is done."""

    async def go_on(opened: OpenTeam) -> None:
        await opened.roster.leave("bob", "done", heard=0)
        await opened.board.complete("alice", 1, 1)

    folder = tmp_path_factory.mktemp("workspace")
    founded(folder, "api", "carol")
    in_team(folder, lambda opened: opened.board.create("lead", NewTask("name the fields")), "api")
    worked(folder)
    in_team(folder, go_on)
    return folder


def completed(folder: Path, *words: str, shell: str = "bash") -> Ended:
    """Ask for completions of the last word, as the script of a shell does."""
    asked = {"COMP_WORDS": "\n".join(["deskmate", *words]), "COMP_CWORD": str(len(words))}
    env = environment(folder.parent, _DESKMATE_COMPLETE=f"{shell}_complete", **asked)
    done = run_deskmate([], folder=folder, env=env)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def offers(*words: str) -> Ended:
    return Ended(0, "\n".join(f"plain,{word}" for word in words) + "\n", "")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("bo", ["board"]),
        ("tail --f", ["--follow"]),
        ("run --output ", ["text", "json", "stream-json"]),
        ("resume ", ["api", "main"]),
        ("cost a", ["api"]),
        ("doctor m", ["main"]),
        ("tail alice ", ["api", "main"]),
        ("stop --team ", ["api", "main"]),
        ("run --team ", ["api", "main"]),
        ("run --new-team ", []),
        ("board ", [*COMMANDS_OF_BOARD, "api", "main"]),
        ("board a", ["add", "assign", "api"]),
        ("board --j", ["--json"]),
        ("board --json ", ["api", "main"]),
        ("board main --j", ["--json"]),
        ("tail ", ["lead", "alice", "bob"]),
        ("inbox ", ["lead", "alice", "bob", "user"]),
        ("send ", ["lead", "alice"]),
        ("send al", ["alice"]),
        ("send alice ", []),
        ("stop ", ["alice"]),
        ("stop --team api ", ["carol"]),
        ("board assign 2 ", ["lead", "alice"]),
        ("board add words --owner ", ["lead", "alice"]),
        ("board assign ", ["2", "3"]),
        ("board done ", ["2", "3"]),
        ("board done --team api ", ["1"]),
        ("board drop ", ["1", "2", "3"]),
        ("board add words --blocked-by 2 --blocked-by 3", ["3"]),
    ],
)
def test_what_can_stand_there_is_offered(workspace: Path, line: str, offered: list[str]) -> None:
    assert completed(workspace, *line.split(" ")) == offers(*offered)


def test_the_folder_that_was_named_is_read(workspace: Path, tmp_path: Path) -> None:
    assert completed(tmp_path, "-C", str(workspace), "stop", "") == offers("alice")
    assert completed(workspace, "-C", f"~/{workspace.name}", "stop", "") == offers("alice")
    assert completed(workspace, "-C", str(tmp_path), "stop", "") == offers()


def replace_by_a_file(folder: Path) -> None:
    shutil.rmtree(folder / ".teams")
    (folder / ".teams").write_text("no folder")


@pytest.mark.parametrize("line", ["stop ", "board done ", "resume ", "stop --team gone "])
@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: shutil.rmtree(folder / ".teams"),
        replace_by_a_file,
        lambda folder: [file.write_bytes(b"\xff\x00\n") for file in folder.glob(".t*/*/*.jsonl")],
    ],
    ids=["no teams", "no folder", "no records"],
)
def test_nothing_is_offered_and_nothing_told_where_it_cannot_be_read(
    tmp_path: Path, harm: Callable[[Path], object], line: str
) -> None:
    founded(tmp_path, "main", "alice")
    harm(tmp_path)
    # The team that cannot be read is still there by its name.
    named = ["main"] if line == "resume " and (tmp_path / ".teams/main").exists() else []
    assert completed(tmp_path, *line.split(" ")) == offers(*named)


def test_a_folder_that_is_not_there_offers_nothing_and_a_command_that_is_not_there_no_error(workspace: Path) -> None:
    assert completed(workspace, "-C", "gone", "stop", "") == offers()
    assert completed(workspace, "bord", "d").stderr == ""


def test_what_can_be_read_of_a_damaged_team_is_offered(tmp_path: Path) -> None:
    worked(tmp_path)
    spoil(tmp_path / ".tasks/main/board.jsonl", 2)
    assert completed(tmp_path, "board", "drop", "") == offers("1", "2")


def test_what_a_task_is_about_is_told_on_one_line_that_no_terminal_obeys(tmp_path: Path) -> None:
    founded(tmp_path)
    in_team(tmp_path, lambda opened: opened.board.create("lead", NewTask(f"{SECRET}: one\ntwo")))
    end = completed(tmp_path, "board", "done", "", shell="zsh")
    assert end == Ended(0, "plain\n1\nred bell: one two\n", "")
    assert obeyed(end.stdout) == []


# -- the script -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_that_of_the_shell_that_is_named_or_is_in_use(shell: str, env: Env) -> None:
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(deskmate, {}, "deskmate", "_DESKMATE_COMPLETE").source()
    assert run_command("completion", shell, env={**env, "SHELL": "/bin/other"}) == Ended(
        0, script.rstrip("\n") + "\n", ""
    )
    assert run_command("completion", env={**env, "SHELL": f"/usr/bin/{shell}"}) == run_command(
        "completion", shell, env=env
    )


@pytest.mark.parametrize("shell", ["/bin/tcsh", "", None])
def test_a_shell_that_is_not_known_is_asked_for(shell: str | None, env: Env) -> None:
    end = run_command("completion", env={**env, "SHELL": shell})
    assert (end.code, end.stdout) == (2, "")
    assert end.stderr.endswith("Error: Your shell is not known. Name one of bash, zsh, fish.\n")


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes_once_the_line_of_the_help_was_typed(workspace: Path, tmp_path: Path, env: Env) -> None:
    program = tmp_path / "bin/deskmate"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deskmate "$@"\n')
    program.chmod(0o700)
    (line,) = (line for line in run_command("completion", "--help", env=env).stdout.splitlines() if ".bashrc" in line)
    asks = """
    source ~/.bashrc
    complete -p deskmate
    COMP_WORDS=(deskmate board done --team main "") COMP_CWORD=5
    _deskmate_completion deskmate
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{line.split(maxsplit=1)[1]}\n{asks}"],
        cwd=workspace,
        env=environment(tmp_path) | {"PATH": f"{program.parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = "complete -o nosort -F _deskmate_completion deskmate\n2\n3\n"
    assert Ended(done.returncode, done.stdout, done.stderr) == Ended(0, said, "")
