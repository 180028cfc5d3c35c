"""`deskmate rewind` is killed while it restores files. The same command finishes it, and one point undoes it all."""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from anyio import to_thread

from deskmate.app import environment
from deskmate.testing import Asked, Say, Use
from tests.app.rewind.rewind_story import begin, files, rewinder
from tests.runtime.team_process import until
from tests.warm_program import begin_deskmate, run_deskmate

pytestmark = pytest.mark.anyio
COUNT = 300
COMMAND = ["rewind", "1", "--yes", "--force"]
PAINT = f"for n in $(seq 100 {99 + COUNT}); do echo red > wall-$n; echo drop > drop-$n; done"


def paint(asked: Asked) -> Say:
    """Change many files and create as many."""
    return Say("Painted.") if asked.results else Say(calls=[Use("bash", {"command": PAINT})])


async def kill_when_restored(workspace: Path, file: str, content: str) -> bool:
    """Begin to restore, and kill that as soon as a file has a content. Return whether it still ran then."""
    place = workspace / file

    def is_there() -> bool:
        with suppress(FileNotFoundError):
            return place.read_text() == content
        return False

    with open(os.devnull, "r+b") as nothing:
        given = (nothing.fileno(), nothing.fileno(), nothing.fileno())
        run = begin_deskmate(COMMAND, folder=workspace, env=environment(), files=given)
        await until(lambda: run.poll() is not None or is_there())
        is_running = run.poll() is None
        run.kill()
        run.wait(60)
    return is_running


@pytest.mark.parametrize("in_git", [True, False], ids=["git", "copies"])
async def test_the_same_command_finishes_a_killed_rewind_and_one_point_undoes_it(tmp_path: Path, in_git: bool) -> None:
    async with begin(tmp_path, in_git=in_git, script=paint) as team:
        bare = {f"wall-{number}": f"bare {number}\n" for number in range(100, 100 + COUNT)}
        for name, text in bare.items():
            (team.workspace / name).write_text(text)
        await team.run("paint")
        painted, was_cut = files(team), 0
        again = partial(run_deskmate, COMMAND, folder=team.workspace, env=environment())
        for number in (100, 200):
            before, name = len(await rewinder(team).points()), f"wall-{number}"
            was_cut += await kill_when_restored(team.workspace, name, bare[name])
            ran = await to_thread.run_sync(again)
            assert (ran.returncode, files(team)) == (0, {"wall": "bare\n", **bare})
            points = await rewinder(team).points()
            assert [point.undoes for point in points[before:]] == [1]
            await rewinder(team).restore(points[-1].number)
            assert files(team) == painted
        assert was_cut
