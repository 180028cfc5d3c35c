"""deskmate hooks, and deskmate hooks test."""

import json
from pathlib import Path

import pytest

from tests.faces.fake_app import Env, run_command

pytestmark = pytest.mark.behaviour("hooks")

GUARD = "jq -r .tool_input.file_path | grep -q env && { echo no keys >&2; exit 2; }; exit 0"
HOOKS = {
    "PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": GUARD}]}],
    "SubagentStart": [],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "work"
    (place / ".claude").mkdir(parents=True)
    (place / ".claude/settings.json").write_text(json.dumps({"hooks": HOOKS}))
    return place


def own(env: Env, text: str) -> Path:
    file = Path(str(env["HOME"])) / ".config/deskmate/settings.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.behaviour("trust")
def test_hooks_of_a_folder_are_in_force_once_they_are_trusted_until_the_file_changes(folder: Path, env: Env) -> None:
    own(env, "sandbox = false\n")
    lines = run_command("-C", str(folder), "hooks", env=env).stdout.splitlines()
    assert lines[0].startswith(".claude/settings.json: not used: you have not trusted it (new).")
    assert lines[1].split()[:2] == ["PreToolUse", "Write"]
    assert lines[2].startswith("  not supported: event SubagentStart is not supported")
    assert run_command("-C", str(folder), "trust", "--yes", env=env).code == 0
    assert run_command("-C", str(folder), "hooks", env=env).stdout.startswith(".claude/settings.json: in force\n")
    with (folder / ".claude/settings.json").open("a") as file:
        file.write("\n")
    assert "not trusted it (changed)" in run_command("-C", str(folder), "hooks", env=env).stdout


def test_hooks_of_claude_code_run_only_if_the_settings_say_so(folder: Path, env: Env) -> None:
    claude = Path(str(env["HOME"])) / ".claude/settings.json"
    claude.parent.mkdir(parents=True)
    claude.write_text(json.dumps({"hooks": HOOKS}))
    shown = run_command("-C", str(folder), "hooks", env=env).stdout
    assert f"{claude}: not used: to use them, set claude_hooks = true in" in shown
    own(env, "claude_hooks = true\n")
    assert f"{claude}: in force" in run_command("-C", str(folder), "hooks", env=env).stdout


def test_a_trial_shows_what_the_hooks_answer_and_what_would_happen(folder: Path, env: Env) -> None:
    quoted = json.dumps(GUARD)
    own(env, f'[[hooks.PreToolUse]]\nmatcher = "Write"\nhooks = [{{type = "command", command = {quoted}}}]\n')
    words = ("-C", str(folder), "hooks", "test", "PreToolUse", "--tool", "Write", "--input")
    refused = run_command(*words, '{"file_path": ".env"}', env=env)
    assert (refused.code, refused.stdout.splitlines()[-1]) == (1, "decision: deny, because: no keys")
    passed = run_command(*words, '{"file_path": "a.py"}', env=env)
    assert (passed.code, passed.stdout.splitlines()[-1]) == (0, "These hooks change nothing.")
    assert not (folder / ".teams").exists()


@pytest.mark.parametrize("words", [("Stopp",), ("Stop", "--input", "[]"), ("Stop", "--input", "{")])
def test_a_trial_that_cannot_be_made_says_what_is_expected(words: tuple[str, ...], env: Env) -> None:
    ended = run_command("hooks", "test", *words, env=env)
    assert (ended.code, bool(ended.stderr)) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hooks = 1", "must be tables of hooks by event"),
        ("[[hooks.Stopp]]", "did you mean Stop?"),
        ('[[hooks.Stop]]\nhooks = [{type = "x"}]', "hooks of type 'x' are not supported"),
    ],
)
def test_a_mistake_in_the_settings_is_an_error_because_a_guard_must_not_fail_silently(
    text: str, said: str, env: Env
) -> None:
    file = own(env, text)
    ended = run_command("hooks", env=env)
    assert ended.code == 2
    assert f"'hooks' in {file}" in ended.stderr
    assert said in ended.stderr
