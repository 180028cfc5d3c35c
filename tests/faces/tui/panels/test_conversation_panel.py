"""The conversation: it follows its end, folds and unfolds, finds, and shows as much of a long one as is looked at."""

from pathlib import Path

import pytest
from textual.strip import Strip

from deskmate.app import Recorded, Streamed
from deskmate.core.agent.entries import Call, Did, Entry, Said, Started
from deskmate.core.prompt.prompts import CallDelta, RetryDelta, TextDelta, ThinkingDelta
from deskmate.faces.common.items.transcript_items import WordsItem
from deskmate.faces.tui.panels.conversation_panel import Conversation
from deskmate.runtime.streams.transcript import Transcript
from deskmate.testing import FakeClock
from tests.chaos.files.naughty_strings import NAUGHTY
from tests.faces.disk_teams import OpenTeam, hands, obeyed
from tests.faces.tui.busy_team import at_work, record
from tests.faces.tui.idle_sessions import SIZES, PanelApp, made
from tests.faces.tui.screen_harness import ScreenHarness, show_team
from tests.faces.tui.snapshots import compare

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("tui")]
SMALL, LARGE = SIZES


async def long_one(team: OpenTeam, clock: FakeClock) -> None:
    await record(team, "lead", Started(name="lead"), *(Said(text=f"word {number}.") for number in range(1, 1001)))


def drawn(screen: ScreenHarness) -> Conversation:
    return screen.app.screen.query_one(Conversation)


async def add(screen: ScreenHarness, folder: Path, *texts: str) -> None:
    """Have the lead say something, in another process for all that the screen knows."""
    await add_words(folder, *texts)


async def add_words(folder: Path, *texts: str) -> None:
    """Have the lead say something."""
    async with hands(folder) as team:
        await record(team, "lead", *(Said(text=text) for text in texts))


# -- as it comes ----------------------------------------------------------------------------------


async def test_words_are_seen_as_they_come_and_once_when_they_are_written(tmp_path: Path) -> None:
    folder = await at_work(tmp_path)
    async with show_team(folder, SMALL) as screen:
        await screen.sees("make serve")
        screen.feed.tell(Streamed("lead", ThinkingDelta("Which one")))
        await screen.sees("thinking", "Which one")
        screen.feed.tell(Streamed("lead", TextDelta("The first [b]one")))
        await screen.sees("The first [b]one▍")
        screen.feed.tell(Streamed("lead", TextDelta(", then")))
        screen.feed.tell(Streamed("lead", CallDelta("bash")))
        await screen.sees("The first [b]one, then▍", "· bash")
        await add(screen, folder, "The first [b]one, then the other.")
        await screen.sees("then the other.")
        await screen.sees_no("▍")
        assert sum("The first [b]one" in line for line in screen.lines) == 1


