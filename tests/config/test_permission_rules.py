"""Permission rules in the settings: who wins, what is refused and in which words."""

import re
from pathlib import Path

import pytest

from deskmate.config import Permission, load
from deskmate.core.policy.permissions import Effect, PermissionRule
from deskmate.errors import BadSettings

WRITTEN = """
[permission]
allow = ["bash(git diff *)", "write_file(src/**)"]
ask = ["bash(git push *)"]
deny = ["mcp__web__*", "bash"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / ".config/deskmate/settings.toml"
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


@pytest.mark.behaviour("permission")
def test_rules_stand_in_the_file_by_what_they_do(home: dict[str, str], file: Path) -> None:
    assert load(home).rules == ()
    file.write_text(WRITTEN)
    assert load(home).rules == (
        PermissionRule(Effect.ALLOW, "bash", "git diff *"),
        PermissionRule(Effect.ALLOW, "write_file", "src/**"),
        PermissionRule(Effect.ASK, "bash", "git push *"),
        PermissionRule(Effect.DENY, "mcp__web__*"),
        PermissionRule(Effect.DENY, "bash"),
    )


def test_rules_that_are_handed_on_take_the_place_of_the_files(home: dict[str, str], file: Path) -> None:
    file.write_text(WRITTEN)
    handed = {"permission": {"allow": [], "ask": [], "deny": ["bash(rm *)"]}}
    assert load(home, handed).permission == Permission(allow=[], ask=[], deny=["bash(rm *)"])


@pytest.mark.behaviour("permission")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("permission = 'bypass'", "'permission' in {file} must be a table with `allow`, `ask` or `deny`"),
        ("[permission]\nalow = []", "'permission.alow' in {file} is not a setting. Did you mean 'allow'?"),
        ("[permission]\ndeny = 'bash'", "'permission.deny' in {file} must be a list of rules, such as ["),
        ("[permission]\ndeny = ['bash', 3]", "Rule 2 of 'permission.deny' in {file} must be a string"),
        (
            "[permission]\ndeny = ['bash(']",
            "Rule 1 of 'permission.deny' in {file}: 'bash(' is not a rule. Write a tool, such as",
        ),
        (
            "[permission]\nask = ['bash()']",
            "Rule 1 of 'permission.ask' in {file}: 'bash()' is not a rule. Write a tool, such as",
        ),
        (
            "[permission]\nallow = ['bash', 'bsh(git diff *)']",
            "Rule 2 of 'permission.allow' in {file}: 'bsh' is not a tool. Did you mean 'bash'?",
        ),
        (
            "[permission]\ndeny = ['allow bash']",
            "Rule 1 of 'permission.deny' in {file}: 'allow bash' is not a rule. Write a tool, such as",
        ),
    ],
)
def test_a_rule_that_does_not_fit_is_refused_by_its_place(
    home: dict[str, str], file: Path, text: str, said: str
) -> None:
    file.write_text(text)
    with pytest.raises(BadSettings, match="^" + re.escape(said.format(file=file))):
        load(home)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("network = 'yes'", "'network' in {file} must be true, false, or a list of hosts, such as"),
        ("network = [1]", "'network' in {file} must be true, false, or a list of hosts, such as"),
        ("writable = ['~']", "'writable' in {file} must be a list of folders, such as"),
        ("hidden = ['here']", "'hidden' in {file} must be a list of folders or files, such as"),
        ("[permission]\nallow = [1]", "Rule 1 of 'permission.allow' in {file} must be a string"),
    ],
)
def test_what_a_list_cannot_hold_is_told_with_its_place(
    home: dict[str, str], file: Path, line: str, words: str
) -> None:
    file.write_text(line)
    with pytest.raises(BadSettings) as raised:
        load(home)
    assert str(raised.value).startswith(words.format(file=file))


@pytest.mark.behaviour("permission")
def test_rules_in_the_words_of_claude_code_count(home: dict[str, str], file: Path) -> None:
    file.write_text('[permission]\ndeny = ["Bash(git:*)", "Edit(src/**)", "Read(~/.ssh/**)"]')
    read = (
        PermissionRule(Effect.DENY, tool, f"{Path.home().resolve()}/.ssh/**") for tool in ("read_file", "grep", "glob")
    )
    edit = (PermissionRule(Effect.DENY, tool, "src/**") for tool in ("edit_file", "write_file"))
    assert load(home).rules == (PermissionRule(Effect.DENY, "bash", "git*"), *edit, *read)


def test_a_rule_for_a_tool_of_claude_code_that_there_is_not_is_refused(home: dict[str, str], file: Path) -> None:
    file.write_text('[permission]\ndeny = ["TodoWrite"]')
    with pytest.raises(BadSettings, match=r"Rule 1 of 'permission.deny' in .*: 'TodoWrite' is not a tool"):
        load(home)
