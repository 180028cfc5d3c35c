"""What a folder tells agents to do: asked about at a terminal, left out and told without one, trusted by a command."""

import os
import select
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from deskmate.app import state_folder
from deskmate.trust.approvals import Trust
from tests.faces import HEAD, Env, ScriptedApp, typed
from tests.faces.conversations import Place, held
from tests.faces.screens import Terminal, at_terminal
from tests.faces.teams import obeyed
from tests.hostile import forged

pytestmark = pytest.mark.behaviour("trust")

NOTES = "Speak softly.\n\x1b[2Jhidden \u202e\n"
ASKS = "q: leave >"
SCREEN = "\x1b[?1049h"
UNUSED = (
    "not used, as you have not trusted it: AGENTS.md; look and decide with: deskmate trust, or add --trust; "
    "a team keeps the notes it was begun with"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "work"
    place.mkdir()
    (place / "AGENTS.md").write_text(NOTES)
    return place


def approved(home: str) -> dict[str, dict[str, str]]:
    return Trust(state_folder({"HOME": home})).all()


# -- without a terminal -----------------------------------------------------------------------------


@pytest.mark.parametrize("deed", ["run", "resume"])
def test_unattended_nothing_is_used_and_a_line_says_what_and_how(folder: Path, env: Env, deed: str) -> None:
    app = ScriptedApp()
    ended = typed("-C", str(folder), deed, "x", app=app, env=env)
    assert ended.code == 0
    assert ended.stderr.splitlines()[0] == f"deskmate: {UNUSED}"
    assert [wanted.consent.definitions for _, wanted in app.wanted] == [()]


def test_a_flag_trusts_what_is_there_in_this_run_alone(folder: Path, env: Env) -> None:
    for flags, expected in ((["--trust"], [NOTES]), ([], [])):
        app = ScriptedApp()
        ended = typed("-C", str(folder), "run", "x", *flags, app=app, env=env)
        assert [one.text for _, wanted in app.wanted for one in wanted.consent.definitions] == expected
        told = "trusted in this run: AGENTS.md" if flags else f"deskmate: {UNUSED}"
        assert ended.stderr.splitlines()[:2] == [told, HEAD.rstrip()]
    assert approved(str(env["HOME"])) == {}


def test_what_was_trusted_is_used_without_a_word_and_a_changed_byte_is_not(folder: Path, env: Env) -> None:
    assert typed("-C", str(folder), "trust", "--yes", env=env).code == 0
    app = ScriptedApp()
    assert typed("-C", str(folder), "run", "x", app=app, env=env).stderr.startswith(HEAD)
    (folder / "AGENTS.md").write_text(NOTES.replace("softly", "Softly"))
    ended = typed("-C", str(folder), "run", "x", app=app, env=env)
    assert "not used, as you have not trusted it: AGENTS.md (changed);" in ended.stderr
    assert [len(wanted.consent.definitions) for _, wanted in app.wanted] == [1, 0]


def test_settings_of_a_project_narrow_a_run_and_are_refused_for_all_else(folder: Path, env: Env) -> None:
    (folder / ".deskmate").mkdir()
    (folder / ".deskmate/settings.toml").write_text('permission_mode = "plan"\nmax_steps = 3\n')
    app = ScriptedApp()
    ended = typed("-C", str(folder), "run", "x", "--trust", "--permission-mode", "bypass", app=app, env=env)
    assert "permission mode plan" in ended.stderr
    assert [wanted.settings.max_steps for _, wanted in app.wanted] == [3]
    (folder / ".deskmate/settings.toml").write_text('[openai]\nbase_url = "http://evil"\n')
    ended = typed("-C", str(folder), "run", "x", "--trust", app=app, env=env)
    assert (ended.code, len(app.wanted)) == (2, 1)
    assert "'openai' in .deskmate/settings.toml is not for a project to say" in ended.stderr


# -- at a terminal ----------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with held(tmp_path.resolve()) as found:
        (found.folder / "AGENTS.md").write_text(NOTES)
        yield found


def test_at_a_terminal_all_is_shown_and_what_is_trusted_is_not_asked_about_again(place: Place) -> None:
    with at_terminal("--plain", cwd=place.folder, env=place.env) as terminal:
        terminal.see(ASKS)
        assert [line for line in terminal.screen.lines if line.startswith(("AGENTS", "  |"))] == [
            "AGENTS.md, new, 2 lines",
            "  | Speak softly.",
            "  | \\x1b[2Jhidden \\u202e",
        ]
        terminal.type("nonsense\n")
        terminal.until(lambda: sum(ASKS in line for line in terminal.screen.lines) == 2)
        terminal.type("t\n")
        terminal.see("permission mode default")
        leave(terminal)
    assert list(approved(place.env["HOME"])) == [str(place.folder)]
    with at_terminal("--plain", cwd=place.folder, env=place.env) as terminal:
        terminal.see("permission mode default")
        assert not any(ASKS in line for line in terminal.screen.lines)
        leave(terminal)


def test_the_screen_comes_after_the_question_and_enter_goes_on_without(place: Place) -> None:
    with at_terminal(cwd=place.folder, env=place.env) as terminal:
        terminal.see(ASKS)
        assert SCREEN not in terminal.raw
        terminal.type("\n")
        shown = ""
        while SCREEN not in shown:
            assert select.select([terminal.near], [], [], 30)[0]
            shown += os.read(terminal.near, 65536).decode(errors="replace")
    assert approved(place.env["HOME"]) == {}


@pytest.mark.parametrize(("keys", "code"), [("q\n", 0), ("\x03", 130)])
def test_who_leaves_begins_nothing(place: Place, keys: str, code: int) -> None:
    with at_terminal("--plain", cwd=place.folder, env=place.env) as terminal:
        terminal.see(ASKS)
        terminal.type(keys)
        assert terminal.end() == code
    assert (place.teams, approved(place.env["HOME"])) == ([], {})


def test_what_was_typed_before_the_question_is_no_answer(place: Place) -> None:
    with at_terminal("--plain", cwd=place.folder, env=place.env) as terminal:
        terminal.type("t\n")
        terminal.see(ASKS)
        terminal.type("q\n")
        assert terminal.end() == 0
    assert approved(place.env["HOME"]) == {}


def test_a_long_file_is_folded_and_all_of_it_can_be_seen(place: Place) -> None:
    (place.folder / "AGENTS.md").write_text("".join(f"line {number}\n" for number in range(60)) + "x" * 1000)
    with at_terminal("--plain", cwd=place.folder, env=place.env) as terminal:
        terminal.see(ASKS)
        assert "  … 49 more" in terminal.screen.lines
        terminal.type("s\n")
        for _ in range(2):
            terminal.until(lambda: terminal.screen.cursor[0].endswith("q: enough >"))
            terminal.type("\n")
        terminal.until(lambda: sum(ASKS in line for line in terminal.screen.lines) == 2)
        shown = "\n".join(terminal.screen.lines)
        assert [f"  | line {number}\n" in shown for number in range(60)] == [True] * 60
        assert shown.count("x") >= 1000


def leave(terminal: Terminal) -> None:
    terminal.say("/quit")
    assert terminal.end() == 0


# -- the command ------------------------------------------------------------------------------------


def test_the_command_shows_trusts_lists_and_takes_back(folder: Path, env: Env) -> None:
    shown = typed("-C", str(folder), "trust", env=env)
    assert (shown.code, shown.stdout.splitlines()[0]) == (2, "AGENTS.md, new, 2 lines")
    assert "nothing was trusted, as there is no terminal to ask at" in shown.stderr
    assert obeyed(shown.stdout) == []
    assert typed("trust", str(folder), "--yes", env=env).stdout.endswith(f"trusted: {folder}, with AGENTS.md\n")
    assert typed("trust", str(folder), env=env).stdout == f"trusted as it is: {folder}, with AGENTS.md\n"
    digest = approved(str(env["HOME"]))[str(folder)]["AGENTS.md"]
    assert typed("trust", "--list", env=env).stdout == f"{folder}\n  {digest[:16]}  AGENTS.md\n"
    assert typed("trust", "--revoke", str(folder), env=env).stdout == f"{folder} is not trusted any more\n"
    assert typed("trust", "--revoke", str(folder), env=env).stdout == f"{folder} was not trusted\n"
    assert typed("trust", "--list", env=env).stderr == "nothing is trusted\n"


@pytest.mark.parametrize(("answer", "code"), [("t", 0), ("", 1)])
def test_the_command_asks_at_a_terminal(place: Place, answer: str, code: int) -> None:
    with at_terminal("trust", cwd=place.folder, env=place.env) as terminal:
        terminal.see(ASKS)
        terminal.type(f"{answer}\n")
        assert terminal.end() == code
    assert bool(approved(place.env["HOME"])) == (code == 0)


def test_a_folder_that_says_nothing_can_be_trusted_too(tmp_path: Path, env: Env) -> None:
    (tmp_path / "bare").mkdir()
    ended = typed("trust", str(tmp_path / "bare"), env=env)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.endswith("/bare, with nothing in it that tells agents what to do\n")


def test_a_team_of_others_is_shown_and_taken_for_ones_own_on_a_word(folder: Path, env: Env) -> None:
    anyio.run(forged, folder)
    refused = typed("-C", str(folder), "send", "lead", "hi", env=env)
    assert (refused.code, refused.stdout) == (2, "")
    assert "go on with it by: deskmate trust --team main" in refused.stderr
    asked = typed("-C", str(folder), "trust", "--team", "main", env=env)
    assert asked.code == 2
    assert asked.stdout.splitlines()[1:4] == [
        "  members: lead, alice",
        "  permission mode: bypass",
        "  rule: allow bash",
    ]
    assert typed("-C", str(folder), "send", "lead", "hi", env=env).code == 2
    assert typed("-C", str(folder), "trust", "--team", "main", "--yes", env=env).code == 0
    assert typed("-C", str(folder), "send", "lead", "hi", env=env).code == 0
    assert typed("-C", str(folder), "trust", "--team", "main", env=env).stdout == "team main is yours already\n"
    taken_back = [typed("-C", str(folder), "trust", "--team", "main", "--revoke", env=env).stdout for _ in range(2)]
    assert taken_back == ["team main is not yours any more\n", "team main was not yours\n"]
    assert typed("-C", str(folder), "send", "lead", "hi", env=env).code == 2


@pytest.mark.parametrize("look", [("board",), ("tail", "lead"), ("inbox", "lead"), ("cost",), ("teams",)])
def test_a_team_of_others_can_be_looked_at(folder: Path, env: Env, look: tuple[str, ...]) -> None:
    anyio.run(forged, folder)
    assert typed("-C", str(folder), *look, env=env).code == 0


def test_the_doctor_tells_what_is_not_used(folder: Path, env: Env) -> None:
    anyio.run(forged, folder)
    lines = typed("-C", str(folder), "doctor", env=env).stdout.splitlines()
    lines = [line for line in lines if line.split()[1] == "trust"]
    assert [line.split()[0] for line in lines] == ["warn", "warn"]
    assert "AGENTS.md; look and decide with: deskmate trust" in lines[0]
    assert "team main was not begun by you here" in lines[1]


@pytest.mark.parametrize(
    "args",
    [
        ["--list", "--revoke"],
        ["--list", "--team", "main"],
        ["--revoke", "--yes"],
        ["nowhere"],
        ["--team", "none"],
        ["--team", "none", "--revoke"],
    ],
)
def test_wrong_arguments_are_a_sentence_and_exit_code_2(folder: Path, env: Env, args: list[str]) -> None:
    anyio.run(forged, folder)
    ended = typed("-C", str(folder), "trust", *args, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert "Traceback" not in ended.stderr
