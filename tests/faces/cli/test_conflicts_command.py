"""Where the work of members meets, as the commands and the screen show it."""

import json
from pathlib import Path

import pytest

from deskmate.core.radar.overlaps import Overlap
from deskmate.core.team.task_fields import NewTask
from deskmate.core.team.tasks import Task, TaskStatus
from deskmate.faces.common.items.task_items import TaskItem
from deskmate.faces.tui.drawing.styled_lines import plain
from deskmate.faces.tui.panels.board_outline import Look, below, head
from tests.faces.disk_teams import SECRET, OpenTeam, at, founded, in_team
from tests.faces.fake_app import Env

pytestmark = pytest.mark.behaviour("radar")
BOTH = Overlap(kind="edits", members=("ann", "bob"), files=("src/app.py", "src/page.py"))
CLASH = Overlap(kind="conflict", members=("bob", "cleo"), files=("api.py",))
MOVED = Overlap(kind="moved", members=("ann",), files=("src/app.py",))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    founded(place, "main", "ann", "bob", "cleo")
    return place


def meets(place: Path, *overlaps: Overlap) -> None:
    in_team(place, lambda team: team.board.see_overlaps(overlaps))


def test_conflicts_are_listed_first_with_their_members_and_files(place: Path, env: Env) -> None:
    meets(place, BOTH, CLASH, MOVED)
    ended = at(place, "conflicts", env=env)
    assert (ended.code, ended.stderr) == (1, "")
    assert ended.stdout.splitlines() == [
        "team main: 1 conflict, 2 possible conflicts",
        "bob and cleo           commits conflict                  api.py",
        "ann and deskmate/main  the branch has new changes in it  src/app.py",
        "ann and bob            both change it                    src/app.py, src/page.py",
    ]
    fields = json.loads(at(place, "conflicts", "main", "--json", env=env).stdout)
    assert fields == {
        "team": "main",
        "overlaps": [one.model_dump(mode="json") for one in (CLASH, MOVED, BOTH)],
        "damage": [],
    }


def test_only_commits_that_conflict_are_an_exit_code(place: Path, env: Env) -> None:
    assert at(place, "conflicts", env=env).stdout == "team main: no conflicts\n"
    meets(place, BOTH, MOVED)
    assert [at(place, "conflicts", *more, env=env).code for more in ([], ["--json"])] == [0, 0]
    meets(place, CLASH)
    assert [at(place, "conflicts", *more, env=env).code for more in ([], ["--json"])] == [1, 1]


def test_no_name_of_a_file_can_write_to_the_terminal(place: Path, env: Env) -> None:
    meets(place, Overlap(kind="conflict", members=("ann", "bob"), files=(SECRET,)))
    assert "\x1b" not in at(place, "conflicts", env=env).stdout


def test_the_board_marks_the_tasks_whose_work_meets(place: Path, env: Env) -> None:
    async def work(team: OpenTeam) -> None:
        for name in ("ann", "bob", "cleo"):
            task = await team.board.create("lead", NewTask(f"work of {name}"))
            await team.board.claim(team.roster.state.members[name], task.id)
        await team.board.see_overlaps((BOTH, MOVED))

    in_team(place, work)
    assert at(place, "board", env=env).stdout.splitlines()[1:] == [
        "#1  in progress  work of ann   same files as bob, behind the branch  @ann",
        "#2  in progress  work of bob   same files as ann                     @bob",
        "#3  in progress  work of cleo                                        @cleo",
    ]


def test_the_screen_marks_a_task_and_names_the_files_below_it() -> None:
    task = Task(id=2, subject="write the page", status=TaskStatus.IN_PROGRESS, owner="bob")
    item = TaskItem(task, overlaps=(CLASH, BOTH))
    look = Look({2: item}, {}, 0.0)
    assert "conflicts with cleo, same files as ann" in plain(head(item, 0, 90, look))
    assert "!" in plain(head(item, 0, 30, look))
    assert TaskItem(task, overlaps=(BOTH, Overlap(kind="edits", members=("bob", "cleo"), files=("x",)))).meets == (
        "same files as ann and cleo"
    )
    lines = [plain(line).strip() for line in below(item, 80, look)]
    assert "conflicts with cleo in api.py" in lines
    assert "same files as ann in src/app.py, src/page.py" in lines


def test_a_task_that_is_done_is_not_marked() -> None:
    assert TaskItem(Task(id=2, subject="x", status=TaskStatus.COMPLETED, owner="bob")).meets == ""
