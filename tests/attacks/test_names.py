"""No name leads out: whatever a model or a person calls something, the answer is a sentence and no file is made."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from deskmate import JsonlStore
from deskmate.faces.cli.root_commands import deskmate
from tests.attacks.naughty_texts import STRINGS
from tests.faces.disk_teams import at, founded, obeyed
from tests.tools.calling_team import CallingTeam

SOAK = os.environ.get("DESKMATE_SOAK") == "1"
TRAVERSALS = [
    *("..", "../x", "../../x", "x/../../y", "/x", "//x", "./x", "a/b", "a\\b", "..\\x", "~", "~/x", "C:\\x"),
    *("x\0", "x\0/../y", "x\n", "x\n../y", "x/", ".", ".git", ".teams", "..%00", "．．／x", "..;/x", "x:1/../y"),
    *("file:///x", "\x1b[2J", "\u202ex", "\ud800", "", " ", "lead", "a" * 300, "x" * 65, "user@../x", "-rf"),
]
HOSTILE = [*TRAVERSALS, *(STRINGS if SOAK else ())]

# -- by tools ---------------------------------------------------------------------------------------

CALLS = [
    ("SendMessage", {"type": "message", "recipient": "{}", "content": "x"}),
    ("SendMessage", {"type": "{}", "recipient": "alice", "content": "x"}),
    ("SendMessage", {"type": "shutdown_request", "recipient": "{}"}),
    ("SendMessage", {"type": "shutdown_response", "request_id": "{}", "approve": True}),
    ("SendMessage", {"type": "plan_approval_response", "recipient": "alice", "request_id": "{}", "approve": True}),
    ("Task", {"description": "x", "prompt": "x", "subagent_type": "{}"}),
    ("TaskCreate", {"subject": "x", "owner": "{}"}),
    ("TaskCreate", {"subject": "x", "blockedBy": ["{}"]}),
    ("TaskCreate", {"subject": "x", "team_name": "{}"}),
    ("TaskGet", {"taskId": "{}"}),
    ("TaskUpdate", {"taskId": "{}", "status": "completed"}),
    ("TaskUpdate", {"taskId": "1", "owner": "{}"}),
    ("TaskUpdate", {"taskId": "1", "addBlockedBy": ["{}"]}),
    ("TaskList", {"team_name": "{}"}),
    ("TeamCreate", {"team_name": "{}"}),
    ("TaskOutput", {"task_id": "{}"}),
    ("TaskStop", {"task_id": "{}"}),
    ("Skill", {"name": "{}"}),
    ("{}", {"x": "x"}),
    ("Task", {"description": "x", "prompt": "x", "name": "{}"}),
]


def filled(value: object, text: str) -> object:
    match value:
        case str():
            return text if value == "{}" else value
        case list():
            return [filled(one, text) for one in value]
        case dict():
            return {key: filled(one, text) for key, one in value.items()}
    return value


def paths(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.anyio
@pytest.mark.behaviour("tools-errors", "send", "spawn")
async def test_whatever_a_model_calls_something_is_answered_in_words_and_makes_no_file(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b" / "ws"
    root.mkdir(parents=True)
    with closing(JsonlStore.open(root, "web", create=True)) as store:
        team = await CallingTeam.gathered("alice", store=store)
        await team.add("first")
        lead = await team.seat()
        await lead.told("SendMessage", type="message", recipient="alice", content="x")
        before = paths(tmp_path)
        for text in HOSTILE:
            for tool, arguments in CALLS:
                did = await lead.ask(str(filled(tool, text)), filled(arguments, text))  # type: ignore[arg-type]
                assert did.text.strip(), (tool, text)
                assert "failed because of an error" not in did.text, (tool, text, did.text)
        made = {Path(path).name.partition("_")[0].partition(".")[0] for path in paths(tmp_path) - before}
        assert {str(member) for member in team.team_state.roster.state.members} >= made - {"lead", "user"}
        assert {path for path in paths(tmp_path) if not path.startswith(("a/b/ws/.teams/", "a/b/ws/.tasks/"))} == {
            *("a", "a/b", "a/b/ws", "a/b/ws/.teams", "a/b/ws/.tasks"),
        }


# -- by commands ------------------------------------------------------------------------------------

WORDS = {"id_": "1", "name": "alice", "text": "x", "subject": "x", "team": "main", "shell": "bash", "goal": "x"}
NAMES = frozenset({"id_", "name", "team", "owner", "blocked_by", "model", "launcher", "permission_mode", "output"})
# What takes no name, and what only a launcher types.
LEFT_OUT = frozenset({"demo", "completion", "play"})
TYPED = [text for text in TRAVERSALS if text.strip() and text != "lead"][:: 1 if SOAK else 5]


def commands(command: click.Command, path: tuple[str, ...], above: click.Context | None) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, with `{}` in the place of one that is a name."""
    context = click.Context(command, info_name="x", parent=above)
    for hostile in (parameter for parameter in command.params if parameter.name in NAMES):
        words = list[str]()
        for parameter in command.params:
            value = "{}" if parameter is hostile else WORDS.get(parameter.name or "", "")
            if isinstance(parameter, click.Argument) and (parameter.required or parameter is hostile):
                words.append(value)
            elif parameter is hostile or (parameter.required and isinstance(parameter, click.Option)):
                words += [parameter.opts[-1], value]
        yield (*path, *words)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below and name not in LEFT_OUT:
                yield from commands(below, (*path, name), context)


COMMANDS = [words for words in commands(deskmate, (), None) if words]


@pytest.mark.behaviour("cli")
def test_whatever_a_person_types_for_a_name_is_answered_in_a_sentence_and_makes_no_file(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": None, "XDG_STATE_HOME": None, "ANTHROPIC_API_KEY": "x"}
    (tmp_path / "home").mkdir()
    place = tmp_path / "a" / "ws"
    place.mkdir(parents=True)
    founded(place, "main", "alice")
    # Signed, as a team of the user's own is.
    at(place, "teams", env=env)
    before = paths(tmp_path)
    for words in COMMANDS:
        for text in TYPED:
            ended = at(place, *(text if word == "{}" else word for word in words), env=env)
            said = ended.stdout + ended.stderr
            assert ended.code in (1, 2, 3), (words, text, said)
            assert ended.stderr.strip(), (words, text)
            assert (obeyed(said), "Traceback" in said, "error in Deskmate" in said) == ([], False, False), (words, text)
    made = {path for path in paths(tmp_path) - before if not path.startswith("a/ws/.tasks/main/")}
    state = "home/.local/state"
    assert made <= {"home/.local", state, f"{state}/deskmate", f"{state}/deskmate/trust.lock"}


def test_every_command_that_takes_a_name_is_tried() -> None:
    tried = {words[0] for words in COMMANDS if not words[0].startswith("-")}
    assert tried == {
        "advise",
        "answer",
        "board",
        "conflicts",
        "cost",
        "daemon",
        "diff",
        "doctor",
        "attach",
        "export",
        "fork",
        "host",
        "inbox",
        "mcp",
        "merge",
        "migrate",
        "rewind",
        "resume",
        "run",
        "schedule",
        "send",
        "stop",
        "tail",
        "teams",
        "telemetry",
        "trees",
        "trust",
        "web",
    }
