"""The list of teams: titles, states that are true now, and how teams are removed."""

import json
import os
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from deskmate.core.team.messages import Plain
from deskmate.core.team.roster_records import MemberIdle, MemberWaiting, MemberWorking
from deskmate.core.team.task_fields import NewTask
from deskmate.faces.common.listings import teams_lines
from deskmate.faces.common.text_tables import Sheet
from deskmate.stores.archive import archive
from tests.faces.disk_teams import OpenTeam, at, founded, in_team, played, spoil, worked
from tests.faces.fake_app import Ended, Env, run_command

SOON = re.compile(r"\b\d+ (s|min|h|d)\b")


def told(folder: Path, words: str, team: str = "main") -> Path:
    """Have the user send a message to the lead of a team."""

    async def tell(hands: OpenTeam) -> None:
        await hands.mailbox("user").send("lead", Plain(content=words))

    in_team(folder, tell, team)
    return folder


def listed(folder: Path, env: Env, *options: str) -> list[str]:
    ended = at(folder, "teams", *options, env=env)
    assert (ended.code, ended.stderr) == (0, "")
    return SOON.sub("T", ended.stdout).splitlines()


def team_of(folder: Path, env: Env, name: str = "main") -> dict[str, object]:
    found = json.loads(at(folder, "teams", "--json", env=env).stdout)["teams"]
    return next(team for team in found if team["name"] == name)


# -- titles -----------------------------------------------------------------------------------------


def test_teams_is_a_table_with_a_title_state_tasks_cost_and_age(place: Path, env: Env) -> None:
    told(place, "tidy up\n  the parser, please\x1b[2J")
    founded(place, "web")
    told(place, "x" * 100, "web")
    assert listed(place, env) == [
        f"team  title{' ' * 55}  state    tasks  cost       last active",
        f"web   {'x' * 59}…  stopped  0/0    $0.0000    T ago",
        f"main  tidy up the parser, please{' ' * 34}  stopped  0/3    > $0.0300  T ago",
    ]


def test_a_title_is_the_users_first_message_whatever_came_before_and_after(place: Path, env: Env) -> None:
    async def write(hands: OpenTeam) -> None:
        await hands.mailbox("alice").send("lead", Plain(content="from alice"))
        await hands.mailbox("user").send("lead", Plain(content=f"{'word ' * 11}and-a-long-one"))
        await hands.mailbox("user").send("lead", Plain(content="second"))

    assert team_of(place, env)["title"] == ""
    in_team(place, write)
    assert team_of(place, env)["title"] == f"{'word ' * 10}word…"


def test_a_team_that_a_lead_founded_has_what_it_was_founded_for_as_its_title(tmp_path: Path, env: Env) -> None:
    async def found(hands: OpenTeam) -> None:
        await hands.roster.found("web", "port the pages", home="main")

    founded(tmp_path)
    in_team(tmp_path, found, "web")
    assert team_of(tmp_path, env, "web")["title"] == "port the pages"


def test_a_title_that_cannot_be_read_is_left_out(place: Path, env: Env) -> None:
    told(place, "first")
    told(place, "second")
    spoil(place / ".teams/main/lead_inbox.jsonl", 0)
    assert team_of(place, env)["title"] == "second"


# -- states -----------------------------------------------------------------------------------------


def test_a_team_that_nobody_plays_is_stopped_and_its_statuses_are_marked_as_past(place: Path, env: Env) -> None:
    assert listed(place, env, "-v") == [
        "main: stopped, 0 of 3 tasks done, $0.0300 and 1 call of unknown price, active T ago",
        "  lead        idle                     T",
        "  alice  dev  was waiting: permission  T",
        "  bob    dev  was working              T",
    ]
    team = team_of(place, env)
    assert (team["state"], team["pid"], team["live"]) == ("stopped", None, False)
    assert [one["current"] for one in team["members"]] == [True, False, False]  # type: ignore[attr-defined]


def test_a_team_that_is_played_says_what_it_does_and_its_process_is_a_number(place: Path, env: Env) -> None:
    async def rest(hands: OpenTeam) -> None:
        for name in ("alice", "bob"):
            await hands.roster.status(MemberIdle(name=name, at=1.0))

    async def work(hands: OpenTeam) -> None:
        await hands.roster.status(MemberWorking(name="bob", at=1.0))

    with played(place):
        assert listed(place, env)[1].split()[1:3] == ["asks", "you"]
        assert listed(place, env, "-v")[0].startswith("main: asks you (process 7), ")
        team = team_of(place, env)
        assert (team["state"], team["pid"], team["holder"]) == ("asks you", 7, "process 7")
        in_team(place, rest)
        assert team_of(place, env)["state"] == "idle"
        in_team(place, work)
        assert team_of(place, env)["state"] == "working"


