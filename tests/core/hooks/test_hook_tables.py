"""Which hooks a file describes, and which of them fit."""

import pytest

from deskmate.core.hooks.hook_tables import EVENTS, HookTable, fits, hooks_in
from deskmate.core.hooks.tool_aliases import names_of, own_arguments, shown_arguments

pytestmark = pytest.mark.behaviour("hooks")

CAT = {"type": "command", "command": "cat"}


@pytest.mark.parametrize(
    ("matcher", "fitting", "other"),
    [
        ("", "Bash", None),
        ("*", "Bash", None),
        ("Write", "Write", "write"),
        ("Write", "Write", "WriteX"),
        ("Edit|Write", "Edit", "NotebookEdit"),
        ("Edit | Write", "Write", "Bash"),
        ("Notebook.*", "NotebookEdit", "Edit"),
        ("mcp__.*__write.*", "mcp__memory__write_all", "mcp__memory__read"),
        ("mcp__memory__read", "mcp__memory__read", "mcp__memory__reads"),
        ("^(Edit|Write)$", "Edit", "EditX"),
        (".*", "anything", None),
    ],
)
def test_a_matcher_fits_these_names(matcher: str, fitting: str, other: str | None) -> None:
    assert fits(matcher, fitting)
    assert other is None or not fits(matcher, other)


@pytest.mark.parametrize(
    ("matcher", "tools"),
    [
        ("Edit|Write", ["write_file", "edit_file"]),
        ("MultiEdit", ["edit_file"]),
        ("WebFetch", ["web_fetch"]),
        ("bash", ["bash"]),
        ("Bash", ["bash"]),
        ("Read|Grep|Glob", ["read_file", "glob", "grep"]),
        (".*_file", ["read_file", "write_file", "edit_file"]),
    ],
)
def test_our_names_and_those_of_claude_code_both_match(matcher: str, tools: list[str]) -> None:
    table = HookTable(hooks_in({"PreToolUse": [{"matcher": matcher, "hooks": [CAT]}]}, "f", of_project=False).hooks)
    ours = ["bash", "read_file", "write_file", "edit_file", "glob", "grep", "web_fetch"]
    assert [tool for tool in ours if table.for_tool("PreToolUse", tool)] == tools


def test_a_hook_that_is_described_twice_runs_once() -> None:
    groups = [{"matcher": "Write", "hooks": [CAT]}, {"hooks": [CAT]}]
    table = HookTable(hooks_in({"PreToolUse": groups}, "f", of_project=False).hooks)
    assert len(table.for_tool("PreToolUse", "write_file")) == 1


@pytest.mark.parametrize(
    ("described", "problem"),
    [
        ([], "`hooks` must be a table"),
        ({"PreToolUze": []}, "did you mean PreToolUse?"),
        ({"Setup": []}, "event Setup is not supported"),
        ({"Stop": {}}, "Stop must be a list"),
        ({"Stop": [CAT]}, "Stop, number 1 must be a table with `hooks`"),
        ({"PreToolUse": [{"matcher": "(", "hooks": [CAT]}]}, "not a valid regular expression"),
        ({"Stop": [{"hooks": ["cat"]}]}, "a hook must be a table"),
        ({"Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}, "of type 'prompt' are not supported"),
        ({"Stop": [{"hooks": [{"type": "http", "url": "https://a.example"}]}]}, "only in your own settings"),
        ({"Stop": [{"hooks": [{"type": "command"}]}]}, "`command` must be a text"),
        ({"Stop": [{"hooks": [{**CAT, "timeout": 0}]}]}, "`timeout` must be a number of seconds"),
        ({"Stop": [{"hooks": [{**CAT, "timeout": True}]}]}, "`timeout` must be a number of seconds"),
        ({"Stop": [{"hooks": [{**CAT, "async": "yes"}]}]}, "`async` must be true or false"),
    ],
)
def test_what_cannot_be_used_is_a_problem_of_the_file_and_the_rest_works(described: object, problem: str) -> None:
    whole = {**described, "SessionEnd": [{"hooks": [CAT]}]} if isinstance(described, dict) else described
    found = hooks_in(whole, "f", of_project=True)
    assert [problem in said for said in found.problems] == [True]
    assert [hook.event for hook in found.hooks] == (["SessionEnd"] if isinstance(described, dict) else [])


def test_every_event_can_be_described() -> None:
    found = hooks_in({event: [{"hooks": [CAT]}] for event in EVENTS}, "f", of_project=False)
    assert ({hook.event for hook in found.hooks}, found.problems) == (set(EVENTS), ())


def test_arguments_are_shown_in_the_form_of_claude_code_and_come_back() -> None:
    shown = shown_arguments("edit_file", {"path": "a.py", "old_text": "1", "new_text": "2"}, "/work")
    assert shown == {"file_path": "/work/a.py", "old_string": "1", "new_string": "2"}
    assert own_arguments("edit_file", shown) == {"path": "/work/a.py", "old_text": "1", "new_text": "2"}
    assert names_of("edit_file") == ("edit_file", "Edit", "MultiEdit")


@pytest.mark.parametrize("url", ["ftp://a.example", "https://user:pw@a.example", "https://", "a.example", 3])
def test_an_address_must_be_one_without_a_password(url: object) -> None:
    found = hooks_in({"Stop": [{"hooks": [{"type": "http", "url": url}]}]}, "f", of_project=False)
    assert (found.hooks, len(found.problems)) == ((), 1)


def test_an_address_of_the_user_is_shown_without_what_may_be_a_token() -> None:
    hook = {"type": "http", "url": "https://a.example/x?token=1", "headers": {"A": "$B"}, "allowedEnvVars": ["B"]}
    (found,) = hooks_in({"Stop": [{"hooks": [hook]}]}, "f", of_project=False).hooks
    assert (found.label, found.headers, found.variables) == ("https://a.example/x", (("A", "$B"),), ("B",))
