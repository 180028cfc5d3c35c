"""A team put away: all of it, whatever is killed where, and its name free again."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deskmate.core.prompt.prompts import Usage
from deskmate.core.team.roster_records import TeamFounded
from deskmate.core.team.spending import Spending, Spent, Sum
from deskmate.errors import StoreUnavailable
from deskmate.fs.disk_calls import Files
from deskmate.stores.archive import (
    archive,
    finish_archiving,
    founding,
    spent_in,
    spent_in_archive,
    teams_from,
    teams_in,
)
from deskmate.stores.jsonl_store import JsonlStore

pytestmark = pytest.mark.anyio
AT = 1_760_000_000.0
NAME = "web-20251009T085320Z"
OWN = ["closing", "lead.seat", "roster.jsonl", "signature", "spend.jsonl"]
WHOLE = ["tasks", "tasks/board.jsonl", "team", *(f"team/{name}" for name in OWN)]


async def made(workspace: Path, team: str, home: str | None = None, cost: float = 0.5) -> None:
    """Make a team with something of everything in it."""
    with closing(JsonlStore.open(workspace, team, create=True)) as store:
        async with store.hold("lead", ""):
            founded = TeamFounded(team=team, home=home, at=1.0)
            await store.append("roster", {**founded.body(), "run": team, "ord": 1})
            await store.append("board", {"type": "odd", "run": team, "ord": 2})
            for ordinal, member in enumerate(("lead", "lead:3.0", "bob"), 3):
                spent = Spent(member=member, model="m", input=10, cost=cost, at=1.0)
                await store.append("spend", {**spent.body(), "run": team, "ord": ordinal})
    (workspace / ".teams" / team / "signature").write_text(f"nobody else knows this of {team}")


@pytest.fixture
async def workspace(tmp_path: Path) -> Path:
    await made(tmp_path, "main")
    await made(tmp_path, "web", home="main")
    return tmp_path


def inside(place: Path) -> list[str]:
    """Return all that stands below a folder, but for locks."""
    found = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
    return [path for path in found if not path.endswith(".lock")]


# -- which teams there are --------------------------------------------------------------------------


async def test_a_team_tells_its_home_and_a_home_what_was_founded_from_it(workspace: Path) -> None:
    assert teams_in(workspace) == ["main", "web"]
    begun = founding(workspace, "web")
    assert begun
    assert (begun.team, begun.home, begun.at) == ("web", "main", 1.0)
    assert (teams_from(workspace, "main"), teams_from(workspace, "web")) == (["web"], [])


@pytest.mark.parametrize("line", [b"", b"{}\n", b'{"type":"team_founded","team":"x","at":1,"n":1,"crc":"00000000"}\n'])
def test_a_folder_without_a_whole_first_record_was_not_founded(tmp_path: Path, line: bytes) -> None:
    (tmp_path / ".teams/x").mkdir(parents=True)
    assert founding(tmp_path, "x") is None
    (tmp_path / ".teams/x/roster.jsonl").write_bytes(line)
    assert founding(tmp_path, "x") is None
    assert teams_from(tmp_path, "main") == []


def test_what_is_no_team_is_not_listed(tmp_path: Path) -> None:
    for path in (".archive", "Web", "a b", "web"):
        (tmp_path / ".teams" / path).mkdir(parents=True)
    (tmp_path / ".teams/file").write_text("")
    (tmp_path / ".teams/left").mkdir()
    (tmp_path / ".teams/web/roster.jsonl").write_text("x")
    assert (teams_in(tmp_path), teams_in(tmp_path / "nowhere")) == (["web"], [])


async def test_what_somebody_else_put_there_stands_in_nobodys_way(workspace: Path) -> None:
    (workspace / ".teams/linked").symlink_to(workspace / ".teams/web")
    (workspace / ".teams/odd/roster.jsonl").mkdir(parents=True)
    (workspace / ".teams/.archive").mkdir()
    (workspace / ".teams/.archive/notes.txt").write_text("mine")
    (workspace / ".teams/.archive" / NAME).write_text("no folder")
    (workspace / ".teams/.archive" / f"{NAME}.2").symlink_to(workspace / ".teams/web")
    finish_archiving(workspace)
    assert (teams_from(workspace, "main"), spent_in_archive(workspace, "main")) == (["web"], Spending())
    assert archive(workspace, "web", AT).name == f"{NAME}.3"


# -- putting away -----------------------------------------------------------------------------------


@pytest.mark.behaviour("team-delete")
async def test_both_folders_move_whole_and_the_name_is_free_again(workspace: Path) -> None:
    place = archive(workspace, "web", AT)
    assert (place, inside(place)) == (workspace / ".teams/.archive" / NAME, WHOLE)
    assert (teams_in(workspace), inside(workspace / ".tasks")) == (["main"], [".gitignore", "main", "main/board.jsonl"])
    assert founding(workspace, ".archive", NAME, "team") is not None
    await made(workspace, "web", home="main")
    assert archive(workspace, "web", AT) == place.with_name(f"{NAME}.2")
    assert [inside(each) for each in (place, place.with_name(f"{NAME}.2"))] == [WHOLE, WHOLE]


async def test_an_open_team_can_still_be_written_to_and_what_is_written_goes_along(workspace: Path) -> None:
    with closing(JsonlStore.open(workspace, "web")) as store:
        place = archive(workspace, "web", AT)
        await store.append("mail/bob", {"type": "late", "run": "r", "ord": 1})
    assert b"late" in (place / "team/bob_inbox.jsonl").read_bytes()


class Died(BaseException):
    """Somebody was killed here."""


class Mortal(Files):
    """Dies before its n-th change of a folder."""

    def __init__(self, deed: int) -> None:
        self.left = deed

    def move(self, old: str, source: int, new: str, target: int) -> None:
        self._live()
        super().move(old, source, new, target)

    def sync_folder(self, folder: int) -> None:
        self._live()
        super().sync_folder(folder)

    def _live(self) -> None:
        self.left -= 1
        if not self.left:
            raise Died


def deaths(act: Callable[[Files], object]) -> Iterator[int]:
    """Let an act die before each of its deeds in turn, until it lives."""
    for deed in range(1, 100):
        try:
            act(Mortal(deed))
        except Died:
            yield deed
        else:
            return
    raise AssertionError("it never came to its end")


class Stopped(Files):
    """Moves nothing."""

    def move(self, old: str, source: int, new: str, target: int) -> None:
        raise Died


def begun(workspace: Path) -> Path:
    """Begin to put a team away, die, and return where it was to go."""
    with pytest.raises(Died):
        archive(workspace, "web", AT, Stopped())
    return workspace / ".teams/.archive" / NAME


def newest(workspace: Path) -> Path:
    """Return what was put away last."""
    return max((workspace / ".teams/.archive").glob("*"), key=lambda place: (len(place.name), place.name))


@pytest.mark.behaviour("team-delete")
async def test_whoever_is_killed_half_way_the_next_one_finishes_it(workspace: Path) -> None:
    seen = set[tuple[bool, bool]]()
    for _ in deaths(lambda files: archive(workspace, "web", AT, files)):
        seen.add(((workspace / ".tasks/web").exists(), (workspace / ".teams/web").exists()))
        begun = not (workspace / ".teams/web").exists() or (workspace / ".teams/web/closing").exists()
        finish_archiving(workspace)
        if begun:
            # Once it was begun it is finished, and everything is there.
            assert (inside(newest(workspace)), teams_in(workspace)) == (WHOLE, ["main"])
            await made(workspace, "web", home="main")
        else:
            assert teams_in(workspace) == ["main", "web"]
    assert seen == {(True, True), (False, True), (False, False)}
    assert all(inside(place) == WHOLE for place in (workspace / ".teams/.archive").glob("*"))


async def test_who_finishes_it_may_be_killed_as_well(workspace: Path) -> None:
    place = begun(workspace)
    assert len(list(deaths(lambda files: finish_archiving(workspace, files)))) > 3
    assert inside(place) == WHOLE


async def test_one_that_was_begun_is_gone_on_with_by_who_tries_again(workspace: Path) -> None:
    assert begun(workspace) == archive(workspace, "web", AT + 60)


@pytest.mark.behaviour("trust")
@pytest.mark.parametrize("forged", [None, "", NAME, f"{NAME} {'0' * 64}", f"main-{NAME[4:]} x", "../../x y"])
async def test_nobody_else_can_have_a_team_put_away(workspace: Path, forged: str | None) -> None:
    for team in ("main", "web"):
        (workspace / ".teams/.archive" / f"{team}-{NAME[4:]}").mkdir(parents=True)
        if forged is not None:
            (workspace / ".teams" / team / "closing").write_text(forged)
    finish_archiving(workspace)
    assert teams_in(workspace) == ["main", "web"]
    # What the user closes does not go where somebody else chose.
    assert archive(workspace, "web", AT).name == f"{NAME}.2"


@pytest.mark.behaviour("trust")
async def test_the_mark_of_another_team_has_none_put_away(workspace: Path) -> None:
    begun(workspace)
    await made(workspace, "api", home="main")
    mark = (workspace / ".teams/web/closing").read_bytes()
    (workspace / ".teams/api/closing").write_bytes(mark)
    (workspace / ".teams/main/signature").unlink()
    finish_archiving(workspace)
    assert teams_in(workspace) == ["api", "main", "web"]
    (workspace / ".teams/main/signature").write_text("nobody else knows this of main")
    finish_archiving(workspace)
    assert teams_in(workspace) == ["api", "main"]


async def test_one_whose_folder_somebody_removed_does_not_take_the_next_of_its_name(workspace: Path) -> None:
    place = archive(workspace, "web", AT)
    for part in (place / "team").iterdir():
        part.unlink()
    (place / "team").rmdir()
    finish_archiving(workspace)
    await made(workspace, "web", home="main")
    finish_archiving(workspace)
    assert teams_in(workspace) == ["main", "web"]


async def test_a_disk_that_does_not_let_it_is_said(workspace: Path) -> None:
    class Full(Files):
        def move(self, old: str, source: int, new: str, target: int) -> None:
            raise OSError(28, os.strerror(28))

    with pytest.raises(StoreUnavailable, match="No space"):
        archive(workspace, "web", AT, Full())
    archive(workspace, "web", AT + 60)
    assert inside(workspace / ".teams/.archive" / NAME) == WHOLE


# -- what was spent ---------------------------------------------------------------------------------


async def test_what_the_archived_teams_of_a_home_spent_counts_and_of_their_members_the_lead_is_the_same(
    workspace: Path,
) -> None:
    assert spent_in_archive(workspace, "main") == Spending()
    archive(workspace, "web", AT)
    await made(workspace, "api", home="main", cost=0.25)
    archive(workspace, "api", AT)
    await made(workspace, "web", home="other", cost=100.0)
    archive(workspace, "web", AT)
    own = Sum(2, Usage(20), 0.75)
    assert spent_in_archive(workspace, "main") == Spending(
        Sum(6, Usage(60), 2.25), {"lead": own, "lead:3.0": own}, number=0
    )
    assert spent_in(workspace, "main").team == Sum(3, Usage(30), 1.5)


@pytest.mark.behaviour("budget", "trust")
async def test_an_archived_team_that_somebody_else_brought_counts_nothing(workspace: Path) -> None:
    place = archive(workspace, "web", AT)
    known = spent_in_archive(workspace, "main")
    assert known.team == Sum(3, Usage(30), 1.5)
    shutil.copytree(place, place.with_name("web-20200101T000000Z"))
    shutil.copytree(place, place.with_name("api-20200101T000000Z"))
    (place.with_name("api-20200101T000000Z") / "team/closing").unlink()
    assert spent_in_archive(workspace, "main") == known


@pytest.mark.behaviour("budget")
async def test_of_a_home_without_a_signature_every_archived_team_counts(workspace: Path) -> None:
    archive(workspace, "web", AT)
    (workspace / ".teams/main/signature").unlink()
    assert spent_in_archive(workspace, "main").team == Sum(3, Usage(30), 1.5)
