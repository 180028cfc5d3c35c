"""The options of an unattended run: what each changes for the agents, and what the result says."""

import json
from pathlib import Path

import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import step, write_file
from tests.faces.chat_program import ChatProgram, chat_program


def tries(asked: Asked) -> Say:
    """Write a file and run a command, and repeat how each ended."""
    if step(asked) == 0:
        return Say("I try.", [write_file("out.txt", "x"), Use("bash", {"command": "touch made"})])
    ends = ", ".join("ok" if result.ok else "denied" for result in asked.results)
    return Say(f"{ends}; {'BE BRIEF' in asked.system}")


def answered(place: ChatProgram, *options: str) -> str:
    return place.piped("", "run", "go", *options).stdout.strip()


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ((), "denied, denied; False"),
        (("--allow", "write_file"), "ok, denied; False"),
        (("--allow", "write_file", "--allow", "bash(touch *)"), "ok, ok; False"),
        (("--permission-mode", "bypass", "--deny", "bash(touch *)"), "ok, denied; False"),
        (("--append-system-prompt", "BE BRIEF"), "denied, denied; True"),
    ],
)
def test_rules_and_instructions_of_the_command_line_apply_to_this_run(
    options: tuple[str, ...], answer: str, tmp_path: Path
) -> None:
    with chat_program(tmp_path, tries) as place:
        assert answered(place, "--no-sandbox", *options) == answer


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--allow", "bash("), "--allow"),
        (("--deny", "nonsense tool"), "--deny"),
        (("--network", "https://example.org/"), "--network: 'https://example.org/' is not a host"),
        (("--network", "*.1.2.3.4", "--no-sandbox"), "--network"),
        (("--add-dir", "folder"), "--add-dir"),
        (("--until", "true", "--until-judge", "x"), "--until"),
        (("--resume", "--new-team", "x"), "--resume"),
    ],
)
def test_an_option_that_cannot_be_is_named_and_nothing_is_started(
    options: tuple[str, ...], named: str, tmp_path: Path
) -> None:
    with chat_program(tmp_path, tries) as place:
        ended = place.piped("", "run", "go", *options)
        assert ended.code == 2
        assert named in ended.stderr
        assert place.teams == []


def test_the_environment_sets_the_mode_and_the_limit_and_an_option_overrides_it(tmp_path: Path) -> None:
    with chat_program(tmp_path, tries) as place:
        own = place.own(place.folder / "a", DESKMATE_PERMISSION_MODE="bypass", DESKMATE_MAX_COST="3.5")
        assert answered(own, "--no-sandbox") == "ok, ok; False"
        assert answered(own, "--no-sandbox", "--permission-mode", "default") == "denied, denied; False"
        bad = place.own(place.folder / "b", DESKMATE_MAX_COST="much").piped("", "run", "go")
    assert bad.code == 2
    assert "DESKMATE_MAX_COST" in bad.stderr


def test_a_quiet_run_prints_the_answer_and_no_progress(tmp_path: Path) -> None:
    with chat_program(tmp_path, lambda asked: Say("Hello.")) as place:
        ended = place.piped("", "run", "go", "-q", "--no-sandbox")
    assert (ended.code, ended.stdout) == (0, "Hello.\n")
    assert "lead@" not in ended.stderr
    assert "tokens" not in ended.stderr


def test_run_resume_goes_on_with_the_team_used_last(tmp_path: Path) -> None:
    with chat_program(tmp_path, lambda asked: Say(f"Step {step(asked)}.")) as place:
        place.piped("", "run", "go")
        assert place.piped("", "run", "and on", "--resume").stdout == "Step 1.\n"
        assert place.teams == ["main"]


def test_the_result_names_members_files_and_the_exit_code(tmp_path: Path) -> None:
    with chat_program(tmp_path, tries) as place:
        ended = place.piped("", "run", "go", "--output", "json", "--no-sandbox", "--allow", "write_file")
    found = json.loads(ended.stdout)
    assert found["members"] == [{"name": "lead", "role": "lead", "status": "idle"}]
    assert (found["files"], found["exit_code"], found["goal"]) == (["out.txt"], ended.code, None)
