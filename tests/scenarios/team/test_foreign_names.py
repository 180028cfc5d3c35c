"""Members whose names are in any script and any case, through the product: mail, tasks, files, and looking at them."""

import pytest

from deskmate.app.user_actions import send
from deskmate.core.log.names import LEAD
from deskmate.errors import UnknownRecipient
from deskmate.queries.member_view import look_at_inbox, look_at_transcript
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import add_task, given_task, hears, in_turn, send_mail, spawn, update_task
from tests.scenarios.team.team_runner import TeamRunner

pytestmark = pytest.mark.anyio
LONG = Use("bash", {"command": "seq 1 40000"})


@pytest.mark.behaviour("send", "spawn")
async def test_names_in_any_script_work_as_members_owners_and_files(runner: TeamRunner) -> None:
    def alice(asked: Asked) -> Say:
        number = given_task(asked)
        if number:
            return Say(calls=[LONG, update_task(number, status="completed")])
        return Say("Well.")

    def front(asked: Asked) -> Say:
        return Say(calls=[send_mail("alice@Main", "页面好了")]) if hears(asked, "begin") else Say("好")

    goes = in_turn(
        Say(calls=[spawn("Alice"), spawn("前端"), spawn("ALICE"), spawn("Leаd")]),
        Say(calls=[add_task("page", owner="alice"), send_mail("前端", "begin")]),
    )
    played = await runner.play({"lead": goes, "Alice": alice, "前端": front})

    refused = [block.text for block in played.requests_of(LEAD)[1].results if not block.ok]
    assert "differs from 'Alice' only by case" in refused[0]
    assert "mixes letters of several scripts" in refused[1]
    assert played.mail_to("Alice") == [("前端", "页面好了")]
    found = {path.name for path in (runner.place / ".teams" / "main").iterdir()}
    assert {f"{name}{kind}" for name in ("Alice", "前端") for kind in ("_inbox.jsonl", ".seat")} <= found
    blobs = [path.name for path in (runner.place / ".teams" / "main" / "blobs").iterdir()]
    assert [name for name in blobs if name.startswith("Alice-")] != []
    assert look_at_transcript(runner.place, "main", "aLICE").member == "Alice"
    assert "前端" in [letter.envelope.sender for letter in look_at_inbox(runner.place, "main", "alice").letters]
    with pytest.raises(UnknownRecipient, match="'Alice' has left"):
        await send(runner.place, "main", "ALICE", "too late")
