"""At the screen of a team that is played: what is typed, asked, interrupted and left, with a scripted provider."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deskmate.faces.tui.draft.draft_input import Draft
from deskmate.faces.tui.drawing.live_text import LIVE_END
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import Plan, Slow, Stall
from tests.faces.tui.idle_sessions import SIZES
from tests.faces.tui.screen_harness import ScreenHarness, show_live_team

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
SMALL, LARGE = SIZES
SPAWN = Use("Task", {"name": "alice", "prompt": "Wait for word.", "role": "dev"})
BUILD = Use("bash", {"command": "echo built"})


def answers(asked: Asked) -> Say:
    return Say(f"You said: {asked.texts[-1][-40:]}")


def team(asked: Asked) -> Say:
    """Have a lead with a teammate. Each says so if it gets a message."""
    if "alice" in asked.system.partition("\n")[0] or "You are alice" in asked.system:
        return Say(f"alice here: {asked.texts[-1][-20:]}")
    return Say("Alice comes.", [SPAWN]) if len(asked.prompt.passages) == 1 else Say("Ready.")


def builds(asked: Asked) -> Say:
    """Ask for a command, and tell what became of it."""
    return Say(asked.results[0].text[:60]) if asked.results else Say("I build.", [BUILD])


async def leaving(screen: ScreenHarness) -> None:
    """Wait until the screen is left."""
    await screen.until(lambda: not screen.app.is_running)


async def test_what_is_typed_is_said_to_the_lead_and_its_answer_is_shown(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.type("which port?")
        await screen.sees("▌ you", "▌ which port?", "You said:")


async def test_who_begins_is_told_how(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.sees("Type what you want the team to do, then press Enter. F1 shows all keys.")
        await screen.type("which port?")
        await screen.sees_no("Type what you want")


async def test_first_words_are_there_from_the_beginning(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL, "which port?") as screen:
        await screen.sees("▌ which port?", "You said:")


async def test_an_answer_is_seen_while_it_comes(tmp_path: Path) -> None:
    plan: Plan = {0: Stall(0.6)}
    words = " ".join(f"word{number}" for number in range(60))
    async with (
        FakeProvider([Say(words)], faults=plan) as provider,
        show_live_team(tmp_path, provider, SMALL, "go") as screen,
    ):
        await screen.sees("word0 word1", "▍")
        await screen.sees_no("word59")


async def test_what_a_command_prints_is_seen_while_it_runs_and_how_long_it_takes(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    command = f"for n in 1 2 3 4; do echo line $n; done; until test -e {gate}; do read -t 0.1 <> <(:); done; echo end"
    script = [Say("I run it.", [Use("bash", {"command": command})]), Say("It ran.")]
    async with (
        FakeProvider(script) as provider,
        show_live_team(tmp_path, provider, SMALL, "go", permission_mode="dontAsk") as screen,
    ):
        await screen.sees("│ line 2", "│ line 3", "│ line 4", "0:0")
        await screen.sees_no("│ line 1")
        gate.touch()
        await screen.sees("│ end", "▸ 5 lines", "It ran.")


async def test_a_slow_answer_stands_there_once_when_it_is_done(tmp_path: Path) -> None:
    plan: Plan = {0: Slow(30, 0.02)}
    async with (
        FakeProvider([Say("one two three four")], faults=plan) as provider,
        show_live_team(tmp_path, provider, SMALL, "go") as screen,
    ):
        await screen.sees("one two three four")
        await screen.sees_no("▍")
        assert sum("one two" in line for line in screen.lines) == 1


async def test_a_long_line_is_shown_whole_once_it_is_unfolded(tmp_path: Path) -> None:
    words = "long " * 600 + "and its end"
    async with FakeProvider([Say(words)]) as provider, show_live_team(tmp_path, provider, SMALL, "go") as screen:
        await screen.sees("1,011 more characters:")
        await screen.press("f6", "enter", "end")
        await screen.sees("and its end")
        await screen.sees_no("more characters")


async def test_plain_words_go_to_the_member_that_is_watched(tmp_path: Path) -> None:
    async with FakeProvider(team) as provider, show_live_team(tmp_path, provider, SMALL, "begin") as screen:
        await screen.sees("Ready.", "alice")
        await screen.press("tab")
        await screen.sees("to alice")
        await screen.type("are you there?")
        await screen.sees("said to alice", "alice here: ")
        await screen.type("/mode")
        await screen.sees("│ mode: default")
        await screen.type("@lead and you?")
        await screen.press("alt+up")
        await screen.sees("to lead", "Ready.", "▌ and you?")
        await screen.sees_no("alice here: ")


async def test_a_command_is_carried_out_and_its_reply_is_shown_where_one_looks(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.type("/mode acceptEdits")
        await screen.sees("│ mode of the team from now on: acceptEdits", "acceptEdits  no sandbox  claude")
        await screen.type("/taem")
        await screen.sees("Did you mean /team?")
        await screen.type("@nobody hello")
        await screen.sees("nobody")


async def test_lines_are_kept_together_and_come_back(tmp_path: Path) -> None:
    kept: list[str] = []
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL, keep=kept.append) as screen:
        await screen.press(*"one", "ctrl+j", *"two")
        await screen.sees(" one", " two")
        await screen.press("enter")
        await screen.sees("▌ one", "▌ two")
        await screen.type("three")
        await screen.sees("▌ three")
        await screen.press(*"draft", "up", "up")
        await screen.sees(" one", " two")
        await screen.press("down", "down")
        await screen.sees(" draft")
    assert kept == ["one\ntwo", "three"]


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_who_is_watched_is_interrupted_while_it_is_busy(tmp_path: Path, key: str) -> None:
    plan: Plan = {0: Stall(0.5)}
    async with (
        FakeProvider([Say("half of it, and then the rest")], faults=plan) as provider,
        show_live_team(tmp_path, provider, SMALL, "go") as screen,
    ):
        await screen.until(lambda: screen.session.busy == ("lead",))
        await screen.press(key)
        await screen.sees("lead was interrupted. It waits until you write to it", "  idle  ")


async def test_an_interrupted_answer_stays_on_the_screen_and_the_notice_is_below_it(tmp_path: Path) -> None:
    text = "These words have arrived already. " * 4 + "And these come much later."
    async with (
        FakeProvider([Say(text)], faults={0: Stall(0.5)}) as provider,
        show_live_team(tmp_path, provider, SMALL, "go") as screen,
    ):
        await screen.sees("These words have")
        await screen.press("escape")
        await screen.sees("These words have", "(interrupted)", "lead was interrupted", "  idle  ")
        await screen.sees_no(LIVE_END)
        places = [
            next(i for i, line in enumerate(screen.lines) if words in line)
            for words in ("These words have", "(interrupted)", "lead was interrupted")
        ]
        assert places == sorted(places)
        await screen.type("again")
        await screen.sees("much later.", "(interrupted)")


async def test_twice_leaves_and_once_does_not(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press("ctrl+c")
        await screen.sees("Press Ctrl-C again to leave")
        await screen.press("escape")
        assert screen.app.is_running
        await screen.press("ctrl+c")
        await leaving(screen)


async def test_a_second_time_long_after_the_first_does_not_leave(tmp_path: Path) -> None:
    times = [0.0]
    async with (
        FakeProvider(answers) as provider,
        show_live_team(tmp_path, provider, SMALL, now=lambda: times[0]) as screen,
    ):
        await screen.press("ctrl+c")
        await screen.sees("again to leave")
        times[0] = 3.0
        await screen.sees_no("again to leave")
        await screen.press("ctrl+c")
        await screen.sees("again to leave")
        assert screen.app.is_running


@pytest.mark.parametrize("leave", [lambda screen: screen.type("/quit"), lambda screen: screen.press("ctrl+d")])
async def test_it_is_left_by_a_command_and_by_the_end_of_what_is_typed(
    tmp_path: Path, leave: Callable[[ScreenHarness], object]
) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press("a", "ctrl+d", "backspace")
        assert screen.app.is_running
        await leave(screen)  # type: ignore[misc]
        await leaving(screen)


async def test_a_show_that_is_over_stays_until_it_is_left(tmp_path: Path) -> None:
    async with FakeProvider(answers) as provider, show_live_team(tmp_path, provider, SMALL) as screen:
        await screen.press("q")
        await screen.sees(" q")
        await screen.press("backspace")
        screen.app.end_show("That was the show.")
        await screen.sees("That was the show.", "Press q to leave.")
        await screen.press("f3", "escape", "x")
        assert screen.app.is_running
        assert "q leave" in screen.lines[-1]
        assert "write" not in screen.lines[-1]
        assert not screen.app.screen.query_one(Draft).text
        await screen.press("q")
        await leaving(screen)
