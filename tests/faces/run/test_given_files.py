"""What a user gives for one run in files or as JSON: a schema of the result, agent types, MCP servers."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import step
from tests.faces.chat_program import ChatProgram, chat_program
from tests.mcp.server_harness import HOSTILE

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"total": {"type": "integer"}, "late": {"type": "array", "items": {"$ref": "#/$defs/order"}}},
    "required": ["total"],
    "$defs": {"order": {"type": "string", "pattern": "^A"}},
}
FITS = {"total": 2, "late": ["A1"]}


@dataclass
class Submits:
    """A lead that submits these results one after the other until one is taken, then stops. `asked`: what it read."""

    results: tuple[object, ...]
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Say:
        self.asked.append(asked)
        if asked.results and asked.results[-1].ok:
            return Say("Submitted.")
        number = step(asked)
        if number < len(self.results):
            return Say("", [Use("submit_result", {"result": self.results[number]})])
        return Say("I stop.")

    @property
    def refusals(self) -> list[str]:
        return [one.text for asked in self.asked for one in asked.results if not one.ok]


def submits(*results: object) -> Submits:
    return Submits(results)


def run(place: ChatProgram, *options: str, schema: object = SCHEMA) -> Any:
    (place.folder / "schema.json").write_text(schema if isinstance(schema, str) else json.dumps(schema))
    return place.piped("", "run", "go", "--json-schema", "schema.json", "--no-sandbox", *options)


# -- a schema of the result -------------------------------------------------------------------------


@pytest.mark.behaviour("json-schema")
def test_the_result_fits_the_schema_and_is_what_stdout_has(tmp_path: Path) -> None:
    lead = submits({"total": "two"}, {"total": 2, "late": ["B1"]}, FITS)
    with chat_program(tmp_path, lead) as place:
        ended = run(place, "-q")
    assert (ended.code, json.loads(ended.stdout), ended.stderr) == (0, FITS, "")
    assert "result.total: 'two' is not of type 'integer'" in lead.refusals[0]
    assert "result.late[0]: 'B1' does not match" in lead.refusals[-1]


@pytest.mark.behaviour("json-schema")
@pytest.mark.parametrize(
    ("schema", "result"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ({"type": ["string", "null"]}, None),
        ({"enum": ["yes", "no"]}, "no"),
        ({"type": "object"}, {}),
    ],
)
def test_a_result_of_any_kind_is_in_the_json_output(schema: object, result: object, tmp_path: Path) -> None:
    with chat_program(tmp_path, submits(result)) as place:
        ended = run(place, "--output", "json", schema=schema)
    found = json.loads(ended.stdout)
    assert (ended.code, found["structured_output"], found["text"]) == (0, result, "Submitted.")


@pytest.mark.behaviour("json-schema")
def test_an_object_that_a_model_writes_as_a_text_counts(tmp_path: Path) -> None:
    with chat_program(tmp_path, submits(json.dumps(FITS))) as place:
        assert json.loads(run(place).stdout) == FITS


@pytest.mark.behaviour("json-schema")
def test_if_nothing_ever_fits_the_lead_is_stopped_and_the_run_says_why(tmp_path: Path) -> None:
    lead = submits(*[{"total": None}] * 50)
    with chat_program(tmp_path, lead) as place:
        ended = run(place, "--output", "json", "--max-steps", "6")
    found = json.loads(ended.stdout)
    assert "refused 5 times" in lead.refusals[-1]
    assert (found["structured_output"], found["exit_code"]) == (None, ended.code)
    assert ended.code != 0


@pytest.mark.behaviour("json-schema")
def test_a_lead_that_gives_up_or_forgets_it_ends_the_run_with_another_exit_code(tmp_path: Path) -> None:
    with chat_program(tmp_path, submits(*[{"total": None}] * 5)) as place:
        ended = run(place)
    assert (ended.code, ended.stdout) == (4, "")
    assert "None is not of type 'integer'" in ended.stderr
    assert "deskmate resume main --json-schema FILE" in ended.stderr
    lead = submits()
    with chat_program(tmp_path / "other", lead) as place:
        ended = run(place, "--output", "json")
        assert len(lead.asked) == 3
    found = json.loads(ended.stdout)
    assert (ended.code, found["structured_output"], found["end"]) == (4, None, "answered")
    assert "none was submitted" in found["reason"]


@pytest.mark.behaviour("json-schema")
def test_a_resumed_team_submits_the_result_that_is_wanted_then(tmp_path: Path) -> None:
    with chat_program(tmp_path, submits({"total": None}, FITS)) as place:
        assert run(place, "--max-steps", "1").code == 1
        ended = place.piped("", "resume", "main", "As JSON.", "--json-schema", "schema.json", "--no-sandbox")
    assert (ended.code, json.loads(ended.stdout)) == (0, FITS)


@pytest.mark.behaviour("json-schema")
@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("{", "schema.json is not JSON, line 1"),
        ("[]", "not an object"),
        ({"type": "text"}, "is not a valid JSON schema, at $.type"),
        ({"$ref": "https://example.org/schema.json"}, "refers to 'https://example.org/schema.json'"),
        ({"items": {"$ref": "#/$defs/nothing"}}, "refers to '#/$defs/nothing'"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_before_anything_starts(
    schema: object, why: str, tmp_path: Path
) -> None:
    lead = submits()
    with chat_program(tmp_path, lead) as place:
        ended = run(place, schema=schema)
        missing = place.piped("", "run", "go", "--json-schema", "nothing.json")
        assert (place.teams, lead.asked) == ([], [])
    assert (ended.code, missing.code) == (2, 2)
    assert why in ended.stderr
    assert "nothing.json" in missing.stderr


# -- agent types ------------------------------------------------------------------------------------

REVIEWER = {
    "reviewer": {"description": "Reviews changes", "prompt": "You are strict.", "tools": ["Read", "Grep"]},
}


def sends_for_a_review(asked: Asked) -> Say:
    if "You are strict." in asked.system:
        return Say(f"strict, with {' '.join(tool.name for tool in asked.prompt.tools if tool.name != 'Skill')}")
    if asked.results:
        return Say(asked.results[-1].text)
    assert "- reviewer: Reviews changes" in asked.system
    return Say("", [Use("Task", {"prompt": "Look.", "subagent_type": "reviewer"})])


@pytest.mark.parametrize("in_file", [False, True])
def test_agent_types_of_the_command_line_are_there_for_this_run(in_file: bool, tmp_path: Path) -> None:
    with chat_program(tmp_path, sends_for_a_review) as place:
        (place.folder / "agents.json").write_text(json.dumps(REVIEWER))
        given = "agents.json" if in_file else json.dumps(REVIEWER)
        ended = place.piped("", "run", "go", "--agents", given, "--no-sandbox", "-q")
    assert (ended.code, ended.stdout) == (0, "strict, with read_file grep\n")


def test_what_of_an_agent_type_is_not_used_is_a_warning(tmp_path: Path) -> None:
    given = {"reviewer": {**REVIEWER["reviewer"], "tools": ["Read", "Browser"]}}
    with chat_program(tmp_path, lambda asked: Say("Done.")) as place:
        ended = place.piped("", "run", "go", "--agents", json.dumps(given), "-q")
    assert ended.code == 0
    assert "The agent 'reviewer' in --agents: these tools do not exist here: Browser" in ended.stderr


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("nothing.json", "Cannot read nothing.json"),
        ("{", "--agents is not JSON"),
        ("{}", "must be a JSON object"),
        ('{"a": {"description": "b"}, "Explore": {"description": "x", "prompt": "y"}}', "already an agent type"),
        ('{"a": {"prompt": "b"}}', "has no description"),
        ('{"a": {"description": "b", "tools": 1}}', "must be a text or a list of texts"),
    ],
)
def test_agent_types_that_cannot_be_are_named_and_nothing_is_started(given: str, why: str, tmp_path: Path) -> None:
    with chat_program(tmp_path, submits()) as place:
        ended = place.piped("", "run", "go", "--agents", given)
        assert place.teams == []
    assert ended.code == 2
    assert why in ended.stderr


# -- MCP servers ------------------------------------------------------------------------------------


def calls_the_server(asked: Asked) -> Say:
    if asked.results:
        return Say(asked.results[-1].text)
    return Say("", [Use("mcp__given__echo", {"text": "hello"})])


def test_servers_of_the_command_line_are_used_in_this_run_only(tmp_path: Path) -> None:
    servers = {"mcpServers": {"given": {"command": sys.executable, "args": [HOSTILE, "plain"], "timeout": 20_000}}}
    with chat_program(tmp_path, calls_the_server) as place:
        options = ["--no-sandbox", "-q", "--allow", "mcp__given__*"]
        ended = place.piped("", "run", "go", "--mcp-config", json.dumps(servers), *options)
        assert (ended.code, "hello" in ended.stdout) == (0, True), ended.stderr
        again = place.piped("", "run", "go", *options)
        assert "You do not have the tool 'mcp__given__echo'" in again.stdout


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ('{"servers": {}}', 'no "mcpServers"'),
        ('{"mcpServers": {"a": {}}}', "`command` or `url`"),
        ("nothing.json", "Cannot read nothing.json"),
    ],
)
def test_servers_that_cannot_be_are_named_and_nothing_is_started(given: str, why: str, tmp_path: Path) -> None:
    with chat_program(tmp_path, submits()) as place:
        ended = place.piped("", "run", "go", "--mcp-config", given)
        assert place.teams == []
    assert ended.code == 2
    assert why in ended.stderr
