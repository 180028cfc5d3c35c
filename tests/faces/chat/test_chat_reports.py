"""The commands that tell how things are, and what was said and changed."""

import os
import re
from pathlib import Path

import pytest

from deskmate import __version__
from deskmate.core.team.status import Idle
from deskmate.faces.common.chat.chat_commands import COMMANDS, command_named
from deskmate.faces.common.chat.chat_lines import FaceActions, Feedback, Talk
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import step, was_told
from tests.faces.chat.chat_harness import ChatHarness, chat, texts
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("repl")]
CODE = "Like this:\n\n```python\nprint(1)\n```"


def edits(asked: Asked) -> Say:
    """Write a file, then change it; or say a text with code."""
    done = step(asked)
    if was_told(asked, "write") and done < 2:
        write = Use("write_file", {"path": "a.py", "content": "one\ntwo\n"})
        edit = Use("edit_file", {"path": "a.py", "old_text": "two", "new_text": "three"})
        return Say("", [write if not done else edit])
    return Say(CODE)


async def said(typist: ChatHarness, words: str) -> None:
    """Say something, and wait until the lead has answered."""
    await typist.types(words)
    await typist.until(lambda session: session.spent.calls > 0 and session.members[0].status == Idle())


async def test_every_alias_means_one_command() -> None:
    names = [name for command in COMMANDS.values() for name in (command.name, *command.aliases)]
    assert len(set(names)) == len(names)
    known = {"exit": "quit", "todos": "tasks", "new": "clear", "permissions": "mode", "settings": "config"}
    assert {alias: command_named(alias).name for alias in known} == known


async def test_status_tells_team_model_mode_context_cost_and_workspace(harness: AppHarness) -> None:
    async with chat(harness, edits) as typist:
        await said(typist, "hello")
        lines = await typist.types("/status")
    told = dict(line.split(": ", 1) for line in lines if ": " in line)
    assert lines[0] == "team: main (hello)"
    assert (told["workspace"], told["mode"]) == (str(harness.place), "default")
    assert told["model"].startswith("anthropic:")
    assert re.fullmatch(r"about [\d,]+ of 200,000 tokens, \d %", told["context"])
    assert told["members"] == "1"
    assert told["cost"].endswith("for 1 model call")
    assert lines[-1] == f"deskmate {__version__}"


async def test_context_tells_what_it_is_full_of_once_there_was_an_answer(harness: AppHarness) -> None:
    async with chat(harness, edits) as typist:
        await said(typist, "hello")
        lines = await typist.types("/context")
        assert "'bob' is not on this team" in (await typist.types("/context bob"))[0]
    assert lines[0].startswith("lead: about ")
    parts = {line.strip().rsplit("  ", 1)[0].strip(): line.split()[-1] for line in lines[1:-1]}
    assert {"system prompt and tools", "messages and notices", "answers and calls"} <= set(parts)
    assert sum(int(count.replace(",", "")) for count in parts.values()) > 1000


async def test_agents_are_the_members_and_the_types_there_are(harness: AppHarness) -> None:
    async with chat(harness, edits) as typist:
        lines = await typist.types("/agents")
    assert lines[0].startswith("lead@main")
    assert [line.split()[0] for line in lines[2:]] == ["general-purpose", "Explore", "Plan"]
    assert "write_file" in lines[2]
    assert "write_file" not in lines[3]


async def test_config_tells_what_is_set_and_no_key(harness: AppHarness) -> None:
    async with chat(harness, edits) as typist:
        lines = await typist.types("/config")
        text = "\n".join(lines)
        assert str(typist.session.settings.file) in lines[0]
        assert 'permission_mode = "default"' in lines
        assert "a key is set" in text
        assert typist.session.settings.anthropic.key.get_secret_value() not in text


async def test_config_tells_the_model_that_is_asked_now(harness: AppHarness) -> None:
    async with chat(harness, edits) as typist:
        first = typist.session.model
        assert any(line.startswith(f'model = "{first}" (') for line in await typist.types("/config"))
        await typist.types("/model anthropic:claude-opus-4-1")
        lines = await typist.types("/config")
    assert [line for line in lines if line.startswith("model = ")] == [
        'model = "anthropic:claude-opus-4-1" (chosen with /model)'
    ]


