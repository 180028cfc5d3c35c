"""Tools that are found by words."""

import pytest

from deskmate.core.mcp.server_tools import ServerTool
from deskmate.core.mcp.tool_search import are_long, found_text, matching, overview

pytestmark = pytest.mark.behaviour("mcp-client")
TOOLS = tuple(
    ServerTool("github", name, text, {"type": "object"}, "")
    for name, text in (
        ("list_issues", "List the issues of a repository."),
        ("create_issue", "Create an issue."),
        ("get_file", "Read a file. Mentions issues and lists."),
    )
)


def test_names_count_more_than_descriptions() -> None:
    assert next(tool.name for tool in matching(TOOLS, "list issues")) == "list_issues"


def test_a_full_name_comes_first() -> None:
    assert matching(TOOLS, "mcp__github__get_file")[0].name == "get_file"


def test_a_search_without_a_match_names_the_tools() -> None:
    assert "mcp__github__create_issue" in found_text(TOOLS, "weather")


def test_only_long_listings_are_searched() -> None:
    assert not are_long(TOOLS)
    assert are_long(TOOLS * 50)
    assert overview(TOOLS) == "github (3)"
