"""Team files on the command line: started, listed, refused in words, and only after trust."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faces.chat_program import ChatProgram

pytestmark = pytest.mark.behaviour("team-files")

TEAM = """
about = "Two who wait"
words = "Say hello."
[[members]]
name = "ann"
role = "help"
"""


@pytest.fixture
def place(shared: ChatProgram, tmp_path: Path) -> ChatProgram:
    # A home inside of the workspace would not count.
    place = replace(shared.own(tmp_path), folder=tmp_path / "work")
    (place.folder / ".deskmate/teams").mkdir(parents=True)
    (place.folder / ".deskmate/teams/pair.toml").write_text(TEAM)
    return place


def test_a_trusted_team_file_is_listed_and_started(place: ChatProgram) -> None:
    assert ".deskmate/teams/pair.toml (new, not trusted)" in place.typed("teams files").stdout
    refused = place.typed("run --team-file pair")
    assert refused.code != 0
    assert "you have not trusted it" in refused.stderr
    assert place.teams == []
    assert place.typed("trust --yes").code == 0
    assert place.typed("teams files").stdout.splitlines() == [
        "pair  .deskmate/teams/pair.toml",
        "  Two who wait",
        "  members: ann (help)",
    ]
    end = place.typed("run --team-file pair 'And be brief.'")
    # The lead did not ask ann to leave.
    assert (end.code, place.teams) == (4, ["pair"])
    assert "Say hello.\\n\\nAnd be brief." in place.typed("inbox lead --json").stdout
    assert "ann" in place.typed("teams -v").stdout


def test_a_conversation_may_begin_with_a_team_file(place: ChatProgram) -> None:
    end = place.piped("thanks\n", "--trust", "--team-file", "pair")
    assert end.code == 0
    assert place.teams == ["pair"]


def test_a_team_file_starts_a_new_team_only(place: ChatProgram) -> None:
    assert place.typed("run --team-file pair --team main").code == 2
    assert place.typed("--team-file pair --continue").code == 2
    assert "There is no team file nobody" in place.typed("run --team-file nobody").stderr
