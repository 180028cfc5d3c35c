"""The story: a team of four does a piece of work from the goal to the final answer."""

import pytest

from deskmate.core.agent.entries import Said
from deskmate.core.team.tasks import Claimed, Completed, TaskStatus
from deskmate.testing.team_scripts import all_texts
from tests.scenarios.team import story
from tests.scenarios.team.team_runner import TeamRun, TeamRunner

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["inline", "process"])
def launcher(request: pytest.FixtureRequest) -> str:
    """Launch teammates in both ways: here is shown that they do the same."""
    return str(request.param)


@pytest.fixture
def story_runner(runner: TeamRunner) -> TeamRunner:
    for path, content in story.BEFORE.items():
        file = runner.place / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
    return runner


@pytest.mark.behaviour("task-deps", "claim", "complete", "autoclaim", "spawn", "send", "deliver", "shutdown")
@pytest.mark.behaviour("lead-wake", "headless")
@pytest.mark.parametrize("rounds", [0, 10])
async def test_the_work_is_done_by_whom_it_fits_in_its_order_and_the_lead_pays_the_same_however_long_it_takes(
    story_runner: TeamRunner, rounds: int
) -> None:
    played = await story_runner.play(story.slowly(rounds), team=story.TEAM)
    assert (played.outcome.end, played.outcome.text) == ("answered", story.ANSWER)
    assert {path: story_runner.file(path) for path in story.AFTER} == story.AFTER
    assert_the_board_tells_the_story(played)
    assert {name: sorted(played.mail_to(name)) for name in story.LETTERS} == {
        name: sorted(letters) for name, letters in story.LETTERS.items()
    }
    assert played.everyone_left
    assert len(played.requests_of("lead")) == 6
    assert len(played.requests) > 4 * rounds


def assert_the_board_tells_the_story(played: TeamRun) -> None:
    board = played.board
    assert {id_: (task.status, task.owner) for id_, task in board.tasks.items()} == {
        id_: (TaskStatus.COMPLETED, owner) for id_, owner in story.OWNERS.items()
    }
    assert board.tasks[4].receipt is not None
    steps = [event for event in played.streams.board_events if isinstance(event, Claimed | Completed)]
    assert [(type(event), event.task, event.by) for event in steps] == [
        (kind, id_, owner) for id_, owner in story.OWNERS.items() for kind in (Claimed, Completed)
    ]


async def test_what_is_heard_is_heard_by_the_model_once(story_runner: TeamRunner) -> None:
    played = await story_runner.play(story.STORY, team=story.TEAM)
    for name, letters in story.LETTERS.items():
        framed = [text for text in all_texts(played.requests_of(name)[-1]) if text.startswith("<teammate-message ")]
        for sender, words in letters:
            assert sum(f'sender="{sender}"' in text and words in text for text in framed) == 1
    assert [entry.text for entry in played.entries_of("lead", Said)][-1] == story.FINAL
