"""A backup of a server is a state in which its teams were, and they continue from there."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from deskmate.runtime.events import Recorded
from deskmate.stores.engines.nats.nats_engine import NatsEngine
from deskmate.stores.engines.postgres.postgres_engine import PostgresEngine
from deskmate.testing.servers.nats_servers import NatsServers
from deskmate.testing.servers.postgres_server import PostgresServer
from deskmate.testing.store_contract import record
from tests.scenarios.team import story
from tests.scenarios.team.team_runner import GOAL, TeamRunner
from tests.scenarios.team.test_story import assert_the_board_tells_the_story
from tests.servers.nats_nodes import nats_server
from tests.servers.postgres import new_server, postgres_server

__all__ = ["nats_server", "postgres_server"]
pytestmark = pytest.mark.anyio
_NAMES = count(1)
RECORDS = (
    "SELECT t.name, s.name, r.number, r.body FROM deskmate.record r JOIN deskmate.stream s ON s.id = r.stream"
    " JOIN deskmate.team t ON t.id = s.team ORDER BY 1, 2, 3"
)


@dataclass(frozen=True)
class Database:
    """One database of a server, which others can be made from."""

    server: PostgresServer
    name: str

    @property
    def url(self) -> str:
        """Its address with a space, which is the same in every copy."""
        return f"{self._server_url}&space=work"

    @property
    def _server_url(self) -> str:
        return self.server.url.replace("/postgres?", f"/{self.name}?")

    def records(self) -> list[str]:
        """Return all records, read without the product's code."""
        return self.server.run("psql", "-XAtq", self._server_url, "-c", RECORDS).splitlines()

    def dump(self) -> Path:
        """Back it up as the guide says, and return the file."""
        file = self.server.folder / f"{self.name}.dump"
        self.server.run("pg_dump", "--format=custom", f"--file={file}", self._server_url)
        return file

    def restored(self, file: Path) -> "Database":
        """Return a new database with what a backup has."""
        new = new_database(self.server)
        self.server.run("pg_restore", "--exit-on-error", f"--dbname={new._server_url}", str(file))
        return new


def new_database(server: PostgresServer) -> Database:
    name = f"teams{next(_NAMES)}"
    server.sql(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    return Database(server, name)


@pytest.fixture(scope="module")
def server(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    yield from new_server()


@pytest.fixture
def database(server: PostgresServer) -> Database:
    return new_database(server)


@pytest.fixture
def launcher() -> str:
    # So that nothing happens between the dump of the records and the copy of the workspace.
    return "inline"


@pytest.mark.behaviour("resume", "backup")
@pytest.mark.parametrize("moment", [12, 40])
async def test_a_team_that_was_backed_up_while_it_ran_continues_from_there_and_ends_as_it_would_have(
    runner: TeamRunner, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    for path, content in story.BEFORE.items():
        file = runner.place / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
    seen, before, dumps, copy = count(1), list[str](), list[Path](), tmp_path / "copy"

    def back_up(event: object) -> None:
        if isinstance(event, Recorded) and next(seen) == moment:
            before.extend(database.records())
            dumps.append(database.dump())
            shutil.copytree(runner.place, copy / "work")

    await runner.play(story.STORY, back_up, team=story.TEAM, store=database.url)
    restored = database.restored(dumps[0])
    assert before
    assert set(before) <= set(restored.records()) < set(database.records())
    later = TeamRunner(copy, "inline", monkeypatch)
    async with later.scenario(story.STORY, settings={"store": restored.url}) as scenario:
        resumed = replace(await scenario.resume(), streams=await scenario.streams(story.TEAM), goal=GOAL)
    assert resumed.answer.endswith(story.FINAL)
    assert {path: later.file(path) for path in story.AFTER} == story.AFTER
    assert_the_board_tells_the_story(resumed)
    letters = {name: sorted(resumed.mail_to(name)) for name in story.LETTERS}
    assert letters == {name: sorted(sent) for name, sent in story.LETTERS.items()}
    assert resumed.everyone_left
    assert set(before) <= set(restored.records())


@pytest.mark.behaviour("backup")
async def test_a_backup_under_load_has_all_that_was_confirmed_before_it_and_no_gap(
    database: Database, tmp_path: Path
) -> None:
    confirmed: dict[str, int] = dict.fromkeys(("board", "mail/bob", "log/bob"), 0)
    with closing(PostgresEngine(database.url, tmp_path)) as engine:
        store = engine.open("team", create=True)

        async def write(stream: str) -> None:
            while not backed_up.is_set():
                [confirmed[stream]] = await store.append(stream, record(confirmed[stream]))

        backed_up = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for stream in confirmed:
                tasks.start_soon(write, stream)
            for stream in confirmed:
                await store.changed({stream: 50})
            before = dict(confirmed)
            file = await anyio.to_thread.run_sync(database.dump)
            backed_up.set()
        written = {stream: list(await store.read(stream)) for stream in confirmed}
    restored = database.restored(file)
    with closing(PostgresEngine(restored.url, tmp_path)) as engine:
        for stream, number in before.items():
            found = list(await engine.open("team").read(stream))
            assert len(found) >= number
            assert found == written[stream][: len(found)]
            assert [item.number for item in found] == list(range(1, len(found) + 1))


@pytest.mark.behaviour("backup")
async def test_servers_whose_folders_were_put_back_continue_from_there(nats_server: object, tmp_path: Path) -> None:
    place = tmp_path / "nats"
    place.mkdir()
    with closing(NatsServers(place)) as servers:
        await add(servers.url, tmp_path, 20)
        servers.kill()
        shutil.copytree(place / "n1", tmp_path / "backup")
        servers.start()
        assert await add(servers.url, tmp_path, 5) == 25
        servers.kill()
        shutil.rmtree(place / "n1")
        shutil.copytree(tmp_path / "backup", place / "n1")
        servers.start()
        assert await add(servers.url, tmp_path, 1) == 21


async def add(url: str, folder: Path, records: int) -> int:
    """Append to a team on a server, and return how many records it has then."""
    with closing(NatsEngine(url, folder)) as engine:
        store = engine.open("team", create=True)
        for number in range(records):
            await store.append("mail/bob", record(number))
        return len(await store.read("mail/bob"))
