"""Agent files: what their fields mean, and which files are refused."""

from pathlib import Path

import pytest

from deskmate.core.policy.isolation import Isolation
from deskmate.core.policy.permissions import Mode
from deskmate.core.policy.tool_table import AgentType
from deskmate.core.profiles.agent_files import DESCRIPTION_CAP, PROMPT_CAP, read_agent_file
from deskmate.core.profiles.agent_profiles import AgentProfile
from deskmate.core.profiles.tool_words import chosen_tools
from deskmate.errors import BadInput
from tests.agent_files import COMMA_LISTS, PLAIN, YAML_LISTS

pytestmark = pytest.mark.behaviour("agent-types")

FILE = ".claude/agents/x.md"


def read(lines: str = "", body: str = "Do it.", *, name: str = "x") -> AgentProfile:
    return read_agent_file(f"---\nname: {name}\ndescription: does it\n{lines}\n---\n{body}", FILE, of_project=True)


def of(path: Path) -> AgentProfile:
    return read_agent_file(path.read_text(encoding="utf-8"), path.name, of_project=True)


def test_a_file_with_a_comma_list_and_a_long_description_is_read_as_it_is_meant() -> None:
    found = of(COMMA_LISTS / "code-reviewer.md")
    assert found == AgentProfile(
        name="code-reviewer",
        description=("Use this agent after a piece of code was written, to look for mistakes before it is committed."),
        prompt=found.prompt,
        tools=("read_file", "glob", "grep", "web_fetch", "mcp__github__get_pull_request"),
        model="sonnet",
        colour="magenta",
        file="code-reviewer.md",
        of_project=True,
    )
    assert found.prompt.startswith("You review code.")
    # It is not known whether a tool of a server only reads.
    assert found.reach is AgentType.GENERAL


def test_an_inherited_model_is_no_model_and_two_names_of_a_tool_are_one_tool() -> None:
    found = of(COMMA_LISTS / "test-runner.md")
    assert (found.tools, found.model, found.flaws) == (("bash", "read_file", "edit_file"), None, ())
    assert found.reach is AgentType.GENERAL


def test_a_file_with_a_yaml_list_is_read_with_its_mode_and_isolation() -> None:
    found = of(YAML_LISTS / "docs-writer.md")
    assert found.description == "Writes and corrects documentation. Does not touch code."
    assert found.tools == ("read_file", "write_file", "edit_file", "grep")
    assert (found.mode, found.isolation) == (Mode.ACCEPT_EDITS, Isolation.AUTO)
    assert (found.skills, found.flaws) == (("house-style",), ())


def test_a_list_in_brackets_is_read_and_a_type_that_plans_only_reads_as_a_subagent() -> None:
    found = of(YAML_LISTS / "planner.md")
    assert (found.tools, found.mode, found.model) == (("read_file", "glob", "grep"), Mode.PLAN, "claude-opus-4-1")
    planning = read("permissionMode: plan")
    assert (planning.reach, planning.as_subagent.reach) == (AgentType.GENERAL, AgentType.EXPLORE)
    assert planning.as_subagent.tools == ("read_file", "glob", "grep")


def test_a_name_for_some_calls_of_a_tool_gives_no_tool() -> None:
    found = of(YAML_LISTS / "shell-user.md")
    assert found.tools == ("read_file", "grep")
    assert found.flaws == ("these are for some calls only, so they give no tool: Bash(git log:*)",)


def test_a_file_without_tools_gives_all_and_its_name_is_written_with_hyphens() -> None:
    found = of(PLAIN / "backend.md")
    assert (found.name, found.tools, found.reach) == ("backend-developer", None, AgentType.GENERAL)


@pytest.mark.parametrize(
    ("lines", "tools"),
    [
        ("", None),
        ("tools: '*'", None),
        (
            'tools: "*"\ndisallowedTools: Bash',
            ("read_file", "write_file", "edit_file", "glob", "grep", "web_fetch", "web_search"),
        ),
        ("disallowedTools: Bash(rm:*), Write, Edit", ("read_file", "glob", "grep", "web_fetch", "web_search")),
        ("disallowedTools: Bash, Write, Edit, WebFetch, WebSearch", ("read_file", "glob", "grep")),
        ("tools: []", ()),
        ("tools: WebFetch, mcp__a__b, Task, TeamCreate, NotebookEdit", ("web_fetch", "mcp__a__b")),
        ("tools: TodoWrite, SendMessage, TaskUpdate", ()),
        ("tools: read_file, GREP", ("read_file", "grep")),
        ("tools: Write, Edit", ("write_file",)),
        ("tools: Bash(*)", ()),
        ("tools: Bash(git log, Read", ("read_file",)),
        ("tools: Bash(python -c 'f(x)'), Grep", ("grep",)),
    ],
)
def test_no_list_gives_more_tools_than_it_names(lines: str, tools: tuple[str, ...] | None) -> None:
    assert read(lines).tools == tools