async def test_an_answer_that_is_asked_for_again_is_taken_back(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        screen.feed.tell(Streamed("lead", TextDelta("half of")))
        await screen.sees("half of▍")
        screen.feed.tell(Streamed("lead", RetryDelta(3, "overloaded", "claude")))
        await screen.sees("trying claude again in 3 s: overloaded")
        await screen.sees_no("half of")


async def test_what_a_member_says_that_nobody_watches_is_not_drawn(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        await screen.sees("make serve")
        screen.feed.tell(Streamed("alice", TextDelta("nobody reads this")))
        screen.feed.tell(Recorded("alice", 900, Said(text="nor this")))
        screen.feed.tell(Streamed("lead", TextDelta("but this")))
        await screen.sees("but this▍")
        await screen.sees_no("nobody reads this")
        await screen.press("tab")
        await screen.sees("to alice")
        await screen.sees_no("nobody reads this")


async def test_what_the_user_wrote_is_seen_before_it_is_heard(tmp_path: Path) -> None:
    folder = await at_work(tmp_path)
    async with show_team(folder, SMALL) as screen:
        await screen.type("and the docs")
        await screen.session.look()
        await screen.sees("you not read yet", "and the docs")
        async with hands(folder) as team:
            await team.mailbox("lead").hear(await Transcript.load(team.writer, "lead"))
        await screen.sees_no("not read yet")
        await screen.sees("and the docs")


class Counting(Conversation):
    """Count the lines that are drawn."""

    drawn = 0

    def render_line(self, y: int) -> Strip:
        self.drawn += 1
        return super().render_line(y)


async def test_what_did_not_change_is_not_drawn_again() -> None:
    items, panel = [WordsItem(str(number), "x") for number in range(9)], Counting()
    async with PanelApp(panel).run_test(size=SMALL) as pilot:
        panel.show("lead", items, {"bob": "cyan"})
        await pilot.pause()
        panel.drawn = 0
        panel.show("lead", list(items), {"bob": "cyan"})
        await pilot.pause()
        assert panel.drawn == 0
        panel.show("lead", [*items, WordsItem("9", "y")], {"bob": "cyan"})
        await pilot.pause()
        assert panel.drawn > 0


# -- its end --------------------------------------------------------------------------------------


async def test_the_end_is_followed_until_somebody_scrolls_up_and_again_from_the_end_on(tmp_path: Path) -> None:
    folder = await made(tmp_path, long_one)
    async with show_team(folder, SMALL) as screen:
        await screen.sees("word 1000.")
        await add(screen, folder, "one more.")
        await screen.sees("one more.")
        await screen.press("pageup")
        await screen.sees("below: End")
        await screen.sees_no("one more.")
        before = screen.lines
        await add(screen, folder, "and another.")
        await screen.until(lambda: screen.lines[2] != before[2])
        assert screen.lines[3:] == before[3:]
        await screen.press("pagedown", "pagedown")
        await screen.sees("and another.")
        await add(screen, folder, "and the last.")
        await screen.sees("and the last.")


async def test_what_is_typed_brings_the_end_back(tmp_path: Path) -> None:
    async with show_team(await made(tmp_path, long_one), SMALL) as screen:
        await screen.sees("word 1000.")
        await screen.press("pageup")
        await screen.sees_no("word 1000.")
        await screen.type("/help")
        await screen.sees("/quit")


async def test_a_long_conversation_is_laid_out_as_far_as_it_is_looked_at(tmp_path: Path) -> None:
    folder = await made(tmp_path, long_one)
    async with show_team(folder, LARGE) as screen:
        await screen.sees("word 1000.")
        heights = [drawn(screen).virtual_size.height]
        await screen.press("f6")
        for first in ("word 851.", "word 701.", "word 551."):
            await screen.press("g")
            await screen.sees(first)
            heights.append(drawn(screen).virtual_size.height)
        assert heights == [301, 601, 901, 1201]
        await screen.press("G")
        await add(screen, folder, "one more.")
        await screen.sees("one more.")
        assert drawn(screen).virtual_size.height == 301


async def test_of_long_answers_only_as_many_are_laid_out_at_first_as_a_page_has(tmp_path: Path) -> None:
    answer = "# Title\n\n" + "Some **bold** words, and more of them.\n\n" * 500

    async def long_answers(team: OpenTeam, clock: FakeClock) -> None:
        said = (Said(text=f"{answer}answer {number}.") for number in range(1, 16))
        await record(team, "lead", Started(name="lead"), *said)

    async with show_team(await made(tmp_path, long_answers), LARGE) as screen:
        await screen.sees("answer 15.")
        height = drawn(screen).virtual_size.height
        assert 2000 < height < 5000
        await screen.press("f6", "g")
        await screen.until(lambda: drawn(screen).virtual_size.height > height)


# -- folding --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_a_result_unfolds_and_folds(tmp_path: Path, size: tuple[int, int]) -> None:
    async with show_team(await at_work(tmp_path), size) as screen:
        await screen.sees("make serve", "may I use bash?")
        await screen.press("f6", *["up"] * 5, "enter")
        await screen.sees("▾ 30 lines", "command: make test", "test 0 passed")
        await compare(screen.app, "unfolded")
        await screen.press("o")
        await screen.sees("▸ 30 lines")
        await screen.sees_no("test 0 passed")


async def test_all_unfold_and_fold(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (160, 90)) as screen:
        await screen.sees("make serve", "▸ 30 lines")
        await screen.press("f6", "O")
        await screen.sees("test 29 passed", "E501 too long", "Then the tests.", "command: make serve")
        await screen.press("O")
        await screen.sees_no("test 0 passed")


async def test_a_click_unfolds(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), LARGE) as screen:
        await screen.sees("make serve", "thought  ▸ 2 lines")
        y = next(y for y, line in enumerate(screen.lines) if "thought" in line)
        await screen.pilot.click(offset=(45, y))
        await screen.sees("thought  ▾ 2 lines", "A small change.")


async def test_without_a_choice_the_last_that_can_be_unfolded_is(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        await screen.sees("make serve")
        await screen.press("f6", "enter")
        await screen.sees("command: make serve")


async def test_what_is_selected_with_the_mouse_is_copied_and_nothing_is_folded_or_interrupted(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), (80, 40)) as screen:
        await screen.sees("make serve", "make test", "make lint")
        first = next(y for y, line in enumerate(screen.lines) if "make test" in line)
        last = next(y for y, line in enumerate(screen.lines) if "make lint" in line)
        await screen.pilot.mouse_down(offset=(3, first))
        await screen.pilot.hover(offset=(16, last))
        await screen.pilot.mouse_up(offset=(16, last))
        await screen.press("ctrl+c")
        last_lines = "test 27 passed\ntest 28 passed\ntest 29 passed"
        assert screen.app.clipboard == f"bash make test\n{last_lines}\nbash make lint"
        await screen.sees("Copied 5 lines")
        await screen.sees("▸ 30 lines")
        await screen.sees_no("again to leave")


async def test_the_chosen_block_is_copied_as_it_was_written(tmp_path: Path) -> None:
    folder = await made(tmp_path, long_one)
    source = f"# Title\n\n- **{'word ' * 40}**"
    await add_words(folder, source)
    async with show_team(folder, SMALL) as screen:
        await screen.sees("Title")
        await screen.press("f6", "c")
        assert screen.app.clipboard == source.rstrip()
        await screen.sees("Copied 3 lines")
        await screen.press("up", "up", "c")
        assert screen.app.clipboard == "word 1000."


async def test_before_it_has_a_size_nothing_is_laid_out() -> None:
    panel = Conversation()
    panel.display = False
    async with PanelApp(panel).run_test(size=SMALL) as pilot:
        panel.show("lead", [WordsItem("1", "word " * 10)], {})
        assert panel.virtual_size.height == 0
        panel.display = True
        await pilot.pause()
        assert panel.virtual_size.height == 1


# -- finding --------------------------------------------------------------------------------------


async def test_what_is_looked_for_is_found_upwards_and_unfolded(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        await screen.sees("make serve")
        await screen.press("ctrl+f")
        await screen.type("0 PASSED")
        await screen.sees("─1 of 3", "test 20 passed")
        await screen.press("escape", "ctrl+f", *["backspace"] * 8)
        await screen.type("make")
        # Each command is in its title and below it.
        await screen.sees("─1 of 6", "make serve")
        await screen.press("enter", "enter")
        await screen.sees("─3 of 6", "make lint")
        await compare(screen.app, "found")
        await screen.press("f6", "N")
        await screen.sees("─2 of 6", "make serve")
        await screen.press("n", "n", "n", "n", "n")
        await screen.sees("─1 of 6", "make serve")


async def test_every_hit_in_an_entry_is_a_step_and_the_one_in_turn_looks_different(tmp_path: Path) -> None:
    folder = await made(tmp_path, long_one)
    # The third is broken at the edge of the screen.
    await add_words(folder, f"A *needle* and a needle.\n\n{'x' * 75}needleneedle")
    async with show_team(folder, SMALL) as screen:
        await screen.sees("A needle")
        await screen.press("ctrl+f")
        await screen.type("needle")
        await screen.sees("lead  1 of 4")
        seen = [hits(screen)]
        for key in ("up", "up", "up", "down"):
            await screen.press(key)
            await screen.pilot.pause()
            seen.append(hits(screen))
        others = [("needle", False)]
        assert seen[0] == [*others * 2, ("ne", False), ("edle", False), ("needle", True)]
        assert seen[1] == [*others * 2, ("ne", True), ("edle", True), *others]
        assert seen[3] == [("needle", True), *others, ("ne", False), ("edle", False), *others]
        assert seen[4] == seen[2]
        await screen.press("escape")
        await screen.sees_no("of 4")
        assert hits(screen) == []


def hits(screen: ScreenHarness) -> list[tuple[str, bool]]:
    """Return what is marked as found in the conversation, and whether it is the one in turn."""
    panel = screen.app.screen.query_one("#conversation", Conversation)
    segments = [one for y in range(panel.size.height) for one in panel.render_line(y)]
    found = [(one.text, bool(one.style.reverse)) for one in segments if one.style and one.style.bold]
    return [(text, chosen) for text, chosen in found if text.strip() and text in "needle"]


async def test_what_stands_far_above_is_found_too(tmp_path: Path) -> None:
    async with show_team(await made(tmp_path, long_one), SMALL) as screen:
        await screen.sees("word 1000.")
        await screen.press("f6", "slash")
        await screen.type("word 17.")
        await screen.sees("word 17.", "─1 of 1")


async def test_what_is_not_there_is_said_to_be_not_there(tmp_path: Path) -> None:
    async with show_team(await at_work(tmp_path), SMALL) as screen:
        await screen.press("ctrl+f")
        await screen.type("nowhere")
        await screen.sees("nothing found")
        await screen.press("escape")
        await screen.sees_no("nothing found")


# -- what others wrote ----------------------------------------------------------------------------


async def test_no_words_of_others_reach_the_terminal_as_commands(tmp_path: Path) -> None:
    async def naughty(team: OpenTeam, clock: FakeClock) -> None:
        entries: list[Entry] = [Started(name="lead")]
        for words in NAUGHTY:
            entries.append(Said(text=words, calls=(Call(tool="bash", arguments={"command": words}),)))
            entries.append(Did(call=f"lead:{len(entries)}.0", text=words * 3))
        await record(team, "lead", *entries)

    async with show_team(await made(tmp_path, naughty), SMALL) as screen:
        await screen.press("f6", "O", "g")
        for _ in range(12):
            await screen.press("pagedown")
            assert all(obeyed(line) == [] for line in screen.lines)
            assert all(line.startswith(("─", " ", "▎")) or not line for line in screen.lines[3:-4])
