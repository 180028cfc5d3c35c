"""A lead that founds a team, works with it, and closes it: through the product, to its end, and after a kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import anyio
import anyio.to_thread
import pytest

from deskmate.app import Feed, RunRequest, load, run
from deskmate.core.log.names import LEAD, USER
from deskmate.core.prompt.prompts import ResultBlock, Spoke, TextBlock, Told
from deskmate.testing import Asked, Say, Use
from deskmate.testing.fake_provider import FakeProvider
from deskmate.testing.provider_faults import Fault, Stall
from deskmate.testing.team_scripts import member_of
from tests.scenarios.team.team_runner import GOAL, SOON, TeamRunner

pytestmark = pytest.mark.anyio
FINAL = "The web team wrote page.html, and is closed."
ANSWER = f"I wait for wendy.\n\n{FINAL}"


@pytest.fixture(params=["inline", "process"])
def launcher(request: pytest.FixtureRequest) -> str:
    """Launch teammates in both ways: here is shown that they do the same."""
    return str(request.param)


def told(asked: Asked) -> str:
    """Return all that a model was told so far."""
    passages = [passage for passage in asked.prompt.passages if isinstance(passage, Told)]
    blocks = [block for passage in passages for block in passage.blocks]
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock | ResultBlock))


def lead(asked: Asked) -> Say:
    """Found, hand out, wait, let go, close: whatever is not done yet, as a model would see from what it was told."""
    words = told(asked)
    if "You are back in team 'main'" in words:
        return Say(FINAL)
    if "You lead team 'web' now" not in words:
        return Say(calls=[Use("TeamCreate", {"team_name": "web", "description": "the web page"})])
    if "Created #1" not in words:
        return Say(calls=[Use("TaskCreate", {"subject": "write page.html", "role": "web"})])
    if "agent_id wendy@web" not in words:
        return Say(calls=[Use("Task", {"name": "wendy", "role": "web", "prompt": "Take tasks.", "team_name": "web"})])
    if "page.html is there" not in words:
        return Say("I wait for wendy.")
    if "Asked wendy to leave" not in words:
        return Say(calls=[Use("SendMessage", {"type": "shutdown_request", "recipient": "wendy"})])
    if asked.results and "asked wendy" in asked.results[-1].text:
        return Say("I wait for wendy to leave.")
    return Say(calls=[Use("TeamDelete", {"team_name": "web"})])


def wendy(asked: Asked) -> Say:
    """Write the page, complete the task, tell user and lead."""
    spoken = [block for passage in asked.prompt.passages if isinstance(passage, Spoke) for block in passage.blocks]
    if "is yours now" in told(asked) and not any("SendMessage" in str(block) for block in spoken):
        return Say(
            calls=[
                Use("write_file", {"path": "page.html", "content": "<p>hello</p>\n"}),
                Use("TaskUpdate", {"taskId": 1, "status": "completed"}),
                Use("SendMessage", {"recipient": USER, "content": "hello, user"}),
                Use("SendMessage", {"recipient": LEAD, "content": "page.html is there"}),
            ]
        )
    return Say("I rest.")


def script(asked: Asked) -> Say:
    return lead(asked) if member_of(asked) == LEAD else wendy(asked)


def lines(runner: TeamRunner, path: str) -> list[dict[str, object]]:
    """Return the records of a file."""
    return [json.loads(line) for line in (runner.place / path).read_text().splitlines()]


def check(runner: TeamRunner) -> None:
    """Check what the whole of it leaves behind."""
    assert sorted(path.name for path in (runner.place / ".teams").iterdir()) == [".archive", ".gitignore", "main"]
    assert sorted(path.name for path in (runner.place / ".tasks").iterdir()) == [".gitignore", "main"]
    (archived,) = (runner.place / ".teams/.archive").iterdir()
    config = json.loads((archived / "team/config.json").read_text())
    assert [(member["name"], member["is_active"]) for member in config["members"]] == [("lead", True), ("wendy", False)]
    task = json.loads((archived / "tasks/1.json").read_text())
    assert (task["status"], task["owner"]) == ("completed", "wendy")
    assert (config["name"], config["description"]) == ("web", "the web page")
    assert [body["content"] for body in lines(runner, ".teams/main/user_inbox.jsonl")] == ["hello, user"]
    assert runner.file("page.html") == "<p>hello</p>\n"
    boxes = [body["box"] for body in lines(runner, ".teams/main/lead_transcript.jsonl") if body["type"] == "heard"]
    assert set(boxes) == {"mail/lead", "mail/lead@web"}
    assert json.loads((runner.place / ".teams/main/config.json").read_text())["name"] == "main"


@pytest.mark.behaviour("team-create", "team-delete", "config")
async def test_a_lead_founds_a_team_works_with_it_and_closes_it(runner: TeamRunner) -> None:
    played = await runner.play(script)
    assert (played.outcome.team, played.outcome.end, played.outcome.text) == ("main", "answered", ANSWER)
    check(runner)
    spent = [*lines(runner, ".teams/main/spend.jsonl")]
    (archived,) = (runner.place / ".teams/.archive").iterdir()
    spent += lines(runner, str(archived.relative_to(runner.place) / "team/spend.jsonl"))
    assert played.outcome.steps == len(spent) == len(played.requests)


def force(asked: Asked) -> Say:
    """Found a team, spawn someone, and close the team at once."""
    words = told(asked)
    if "You are back in team" in words:
        return Say(asked.results[-1].text if asked.results else FINAL)
    steps: Sequence[tuple[str, Say]] = (
        ("You lead team 'web' now", Say(calls=[Use("TeamCreate", {"name": "web"})])),
        ("agent_id wendy@web", Say(calls=[Use("Task", {"name": "wendy", "prompt": "Rest."})])),
        ("wendy is still here", Say(calls=[Use("TeamDelete", {"name": "web"})])),
    )
    return next((say for done, say in steps if done not in words), Say(calls=[Use("TeamDelete", {"force": True})]))


@pytest.mark.behaviour("team-delete", "shutdown")
async def test_with_force_whoever_is_still_there_is_asked_to_stop_first(runner: TeamRunner) -> None:
    played = await runner.play(lambda asked: force(asked) if member_of(asked) == LEAD else Say("I rest."))
    (archived,) = (runner.place / ".teams/.archive").iterdir()
    assert played.outcome.text == f"Closed team 'web'. All of it is archived in .teams/.archive/{archived.name}"
    left = [body for body in lines(runner, f".teams/.archive/{archived.name}/team/roster.jsonl") if "agreed" in body]
    assert [(body["name"], body["agreed"]) for body in left] == [("wendy", True)]
    assert list((runner.place / ".teams/main").glob("wendy*")) == []
    # All that came before the end was heard, though the call that ended it was still running.
    assert [letter.message.type for letter in played.envelopes_of(LEAD) if letter.sender == "wendy"] == [
        "shutdown_response"
    ]


@pytest.mark.behaviour("team-create", "resume")
@pytest.mark.parametrize(
    ("launcher", "name"), [("inline", "web"), ("inline", "main"), ("inline", None), ("process", "web")]
)
async def test_killed_while_the_team_is_open_either_name_or_none_brings_back_both(
    runner: TeamRunner, name: str | None
) -> None:
    playing: list[subprocess.Popen[bytes]] = []

    def kill(number: int, asked: Asked) -> Fault | None:
        # The lead has handed everything out, and wendy is about to work.
        if playing and member_of(asked) != LEAD and "is yours now" in told(asked):
            os.killpg(playing.pop().pid, signal.SIGKILL)
            return Stall(0)
        return None

    async with FakeProvider(script, faults=kill) as provider:
        runner.connect(provider)
        words = [sys.executable, "-m", "deskmate", "-C", str(runner.place), "run", GOAL, "--launcher", runner.launcher]
        words += ["--permission-mode", "dontAsk"]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        playing.append(process)
        with anyio.fail_after(SOON):
            assert await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True) == -signal.SIGKILL
        settings = load(os.environ, {"sandbox": False, "launcher": runner.launcher})
        with anyio.fail_after(SOON):
            outcome = await run(RunRequest(runner.place, None, name, settings, continues=True), Feed())
    assert (outcome.team, outcome.text, provider.complaints) == ("main", ANSWER, [])
    check(runner)
