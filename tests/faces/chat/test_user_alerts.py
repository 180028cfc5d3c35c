"""Being told: once for each thing, by the terminal or by a command, and never in a pipe."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.app import load
from deskmate.app.session import Session
from deskmate.core.team.status import Idle, Parked
from deskmate.errors import BadSettings
from deskmate.faces.common.chat.user_alerts import BELL, LONG_TURN_SECONDS, UserAlerts, notification_sequence
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears
from tests.faces.chat.chat_harness import ChatHarness, chat
from tests.faces.chat_program import ChatProgram
from tests.faces.terminal import at_terminal
from tests.scenarios.app_harness import AppHarness
from tests.scenarios.conftest import harness

__all__ = ["harness"]

XTERM = {"TERM": "xterm"}


def asks(asked: Asked) -> Say:
    return Say("Done.") if asked.results or hears(asked, "hello") else Say("", [Use("bash", {"command": "ls"})])


class Told:
    """What alerts wrote, at a time that the test sets."""

    def __init__(self, session: Session, **environ: str) -> None:
        self.written: list[str] = []
        self.noted: list[str] = []
        self.time = 0.0
        self.alerts = UserAlerts(
            session, self.written.append, self.noted.append, {**XTERM, **environ}, lambda: self.time
        )
        session.listen(self.alerts.look)

    def told(self) -> list[str]:
        return [one for one in self.written if one.startswith(BELL)]


async def rests(typist: ChatHarness) -> None:
    await typist.until(lambda session: session.spent.calls > 0 and session.members[0].status == Idle())


@pytest.mark.anyio
async def test_a_question_is_told_once_and_the_title_says_that_it_waits(harness: AppHarness) -> None:
    async with chat(harness, asks) as typist:
        told = Told(typist.session)
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions))
        await typist.session.look()
        assert told.told() == [f"{BELL}\x1b]9;main: lead asks: may I use bash?{BELL}"]
        assert told.written[-1] == f"\x1b]0;? 1 question - go - deskmate{BELL}"
        await typist.types("/yes 1")
        await rests(typist)
        assert told.written[-1] == f"\x1b]0;go - deskmate{BELL}"
        told.alerts.close()
        assert told.written[-1] == "\x1b[23;0t"


@pytest.mark.anyio
@pytest.mark.parametrize(("seconds", "count"), [(LONG_TURN_SECONDS, 1), (LONG_TURN_SECONDS - 1, 0)])
async def test_the_end_of_a_long_turn_is_told(harness: AppHarness, seconds: float, count: int) -> None:
    async with chat(harness, asks) as typist:
        told = Told(typist.session)
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions))
        before = told.told()
        told.time = seconds
        await typist.types("/yes 1")
        await rests(typist)
        assert told.told()[len(before) :] == [f"{BELL}\x1b]9;main: lead is done{BELL}"] * count


@pytest.mark.anyio
async def test_who_is_parked_is_told_with_the_reason(harness: AppHarness) -> None:
    async with chat(harness, asks) as typist:
        told = Told(typist.session)
        await typist.types("hello")
        await rests(typist)
        await typist.types("/budget money 0.000001")
        await typist.types("hello")
        await typist.until(lambda session: isinstance(session.members[0].status, Parked))
        assert len(told.told()) == 1
        assert "main: lead is parked: " in told.told()[0]


@pytest.mark.anyio
async def test_a_command_gets_the_text_as_one_argument_and_no_shell_reads_it(
    harness: AppHarness, tmp_path: Path, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    script, file = tmp_path / "tell me", tmp_path / "told"
    script.write_text(f'#!/bin/sh\nprintf "%s|" "$ANTHROPIC_API_KEY" "$@" > "{file}.new" && mv "{file}.new" "{file}"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    async with chat(harness, asks, notify=f"'{script}' 'a b' $HOME") as typist:
        told = Told(typist.session, ANTHROPIC_API_KEY="sk-ant-" + "api03-Zk3x9QpL7vT2mB8")
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions))
        eventually(file.exists)
        assert file.read_text() == "|a b|$HOME|main: lead asks: may I use bash?|"
        assert (told.told(), told.noted) == ([], [])


@pytest.mark.anyio
async def test_a_command_that_is_not_there_is_told_once(
    harness: AppHarness, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    async with chat(harness, asks, notify="/nowhere/at/all") as typist:
        told = Told(typist.session)
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions))
        eventually(lambda: bool(told.noted))
        assert len(told.noted) == 1
        assert "notify" in told.noted[0]


@pytest.mark.anyio
async def test_who_wants_nothing_is_told_nothing(harness: AppHarness) -> None:
    async with chat(harness, asks, notify=False) as typist:
        told = Told(typist.session)
        await typist.types("go")
        await typist.until(lambda session: bool(session.questions))
        told.alerts.close()
        assert told.written == []


@pytest.mark.parametrize(
    ("environ", "sequence"),
    [
        ({"TERM": "xterm-256color"}, "\x1b]9;a;b\a"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, "\x1b]777;notify;Deskmate;a,b\a"),
        ({"TERM": "foot"}, "\x1b]777;notify;Deskmate;a,b\a"),
    ],
)
def test_a_terminal_is_told_in_its_own_way(environ: dict[str, str], sequence: str) -> None:
    assert notification_sequence("a;b", environ) == sequence


@pytest.mark.parametrize("value", ["", "'open", 7])
def test_a_command_that_cannot_be_one_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(BadSettings):
        load({"HOME": str(tmp_path)}, {"notify": value})


def test_the_terminal_of_a_plain_chat_rings_and_gets_its_title_back(shared: ChatProgram, tmp_path: Path) -> None:
    place = shared.own(tmp_path, NO_COLOR="1")
    with at_terminal("--plain", cwd=place.folder, env=place.env) as terminal:
        terminal.say("ls")
        terminal.see("question 1")
        terminal.until(lambda: "\x1b]9;main: lead asks: may I use bash?\a" in terminal.raw)
        terminal.prompted()
        terminal.type("\x04")
        assert terminal.end() == 0
        assert terminal.raw.count("\x1b[22;0t") == terminal.raw.count("\x1b[23;0t") == 1


def test_a_pipe_gets_no_bell(shared: ChatProgram, tmp_path: Path) -> None:
    end = shared.own(tmp_path, TERM=os.environ.get("TERM", "xterm")).piped("ls\n/no\n")
    assert BELL not in end.stdout + end.stderr