def test_a_plan_of_the_lead_waits_for_you_and_one_of_a_teammate_first_for_the_lead(place: Path, env: Env) -> None:
    def waiting(name: str) -> Callable[[OpenTeam], Awaitable[None]]:
        async def wait(hands: OpenTeam) -> None:
            for one in ("alice", "bob"):
                await hands.roster.status(MemberIdle(name=one, at=1.0))
            await hands.roster.status(MemberWaiting(name=name, on="plan", at=1.0))

        return wait

    with played(place):
        in_team(place, waiting("alice"))
        assert team_of(place, env)["state"] == "idle"
        in_team(place, waiting("lead"))
        assert team_of(place, env)["state"] == "asks you"


def test_a_home_whose_lead_is_away_says_where_it_is(place: Path, env: Env) -> None:
    founded(place, "web", home="main")
    with played(place):
        # The first team goes on, and a question of one of its members comes first.
        assert team_of(place, env)["state"] == "asks you"
        assert "  lead        away, in web         T" in listed(place, env, "-v")
        assert (team_of(place, env)["away"], team_of(place, env, "web")["home"]) == ("web", "main")
    assert team_of(place, env)["state"] == "stopped"


def test_a_team_in_which_nothing_was_ever_said_is_listed_for_programs_alone(place: Path, env: Env) -> None:
    founded(place, "web")
    assert [line.split()[0] for line in listed(place, env)] == ["team", "main"]
    assert team_of(place, env, "web")["state"] == "empty"
    with played(place, team="web"):
        assert [line.split()[0] for line in listed(place, env)] == ["team", "web", "main"]


@pytest.mark.parametrize("cells", range(10, 60))
def test_the_table_fits_any_window_and_keeps_name_and_state(place: Path, cells: int) -> None:
    from deskmate.queries.team_view import look_at_teams

    lines = teams_lines(look_at_teams(told(place, "tidy up the parser")), Sheet(cells, colour=False), time.time())
    texts = ["".join(cell.text for cell in line) for line in lines]
    assert max(map(len, texts)) <= cells
    assert cells < 16 or "stopped" in texts[1]


# -- removing ---------------------------------------------------------------------------------------


def removed(folder: Path, env: Env, *args: str) -> Ended:
    return at(folder, "teams", "rm", *args, env=env)


def test_a_team_is_removed_with_its_board_and_nothing_else(place: Path, env: Env) -> None:
    (place / "schema.txt").write_text("kept")
    founded(told(place, "tidy up"), "web")
    assert removed(place, env, "main", "--yes") == Ended(0, "removed team main (tidy up)\n", "")
    assert {path.name for path in (*place.glob(".teams/*"), *place.glob(".tasks/*"))} == {"web", ".gitignore"}
    assert (place / "schema.txt").read_text() == "kept"
    assert removed(place, env, "web", "--yes").code == 0
    assert [path.name for path in place.iterdir()] == ["schema.txt"]


def test_nothing_is_removed_unless_the_user_says_yes(place: Path, env: Env) -> None:
    ended = removed(place, env, "main")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.splitlines()[0] == "remove team main"
    assert "--yes" in ended.stderr
    assert (place / ".teams/main").is_dir()


def test_a_team_goes_with_those_that_its_lead_founded_from_it(place: Path, env: Env) -> None:
    for name in ("web", "api"):
        founded(place, name, home="main")
    at(place, "teams", env=env)
    archive(place, "api", 1.0)
    ended = run_command("-C", str(place), "teams", "rm", "web", "main", "--yes", env=env)
    assert ended.stdout == "removed team main, with team web, with 1 closed team\n"
    assert not (place / ".teams").exists()


def test_a_team_that_is_played_is_not_removed(place: Path, env: Env) -> None:
    founded(place, "web", home="main")
    for team in ("main", "web"):
        with played(place, team=team):
            ended = removed(place, env, "main", "--yes")
            assert (ended.code, ended.stdout) == (2, "")
            assert "is running in process 7" in ended.stderr
    assert removed(place, env, "main", "--yes").code == 0


