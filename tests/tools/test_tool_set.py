"""The tools of one agent: what its model is told without importing any of them, and what it then calls."""

import json
import os
import subprocess
import sys
from importlib.resources import files

import pytest

from deskmate.core.policy.tool_table import TOOLS, AgentKind
from deskmate.tools import ToolSet, spec, tools_for
from tests.tools.tool_desk import every_tool


def test_the_file_of_schemas_is_what_the_argument_classes_make() -> None:
    made = {str(kind): {tool.name: spec(tool).schema for tool in tools_for(kind, TOOLS)} for kind in AgentKind}
    file = files("deskmate.texts").joinpath("tools/schemas.json")
    lines = [
        f'"{kind}": {{\n'
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in schemas.items())
        + "\n}"
        for kind, schemas in made.items()
    ]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if os.environ.get("DESKMATE_GOLDEN") == "write":
        with open(str(file), "w", encoding="utf-8") as written:
            written.write(text)
    assert text == file.read_text(encoding="utf-8"), "the arguments changed: run 'make golden', review the diff"


@pytest.mark.parametrize("kind", AgentKind)
def test_a_model_is_told_of_the_tools_as_they_are(kind: AgentKind) -> None:
    assert ToolSet(kind, TOOLS).specs == tuple(map(spec, tools_for(kind, TOOLS)))


def test_a_set_has_the_named_tools_then_those_of_the_program_and_no_others() -> None:
    own = every_tool()[0]
    tools = ToolSet(AgentKind.TEAMMATE, ["grep", "mcp__web__search", "glob"], [own])
    assert dict(tools) == {
        **{tool.name: tool for tool in tools_for(AgentKind.TEAMMATE, ["grep", "glob"])},
        own.name: own,
    }
    assert [one.name for one in tools.specs] == list(tools)
    assert (len(tools), tools.get("write_file")) == (3, None)


def test_no_tool_is_imported_before_one_is_called() -> None:
    words = (
        "import sys; from deskmate.tools import ToolSet; from deskmate.core.policy.tool_table import AgentKind; "
        "tools = ToolSet(AgentKind.LEAD, ['bash']); tools.specs; list(tools); "
        "print('deskmate.tools.shell.bash' in sys.modules); tools['bash']; "
        "print('deskmate.tools.shell.bash' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False", "True"]
