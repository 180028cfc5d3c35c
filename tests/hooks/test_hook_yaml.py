"""Hooks of agent files: what is read of their YAML, and that hostile YAML costs little."""

from dataclasses import replace

import pytest

from deskmate.core.front_matter import block_of
from deskmate.core.hooks.hook_tables import Hook, HookTable, agent_hooks_in
from deskmate.hooks.hook_yaml import MOST_CHARACTERS, yaml_of
from tests.agent_files import YAML_LISTS

pytestmark = [pytest.mark.behaviour("hooks"), pytest.mark.behaviour("agent-types")]
FILE = "db-reader.md"


def read(text: str) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    found = agent_hooks_in(yaml_of(text), FILE, "db-reader", of_project=True)
    return found.hooks, found.problems


def test_a_published_file_is_read_and_stop_means_the_end_of_a_turn_of_its_agents() -> None:
    block = block_of((YAML_LISTS / FILE).read_text(), "hooks")
    guard = Hook("PreToolUse", "Bash", "./scripts/validate-readonly-query.sh", 10, FILE, True, agent_type="db-reader")
    end = Hook("SubagentStop", "", "cat >> stopped", 60, FILE, True, agent_type="db-reader")
    assert read(block) == ((guard, end, replace(end, event="TeammateIdle")), ())


def test_a_hook_of_a_type_is_for_its_agents_alone() -> None:
    mine = Hook("PreToolUse", "", "a", 1, FILE, True, agent_type="db-reader")
    everybodys = Hook("PreToolUse", "", "b", 1, "", False)
    table = HookTable((mine, everybodys))
    assert table.of_type("db-reader").hooks == (mine, everybodys)
    assert table.of_type("").hooks == table.of_type("tester").hooks == (everybodys,)


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd", "UserPromptSubmit", "Notification"])
def test_events_of_the_lead_are_not_for_agents_of_a_type(event: str) -> None:
    hooks, problems = read(f"hooks: {{{event}: [{{hooks: [{{type: command, command: x}}]}}]}}")
    assert (hooks, problems) == ((), (f"{event} is about the lead",))


@pytest.mark.parametrize(
    "text",
    [
        "hooks:",
        "hooks: [",
        "hooks: 2026-99-99",
        "hooks: !!python/object/apply:os.system [touch made]",
        "hooks: {? [a, b] : c}",
        "hooks: &a [*a]",
        f"hooks: {'[' * 7_000}",
        f"hooks:\n  a: &a [{'x, ' * 500}]\n  b: [{'*a, ' * 500}]",
        f"hooks: {'x' * MOST_CHARACTERS}",
        "hooks: on",
        "- hooks",
        "",
    ],
)
def test_what_is_no_table_of_events_is_a_problem_and_no_hook(text: str) -> None:
    hooks, problems = read(text)
    assert hooks == ()
    assert problems == ("`hooks` must be a table of events",)


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("no front matter", ""),
        ("---\nname: x\n---\nhooks: in the body", ""),
        ("---\nhooks: {}\nname: x\n---\n", "hooks: {}\n"),
        ("---\r\nhooks:\r\n  a: b\r\nname: x\r\n---\r\n", "hooks:\r\n  a: b\r\n"),
        ("---\nhooks:\n- a\n\n  b\n#c\nname: x\n---\n", "hooks:\n- a\n\n  b\n#c\n"),
        ("---\nhooks: 1\nhooks: 2\n---\n", "hooks: 2\n"),
        ("---\nmy: hooks\n  hooks: 1\n---\n", ""),
    ],
)
def test_the_block_of_a_field_ends_before_the_next_field(text: str, block: str) -> None:
    assert block_of(text, "hooks") == block