def test_only_teams_that_the_user_began_are_removed(place: Path, env: Env) -> None:
    ended = run_command("-C", str(place), "teams", "rm", "main", "--yes", env=env)
    assert ended.code == 2
    assert "You did not start team 'main' here" in ended.stderr
    assert (place / ".teams/main/roster.jsonl").exists()


def test_nothing_outside_is_removed_through_a_link(place: Path, tmp_path: Path, env: Env) -> None:
    away = worked(_made(tmp_path / "away"))
    at(place, "teams", env=env)
    board, theirs = place / ".tasks/main", away / ".tasks/main"
    board.rename(tmp_path / "aside")
    board.symlink_to(theirs)
    (place / ".teams/main/link").symlink_to(away)
    removed(place, env, "main", "--yes")
    assert (theirs / "board.jsonl").exists()
    assert (away / ".teams/main/roster.jsonl").exists()
    (place / ".teams/web").symlink_to(away / ".teams/main")
    assert run_command("-C", str(place), "teams", "rm", "web", "--yes", env=env).code == 2
    assert (away / ".teams/main/roster.jsonl").exists()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    "args", [["rm"], ["rm", "nope", "--yes"], ["rm", "../work", "--yes"], ["prune", "--days", "x"]]
)
def test_what_cannot_be_removed_is_a_sentence(place: Path, env: Env, args: list[str]) -> None:
    ended = at(place, "teams", *args, env=env)
    assert (ended.code, ended.stdout) == (2, "")
    assert (place / ".teams/main").is_dir()


# -- pruning ----------------------------------------------------------------------------------------


def test_prune_finds_nothing_to_remove_in_a_folder_without_teams(tmp_path: Path, env: Env) -> None:
    end = at(tmp_path, "teams", "prune", "--yes", env=env)
    assert (end.code, end.stdout) == (0, "There is nothing to remove.\n")


def test_prune_removes_teams_without_an_answer_and_without_a_completed_task(place: Path, env: Env) -> None:
    founded(place, "empty")
    founded(told(founded(place, "unanswered"), "hello", "unanswered"), "done")

    async def complete(hands: OpenTeam) -> None:
        await hands.board.create("user", NewTask("it"))
        await hands.board.complete("user", 1, 0)

    in_team(place, complete, "done")
    would = at(place, "teams", "prune", "--dry-run", env=env)
    assert sorted(would.stdout.splitlines()) == ["would remove team empty", "would remove team unanswered (hello)"]
    assert at(place, "teams", "prune", env=env).code == 2
    assert sorted(os.listdir(place / ".teams")) == [".gitignore", "done", "empty", "main", "unanswered"]
    assert at(place, "teams", "prune", "--yes", env=env).code == 0
    assert sorted(os.listdir(place / ".teams")) == [".gitignore", "done", "main"]
    assert at(place, "teams", "prune", "--yes", env=env).stdout == "There is nothing to remove.\n"


def test_prune_removes_old_teams_where_that_is_wanted_and_never_one_that_is_played(place: Path, env: Env) -> None:
    founded(place, "live")
    for file in (*place.glob(".teams/main/*.jsonl"), *place.glob(".tasks/main/*.jsonl")):
        os.utime(file, (time.time() - 3 * 86400,) * 2)
    with played(place, team="live"):
        assert at(place, "teams", "prune", "--days", "4", "--yes", env=env).stdout == "There is nothing to remove.\n"
        assert at(place, "teams", "prune", "--days", "2", "--yes", env=env).stdout == "removed team main\n"
    assert sorted(os.listdir(place / ".teams")) == [".gitignore", "live"]


def test_prune_leaves_the_teams_of_others_and_says_so(place: Path, env: Env) -> None:
    founded(place, "theirs")
    ended = run_command("-C", str(place), "teams", "prune", "--yes", env=env)
    assert ended.stdout == "There is nothing to remove.\n"
    assert "You did not start team 'theirs' here" in ended.stderr


# -- accepted losses --------------------------------------------------------------------------------


def test_what_the_user_accepted_is_no_longer_told_as_damage(place: Path, env: Env) -> None:
    spoil(place / ".tasks/main/board.jsonl", 1)
    assert at(place, "board", env=env).code == 3
    assert at(place, "doctor", "main", "--accept", "--yes", env=env).code == 0
    ended = at(place, "board", env=env)
    assert (ended.code, ended.stderr) == (0, "")
    assert json.loads(at(place, "board", "--json", env=env).stdout)["damage"] == []
    assert at(place, "teams", env=env).code == 0