async def test_doctor_checks_the_machine_and_this_team(harness: AppHarness) -> None:
    async with chat(harness, edits) as typist:
        lines = await typist.types("/doctor")
    assert {line.split()[0] for line in lines if not line.startswith(" ")} <= {"ok", "warn", "bad"}
    assert any("workspace" in line for line in lines), lines


async def test_diff_tells_what_file_tools_changed_and_by_whom(harness: AppHarness) -> None:
    async with chat(harness, edits) as typist:
        assert (await typist.types("/diff"))[0].startswith("No file was changed")
        await typist.types("/mode acceptEdits")
        await said(typist, "write")
        await typist.until(lambda session: session.spent.calls == 3 and session.members[0].status == Idle())
        lines = await typist.types("/diff")
        assert await typist.types("/diff nowhere") != lines
        assert await typist.types("/diff a.p") == lines
    assert lines[0] == "a.py: +3 -1, by lead"
    assert {"+one", "-two", "+three"} <= set(lines)


async def test_export_writes_the_conversation_and_replaces_no_file(harness: AppHarness, tmp_path: Path) -> None:
    file = tmp_path / "talk with spaces.md"
    async with chat(harness, edits) as typist:
        await typist.types("/mode acceptEdits")
        await said(typist, "write **this**")
        await typist.until(lambda session: session.spent.calls == 3 and session.members[0].status == Idle())
        assert await typist.types(f"/export {file}") == [f"written to {file}"]
        assert "exists" in (await typist.types(f"/export {file}"))[0]
    text = file.read_text()
    assert text.startswith("# write **this**\n\nTeam main, ")
    assert "## You\n\nwrite **this**\n\n" in text
    assert "- `edit_file a.py`\n\n```diff\n" in text
    assert text.endswith(f"## lead\n\n{CODE}\n")


async def test_export_without_a_name_takes_one_from_the_team(harness: AppHarness, tmp_path: Path) -> None:
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        async with chat(harness, edits) as typist:
            await said(typist, "hello")
            (line,) = await typist.types("/export")
    finally:
        os.chdir(before)
    (file,) = tmp_path.glob("main-*.md")
    assert line == f"written to {file}"


async def test_copy_hands_the_source_of_the_last_answer_to_the_face(harness: AppHarness) -> None:
    copied: list[str] = []
    async with chat(harness, edits) as typist:
        talk = Talk(typist.session, actions=FaceActions(copy=copied.append))
        assert texts(await talk.carry_out("/copy")) == ["The lead has not said anything yet"]
        await said(typist, "hello")
        assert texts(await talk.carry_out("/copy")) == ["copied the lead's last answer, 34 characters"]
        assert (await typist.types("/copy"))[0] == "Copying needs the terminal UI or a terminal"
    assert copied == [CODE]


async def test_a_theme_is_for_faces_that_have_themes(harness: AppHarness) -> None:
    async with chat(harness, edits) as typist:
        talk = Talk(typist.session, actions=FaceActions(theme=lambda name: [f"theme {name}"]))
        assert texts(await talk.carry_out("/theme dark")) == ["theme dark"]
        assert "NO_COLOR" in (await typist.types("/theme"))[0]


@pytest.mark.parametrize(
    ("line", "feedback"),
    [
        ("/clear", Feedback(leaves=True, next_words="")),
        ("/new fix the tests", Feedback(leaves=True, next_words="fix the tests")),
        ("/exit", Feedback(leaves=True)),
    ],
)
async def test_commands_that_leave(harness: AppHarness, line: str, feedback: Feedback) -> None:
    async with chat(harness, edits) as typist:
        assert await typist.talk.carry_out(line) == feedback


async def test_delegate_is_a_command_of_its_own_too(harness: AppHarness) -> None:
    async with chat(harness, edits) as typist:
        await typist.types("/delegate")
        assert typist.session.permitted.delegates
        await typist.types("/delegate off")
        assert not typist.session.permitted.delegates
        assert (await typist.types("/delegate maybe"))[0].startswith("Usage")
