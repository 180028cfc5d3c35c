"""Rules in the words of Claude Code: each is understood, or refused with how to write it; none is taken and ignored."""

import re

import pytest

from deskmate.core.policy.claude_rules import translate
from deskmate.core.policy.patterns import allows, path_matches
from deskmate.core.policy.permissions import Effect, PermissionRule, known_rule
from deskmate.errors import BadInput


def patterns(text: str, tool: str) -> list[str]:
    rules = [PermissionRule.parse(Effect.DENY, one) for one in translate(text)]
    return [rule.pattern or "**" for rule in rules if rule.tool == tool]


@pytest.mark.parametrize(
    ("text", "fits", "others"),
    [
        ("Bash(git:*)", ["git", "git status", "git diff --stat"], ["gitk", "got"]),
        ("bash(git:*)", ["git", "git status"], ["gitk"]),
        ("Bash(git *)", ["git", "git status"], ["gitk"]),
        (
            "Bash(npm run test:*)",
            ["npm run test", "npm run test --watch", "npm run test:unit"],
            ["npm run tests", "npm"],
        ),
        ("Bash(npm run build)", ["npm run build"], ["npm run build --x"]),
        ("Bash(git commit -m *)", ["git commit -m wip"], ["git commit --amend"]),
        ("Bash(* --version)", ["node --version"], ["node --help"]),
        ("Bash(git * main)", ["git push main", "git checkout main"], ["git push dev"]),
        ("bash(git diff *)", ["git diff --stat"], ["git log"]),
    ],
)
def test_commands_fit_as_they_do_there(text: str, fits: list[str], others: list[str]) -> None:
    (pattern,) = patterns(text, "bash")
    assert [command for command in (*fits, *others) if allows(pattern, command)] == fits


@pytest.mark.parametrize(
    ("text", "fits", "others"),
    [
        ("Read(.env)", [".env", "api/.env"], ["x.env"]),
        ("Read(./.env)", [".env"], ["api/.env"]),
        ("Read(./secrets/**)", ["secrets/key", "secrets/a/b"], ["src/secrets/key"]),
        ("Read(secrets/)", ["secrets/key", "api/secrets/key"], ["secret"]),
        ("Edit(src/**)", ["src/a.py", "src/x/a.py"], ["lib/a.py"]),
        ("Edit(/src/**/*.ts)", ["src/a.ts", "src/x/a.ts"], ["src/a.py"]),
        ("Edit(*.ts)", ["a.ts", "src/a.ts"], ["a.tsx"]),
        ("Read(//etc/**)", ["/etc/passwd"], ["etc/passwd"]),
        ("Read(~/.ssh/**)", ["~/.ssh/id"], [".ssh/id"]),
        ("Write(docs/**)", ["docs/a.md"], ["a.md"]),
        ("Read", ["anything/at/all"], []),
        ("Edit(**)", ["anything"], []),
    ],
)
def test_paths_fit_as_they_do_there(text: str, fits: list[str], others: list[str]) -> None:
    tools = ("read_file", "grep", "glob") if text.startswith("Read") else ("edit_file", "write_file")
    assert {PermissionRule.parse(Effect.DENY, one).tool for one in translate(text)} == set(tools)
    for tool in tools:
        found = patterns(text, tool)
        assert [path for path in (*fits, *others) if any(path_matches(one, path) for one in found)] == fits


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Bash", "bash"),
        ("Bash(*)", "bash"),
        ("Grep", "grep"),
        ("Glob(src/**)", "glob(src/**)"),
        ("Task", "Task"),
        ("Agent(Explore)", "Task(Explore)"),
        ("BashOutput", "TaskOutput"),
        ("KillShell", "TaskStop"),
        ("ExitPlanMode", "ExitPlanMode"),
        ("mcp__puppeteer", "mcp__puppeteer"),
        ("mcp__puppeteer__*", "mcp__puppeteer__*"),
        ("write_file(src/**)", "write_file(src/**)"),
    ],
)
def test_other_tools_have_the_names_that_they_have_here(text: str, meant: str) -> None:
    assert translate(text) == (meant,)
    known_rule(Effect.DENY, meant)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("WebFetch(domain:example.com)", "web_fetch(example.com)"),
        ("WebFetch", "web_fetch"),
        ("WebSearch", "web_search"),
    ],
)
def test_a_rule_for_the_web_names_the_host(text: str, meant: str) -> None:
    assert translate(text) == (meant,)
    known_rule(Effect.ALLOW, meant)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Read(/)", "does not name a file"),
        ("Edit(~/)", "does not name a file"),
        ("TodoWrite", "is not a tool"),
        ("Bash(", "is not a rule"),
        ("Bash()", "is not a rule"),
    ],
)
def test_what_has_no_meaning_here_is_refused_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        known_rule(Effect.DENY, translate(text)[0])