def test_tools_of_the_lead_and_unknown_ones_are_told_once_each() -> None:
    assert read("tools: Task, LSP, LSP, TodoWrite").flaws == ("these tools do not exist here: Task, LSP",)


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ("default", Mode.DEFAULT),
        ("acceptEdits", Mode.ACCEPT_EDITS),
        ("plan", Mode.PLAN),
        ("dontAsk", Mode.DONT_ASK),
        ("bypassPermissions", Mode.BYPASS),
        ("auto", None),
    ],
)
def test_modes_have_the_names_that_people_know(written: str, mode: Mode | None) -> None:
    found = read(f"permissionMode: {written}")
    assert found.mode is mode
    assert bool(found.flaws) == (mode is None)


def test_the_mode_of_a_file_is_never_wider_than_the_callers_nor_that_of_a_project_than_the_teams() -> None:
    wide = read("permissionMode: bypassPermissions")
    assert wide.mode_below(Mode.DEFAULT, Mode.DEFAULT) is Mode.DEFAULT
    assert wide.mode_below(Mode.BYPASS, Mode.ACCEPT_EDITS) is Mode.ACCEPT_EDITS
    assert read("permissionMode: default").mode_below(Mode.BYPASS, Mode.BYPASS) is Mode.DEFAULT
    assert read().mode_below(Mode.BYPASS, Mode.BYPASS) is None
    own = read_agent_file(
        "---\nname: x\ndescription: y\npermissionMode: bypassPermissions\n---\n", "x.md", of_project=False
    )
    assert own.mode_below(Mode.BYPASS, Mode.DEFAULT) is Mode.BYPASS


def test_a_long_description_is_cut_and_is_one_line() -> None:
    found = read_agent_file("---\nname: x\ndescription: " + "a b\\n" * 500 + "\n---\n", FILE, of_project=True)
    assert (len(found.description), found.description[-1]) == (DESCRIPTION_CAP, "…")
    assert "\\n" not in found.description


@pytest.mark.parametrize("name", ["general-purpose", "Explore", "plan", "lead", "user", "all", "System"])
def test_a_name_that_means_something_else_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=r"^\.claude/agents/x\.md: .*(already an agent type|reserved)"):
        read(name=name)


@pytest.mark.parametrize("name", ["a\x1b[2Jb", "x" * 10_000, "../../etc", "a\u202eb", "<b>", "а-cyrillic", "a\tb"])
def test_a_name_that_no_screen_or_prompt_should_show_is_refused_without_showing_it(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(name=name)
    words = str(caught.value)
    assert words.startswith(FILE)
    assert words.isascii()
    assert len(words) < 300


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no front matter"),
        ("You are an agent.", "has no front matter"),
        ("---\nname: x\n---\n", "has no description"),
        ("---\ndescription: x\n---\n", "has no name"),
        ("---\nname: x\ndescription: y\ntools:\n---\n", "tools is empty"),
        ("---\nname: x\ndescription: y\ntools: Read\ntools: Bash\n---\n", "has tools twice"),
        ("---\nname: x\ndescription: y\n---\n" + "x" * PROMPT_CAP, "has a prompt of 30,002 bytes"),
        ("---\nname: x\ndescription: y\n---\n" + '"' * PROMPT_CAP, "has a prompt of 60,002 bytes"),
    ],
)
def test_a_broken_file_is_refused_with_its_name_and_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        read_agent_file(text, FILE, of_project=True)
    assert str(caught.value).startswith(FILE)


@pytest.mark.parametrize(
    "fields",
    [
        "tools: " + "a," * 100_000,
        "tools: " + "Bash(x)," * 30_000,
        "tools: " + "(" * 200_000,
        "disallowedTools: " + "Bash(rm " * 20_000,
        "color: " + " " * 200_000 + "x",
        "model: " + "m" * 200_000,
        "tools:" + "\n- x" * 50_000,
    ],
    ids=lambda fields: fields[:24].strip(),
)
def test_a_field_of_any_length_is_read_at_once_and_told_in_a_few_words(fields: str) -> None:
    found = read(fields)
    assert found.tools in (
        None,
        (),
        ("read_file", "write_file", "edit_file", "glob", "grep", "web_fetch", "web_search"),
    )
    assert sum(map(len, found.flaws)) < 2_000


def test_a_description_of_spaces_and_examples_without_end_is_read_at_once() -> None:
    text = "---\nname: x\ndescription: a" + " " * 100_000 + "some examples " * 10_000 + "\n---\n"
    assert len(read_agent_file(text, FILE, of_project=True).description) <= DESCRIPTION_CAP


@pytest.mark.parametrize("line", ['"tools": Read', "'tools': Read", "tools : Read"])
def test_a_key_may_be_written_as_in_yaml(line: str) -> None:
    assert read(line).tools == ("read_file",)


@pytest.mark.parametrize(
    "line", ["Tools: Read", "allowed-tools: Read", "disallowed_tools: Bash", "permission-mode: plan"]
)
def test_a_limit_in_another_spelling_is_refused_and_not_passed_over(line: str) -> None:
    with pytest.raises(BadInput, match=line.partition(":")[0]):
        read(line)


def test_what_is_denied_is_taken_away_or_named() -> None:
    assert chosen_tools(None, ("*",)).names == ()
    assert "Shell" in chosen_tools(None, ("Shell",)).flaws[0]
