"""The store of a team that a lead created keeps the promises of a store, and knows what stays in the first team."""

from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from deskmate.core.log.records import Record
from deskmate.errors import BadName
from deskmate.ports import Store
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.memory_store import MemoryStore
from deskmate.stores.named_team_store import NamedTeamStore
from deskmate.testing.store_contract import StoreContract, record

SOON = 20
AT_HOME = ("log/lead", "log/lead:3.0", "mail/lead:3.0", "mail/user")
OWN = ("roster", "board", "spend", "mail/lead", "mail/bob", "log/bob", "log/bob:3.0", "mail/bob:3.0", "log/user")


class TestNamedTeamStore(StoreContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[[], NamedTeamStore]]:
        stores: list[JsonlStore] = []

        def another() -> NamedTeamStore:
            stores.extend(JsonlStore.open(tmp_path, team, create=True) for team in ("main", "web"))
            return NamedTeamStore(stores[-2], "main", stores[-1])

        yield another
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, opened: Callable[[], NamedTeamStore]) -> NamedTeamStore:
        return opened()

    @pytest.fixture
    def again(self, opened: Callable[[], NamedTeamStore]) -> Callable[[], Store]:
        return opened


# -- which of the two -------------------------------------------------------------------------------


async def texts(store: Store, *streams: str) -> list[object]:
    """Return what is in these streams, in their order."""
    items = [item for stream in streams for item in await store.read(stream)]
    return [item.body["text"] for item in items if isinstance(item, Record)]


@pytest.mark.anyio
async def test_the_leads_own_streams_and_the_users_mail_are_in_the_first_team_and_all_others_are_not() -> None:
    home, web = MemoryStore(), MemoryStore()
    store = NamedTeamStore(home, "main", web)
    for stream in (*AT_HOME, *OWN):
        await store.append(stream, record(stream))
    assert await texts(home, *AT_HOME, *OWN) == list(AT_HOME)
    assert await texts(web, *AT_HOME, *OWN) == list(OWN)


@pytest.mark.anyio
async def test_a_stream_of_the_first_team_is_reached_by_its_name_and_one_of_a_third_team_is_not() -> None:
    home, web = MemoryStore(), MemoryStore()
    store = NamedTeamStore(home, "main", web)
    await home.append("mail/lead", record("at home"))
    await web.append("mail/lead", record("away"))
    assert await texts(store, "mail/lead@main", "mail/lead") == ["at home", "away"]
    for nowhere in ("mail/lead@web", "mail/lead@"):
        with pytest.raises(BadName):
            await store.read(nowhere)


@pytest.mark.anyio
async def test_the_leads_seat_is_in_the_first_team_and_every_other_is_not() -> None:
    home, web = MemoryStore(), MemoryStore()
    store = NamedTeamStore(home, "main", web)
    async with store.hold("lead", ""), store.hold("bob", ""), web.hold("lead", ""), home.hold("bob", ""):
        pass
    async with home.hold("lead", "at home"), web.hold("bob", "away"):
        for seat in ("lead", "bob"):
            with pytest.raises(Exception, match=seat):
                async with store.hold(seat, ""):
                    pass


# -- waiting ----------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["home", "web"])
async def test_a_wait_in_both_teams_ends_with_news_in_either(where: str) -> None:
    stores = {"home": MemoryStore(), "web": MemoryStore()}
    store = NamedTeamStore(stores["home"], "main", stores["web"])
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.changed, {"mail/lead": 0, "mail/lead@main": 0, "board": 0})
            await anyio.wait_all_tasks_blocked()
            await stores[where].append("mail/lead", record())


@pytest.mark.anyio
async def test_an_error_in_one_team_is_the_error_itself() -> None:
    class Broken(MemoryStore):
        async def changed(self, since: object) -> None:
            raise OSError("gone")

    store = NamedTeamStore(MemoryStore(), "main", Broken())
    with pytest.raises(OSError, match="gone"):
        await store.changed({"board": 0, "mail/user": 0})
