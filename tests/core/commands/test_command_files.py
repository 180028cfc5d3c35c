"""Command files: what they say of themselves, and what hostile ones come to."""

import time

import pytest

from deskmate.core.commands.command_files import (
    DESCRIPTION_CAP,
    PROMPT_CAP,
    CustomCommand,
    command_name,
    read_command_file,
)
from deskmate.errors import BadInput
from tests.claude_folders import GIT_HELPERS, PROJECT_KIT, WORKFLOW_SUITE

pytestmark = pytest.mark.behaviour("commands")


def read(text: str, path: str = "do.md") -> CustomCommand:
    return read_command_file(text, path, f".claude/commands/{path}", of_project=True)


def test_a_file_without_front_matter_is_described_by_its_first_line() -> None:
    assert read("# Tidy up\n\nSweep.") == CustomCommand(
        "do", "# Tidy up\n\nSweep.", "Tidy up", file=".claude/commands/do.md", of_project=True
    )


def test_the_forms_that_people_use_are_read() -> None:
    commit = read((GIT_HELPERS / "commit.md").read_text(), "commit.md")
    assert (commit.description, commit.flaws) == (
        "Create a git commit",
        ("allowed-tools gives no permission: your rules and your mode decide",),
    )
    fix = read((GIT_HELPERS / "fix-issue.md").read_text(), "fix-issue.md")
    assert fix.usage == "/fix-issue [issue-number] [priority]"
    plan = read((PROJECT_KIT / "plan-release.md").read_text(), "plan-release.md")
    assert (plan.usage, plan.description) == (
        "/plan-release <version>",
        "Plan a release: read what changed, then propose a version.",
    )
    assert len(plan.flaws) == 2
    harness = read((WORKFLOW_SUITE / "testing/harness.md").read_text(), "testing/harness.md")
    assert (harness.name, harness.description) == ("testing:harness", "Test Harness")


@pytest.mark.parametrize(
    ("line", "may_run"),
    [
        ("", True),
        ("allowed-tools: Bash(git add:*), Read\n", True),
        ("allowed-tools:\n  - Read\n  - bash\n", True),
        ("allowed-tools: '*'\n", True),
        ("allowed-tools: Read, BashOutput\n", False),
        ("allowed-tools: []\n", False),
        ("allowed-tools:\n", False),
    ],
)
def test_a_list_of_tools_without_bash_lets_a_file_run_nothing(line: str, *, may_run: bool) -> None:
    assert read(f"---\n{line}description: x\n---\n!`ls`").may_run is may_run


@pytest.mark.parametrize(
    "path",
    [
        "../x.md",
        "a/../x.md",
        "a b.md",
        "-x.md",
        ".hidden.md",
        "x\x1b[31m.md",
        "a/b/c/d/e/f.md",
        f"{'x' * 65}.md",
        "e\u0301.md",
    ],
)
def test_a_name_that_could_not_be_typed_or_shown_is_refused(path: str) -> None:
    with pytest.raises(BadInput) as refused:
        command_name(path)
    assert str(refused.value).isprintable()


def test_names_may_be_in_any_script() -> None:
    assert command_name("前端/审查.md") == "前端:审查"


def test_a_file_with_nothing_to_say_or_too_much_is_refused() -> None:
    with pytest.raises(BadInput, match="no text"):
        read((PROJECT_KIT / "broken.md").read_text())
    with pytest.raises(BadInput, match="30,001 characters"):
        read("x" * (PROMPT_CAP + 1))


def test_front_matter_bombs_cost_little_and_show_little() -> None:
    bombs = [
        "---\n" + "a: &x [1]\n" * 10_000 + "---\nDo it.",
        "---\ndescription: " + "x" * 200_000 + "\nargument-hint: " + "y" * 40_000 + "\n---\nDo it.",
        "---\n" + "- " * 100_000 + "\n---\nDo it.",
        "---\n" * 50_000,
    ]
    began = time.process_time()
    for bomb in bombs:
        try:
            found = read(bomb)
        except BadInput:
            continue
        assert len(found.description) <= DESCRIPTION_CAP
        assert len(found.hint) <= 60
    assert time.process_time() - began < 5
