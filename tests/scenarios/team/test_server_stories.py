"""Whole teams whose records are on a server do the same as those with files, and every command shows the same."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskmate.trust.chosen_engine import close_engines
from tests.faces.disk_teams import LOOKS, at, worked
from tests.faces.fake_app import Ended, Env
from tests.scenarios.team import story
from tests.scenarios.team.team_runner import TeamRunner
from tests.scenarios.team.test_story import assert_the_board_tells_the_story
from tests.servers.nats_nodes import nats_server, nats_url
from tests.servers.postgres import postgres_server, postgres_url

__all__ = ["nats_server", "nats_url", "postgres_server", "postgres_url"]


@pytest.fixture(params=["inline", "process"])
def launcher(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["postgres", "nats"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.mark.anyio
async def test_the_story_on_a_server_ends_as_with_files_and_leaves_no_records_on_disk(
    runner: TeamRunner, url: str
) -> None:
    for path, content in story.BEFORE.items():
        file = runner.place / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
    played = await runner.play(story.STORY, team=story.TEAM, store=url)
    assert (played.outcome.end, played.outcome.text) == ("answered", story.ANSWER)
    assert {path: runner.file(path) for path in story.AFTER} == story.AFTER
    assert_the_board_tells_the_story(played)
    assert played.everyone_left
    assert not [*runner.place.glob(".teams/**/*.jsonl"), *runner.place.glob(".tasks/**/*.jsonl")]
    # What stays on the machine, such as blobs, must not get into a commit.
    assert (runner.place / ".teams/.gitignore").read_text() == "*\n"


# -- commands ---------------------------------------------------------------------------------------


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Env]:
    unset: Env = dict.fromkeys(["XDG_CONFIG_HOME", "XDG_STATE_HOME", "DESKMATE_STORE"])
    yield {**unset, "HOME": str(tmp_path / "home"), "ANTHROPIC_API_KEY": "sk-test"}
    close_engines()


@pytest.fixture
def moved(tmp_path: Path, url: str, env: Env) -> tuple[Path, list[Ended]]:
    """A team that was moved to a server, and what the commands had shown of its files."""
    place = tmp_path / "work"
    place.mkdir()
    shown = [at(worked(place), *LOOKS[0], env=env)]
    shown = [at(place, *words, env=env) for words in LOOKS]
    done = at(place, "migrate", "main", "--to", url, env=env)
    assert (done.code, done.stdout) == (0, "main\n"), done.stderr
    for folder in (".teams", ".tasks"):
        shutil.rmtree(place / folder)
    close_engines()
    return place, shown


def without_times(ended: Ended) -> tuple[int, str, str]:
    """Return what a command showed without times: a server counts from its own last write."""
    text = re.sub(r'"written": ?[0-9.e+]+', '"written": T', ended.stdout)
    return ended.code, re.sub(r"\b\d+ (s|min|h|d)\b", "T", text), ended.stderr


def test_every_look_at_a_team_on_a_server_shows_the_same_as_at_its_files(
    moved: tuple[Path, list[Ended]], url: str, env: Env
) -> None:
    place, shown = moved
    there = {**env, "DESKMATE_STORE": url}
    for words, before in zip(LOOKS, shown, strict=True):
        assert without_times(at(place, *words, env=there)) == without_times(before), words
    assert at(place, "doctor", "main", env=there).code == 0


def test_a_user_acts_on_a_team_on_a_server_and_continues_it(
    moved: tuple[Path, list[Ended]], url: str, env: Env
) -> None:
    place, _ = moved
    there = {**env, "DESKMATE_STORE": url}
    for words in (["send", "alice", "use UTF-16"], ["board", "add", "test it"]):
        done = at(place, *words, env=there)
        assert done.code == 0, done.stderr
    mail = [json.loads(line) for line in at(place, "inbox", "alice", "--json", env=there).stdout.splitlines()]
    assert "use UTF-16" in json.dumps(mail)
    assert "test it" in at(place, "board", env=there).stdout
    done = at(place, "teams", "rm", "main", "--yes", env=there)
    assert done.code == 0, done.stderr
    assert at(place, "board", env=there).code != 0
    assert not (place / ".teams").exists()


def test_an_interrupted_copy_is_continued_and_another_team_is_never_touched(tmp_path: Path, url: str, env: Env) -> None:
    place = tmp_path / "work"
    place.mkdir()
    worked(place)
    first = at(place, "migrate", "main", "--to", url, env=env)
    again = at(place, "migrate", "main", "--to", url, env=env)
    assert (first.code, again.code) == (0, 0), again.stderr
    assert "were there already" in again.stderr
    back = at(place, "migrate", "main", "--to", "files", env={**env, "DESKMATE_STORE": url})
    assert back.code == 0, back.stderr
    close_engines()
    there = {**env, "DESKMATE_STORE": url}
    assert at(place, "board", "add", "only there", env=there).code == 0
    close_engines()
    refused = at(place, "migrate", "main", "--to", url, env=env)
    assert refused.code == 2
    assert "was continued" in refused.stderr


def test_the_doctor_names_a_server_that_is_not_there_and_checks_the_rest(tmp_path: Path, env: Env) -> None:
    place = tmp_path / "work"
    place.mkdir()
    done = at(place, "doctor", env={**env, "DESKMATE_STORE": "postgresql://bob:hunter2@127.0.0.1:1/teams"})
    assert done.code == 3
    assert "bad   store" in done.stdout
    assert "postgresql://bob@127.0.0.1:1/teams" in done.stdout
    assert "ok    disk" in done.stdout
    assert "hunter2" not in done.stdout + done.stderr
