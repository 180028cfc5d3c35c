"""A lead's next team, in one conversation: nothing old is told again, and nothing new is taken for something old."""

from pathlib import Path

import pytest

from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import hears, member_of
from tests.faces.chat_program import chat_program

pytestmark = pytest.mark.behaviour("repl")
PLANS = {"first": "Paint the fence.", "second": "Delete every file."}


def play(asked: Asked) -> Say:
    """Found and delete teams, hire an alice who submits a plan, write to the user: as one is told."""
    if asked.results:
        return Say("Done.")
    if member_of(asked) == "alice":
        team = next(team for team in PLANS if f"in {team}" in str(asked.prompt.passages))
        return Say("I plan.", [Use("ExitPlanMode", {"plan": PLANS[team]})])
    if hears(asked, "write me"):
        return Say("", [Use("SendMessage", {"recipient": "user", "content": "hello user", "summary": "hello"})])
    if hears(asked, "delete"):
        return Say("", [Use("TeamDelete", {"force": True})])
    for team in PLANS:
        if hears(asked, f"hire {team}"):
            alice = {"name": "alice", "prompt": f"You are in {team}.", "role": "dev", "plan_mode_required": True}
            return Say("", [Use("Task", alice)])
        if hears(asked, f"found {team}"):
            return Say("", [Use("TeamCreate", {"team_name": team})])
    return Say("Fine.")


def test_mail_to_the_user_is_told_once_whatever_team_the_lead_goes_to(tmp_path: Path) -> None:
    with chat_program(tmp_path, play) as place:
        end = place.piped("write me\nfound first\nhello\nwrite me\nhello\ndelete\nhello\n")
    assert end.code == 0
    assert end.stderr.splitlines().count("mail to you:") == 2


def test_a_plan_of_the_next_alice_is_shown_before_it_can_be_approved(tmp_path: Path) -> None:
    with chat_program(tmp_path, play) as place:
        end = place.piped("found first\nhire first\n/yes\ndelete\nfound second\nhire second\n/yes 1\n/yes\n")
    lines = end.stderr.splitlines()
    shown = [line for line in lines if line.startswith(("question", "    ", "yes to", "Question 1 is"))]
    assert shown == [
        "question 1: alice submits a plan",
        f"    {PLANS['first']}",
        f"yes to alice: a plan: {PLANS['first']}",
        "question 2: alice submits a plan",
        f"    {PLANS['second']}",
        "Question 1 is not open",
        f"yes to alice: a plan: {PLANS['second']}",
    ]
