"""What an agent reads instead of its conversation after a compaction, reviewed as text."""

from dataclasses import replace

import pytest

from deskmate.core.agent.entries import Compacted, Noticed
from deskmate.core.prompt.compaction import summary_request, summary_text
from deskmate.core.prompt.rendering import framed_summary
from deskmate.core.radar.overlaps import Overlap
from tests.texts.golden import compare
from tests.texts.sample_team import BOARD, TEAM, TRANSCRIPTS, numbered, remembered

MODEL_TEXT = "(Here is the summary that the model wrote.)"


def summary_of(who: str) -> str:
    entries = numbered(*TRANSCRIPTS[who])
    summary = summary_text(MODEL_TEXT, remembered(entries), entries, BOARD, TEAM)
    return framed_summary(Compacted(upto=entries[-1][0], summary=summary))


@pytest.mark.behaviour("compact-auto")
@pytest.mark.parametrize("who", TRANSCRIPTS)
def test_the_summary_is_the_one_that_was_reviewed(who: str) -> None:
    compare(f"summaries/{who}", summary_of(who))


@pytest.mark.behaviour("compact-auto")
def test_a_lead_that_leads_another_team_reads_which_one() -> None:
    entries = numbered(*TRANSCRIPTS["lead"])
    away = replace(remembered(entries), away="web")
    compare("summaries/lead-away", summary_text(MODEL_TEXT, away, entries[:1], BOARD, TEAM))


@pytest.mark.behaviour("radar")
def test_a_summary_says_whose_work_meets_that_of_the_agent() -> None:
    entries = numbered(*TRANSCRIPTS["teammate"])
    told = Overlap(kind="edits", members=("alice", "erin"), files=("src/app.py",))
    later = Overlap(kind="moved", members=("alice",), files=("src/app.py",))
    board = replace(BOARD, overlaps={told: 1, later: 9})
    memory = replace(remembered(entries), noticed=(1, 1))
    whole = summary_text(MODEL_TEXT, memory, entries, board, TEAM)
    [section] = [part for part in whole.split("\n\n") if part.startswith("Others change")]
    compare("summaries/overlaps", section)
    # What it has not answered yet has that line already.
    unread = [*entries, (99, Noticed(text=section.splitlines()[1].removeprefix("- "), roster=1, board=1))]
    assert "Others change" not in summary_text(MODEL_TEXT, memory, unread, board, TEAM)


@pytest.mark.behaviour("compact-auto")
def test_the_request_for_a_summary_is_the_one_that_was_reviewed() -> None:
    compare("summaries/request", summary_request("the loaders"))
