"""The picture that opens the README: what a terminal showed, as one file that any browser plays."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.pictures.film import film
from docs.pictures.recording import Frame, Style, Terminal, record, shortened

DEMO = Path(__file__).parents[1] / "docs/pictures/demo.svg"
MOST_BYTES = 1_500_000
SVG = "{http://www.w3.org/2000/svg}"


def shown(terminal: Terminal) -> list[str]:
    return ["".join(text for _, text, _ in row).rstrip() for row in terminal.rows()]


def test_a_terminal_returns_to_what_it_showed_before_a_full_screen_program() -> None:
    terminal = Terminal(20, 2)
    terminal.feed("$ demo\x1b[?1049h\x1b[>1u\x1b[?2026$p\x1b[1;31mscreen")
    assert (shown(terminal), terminal.rows()[0]) == (
        ["screen", ""],
        ((0, "screen" + 14 * " ", Style("red", bold=True)),),
    )
    # An order may come in two pieces.
    terminal.feed("\x1b[?10")
    terminal.feed("49l\r\nKilled")
    assert shown(terminal) == ["$ demo", "Killed"]


def test_a_program_is_recorded_to_its_end_and_answered() -> None:
    program = "print('ready?'); print('got', input())"
    frames = record([sys.executable, "-c", program], (40, 5), {}, {"ready?": (0.0, "yes\n")})
    assert frames[-1].shows("got yes")


def test_pauses_are_cut_and_a_long_recording_is_played_faster() -> None:
    frames = [Frame(seconds, ()) for seconds in (0.0, 1.0, 9.0)]
    assert [frame.seconds for frame in shortened(frames, 2.0, 60.0)] == [0.0, 1.0, 3.0]
    assert [frame.seconds for frame in shortened(frames, 2.0, 1.5)] == [0.0, 0.5, 1.5]


def test_a_film_draws_each_row_once_and_shows_each_frame_in_its_time() -> None:
    row = ((0, "a < b", Style("red", "default")),)
    svg = film([Frame(0.0, (row, row)), Frame(1.0, (row,))], 4.0, (10, 2), "demo", 1)
    root = ElementTree.fromstring(svg)
    assert [text.text for text in root.iter(f"{SVG}text")] == ["a < b", "demo"]
    assert len(list(root.iter(f"{SVG}use"))) == 3
    assert "0.000%{transform:translateX(0px)}25.000%{transform:translateX(-104px)}" in svg


@pytest.mark.behaviour("demo")
def test_the_picture_of_the_demo_shows_the_kill_and_is_small_enough_to_load() -> None:
    texts = {text.text for text in ElementTree.parse(DEMO).iter(f"{SVG}text")}
    assert any(text and text.startswith("kill -9 ") for text in texts)
    assert "deskmate resume graphql" in texts
    assert any(text and "Nothing was lost" in text for text in texts)
    assert DEMO.stat().st_size < MOST_BYTES
