"""Two stores as one keep the promises of one, wherever the lead is."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from deskmate.core.log.records import Record
from deskmate.errors import BadName
from deskmate.ports import Store
from deskmate.stores.joint_store import JointStore
from deskmate.stores.jsonl_store import JsonlStore
from deskmate.stores.memory_store import MemoryStore
from deskmate.testing.store_contract import StoreContract, record

SOON = 20
AT_HOME = ("log/lead", "log/lead:3.0", "mail/lead:3.0", "mail/user")
ELSEWHERE = ("roster", "board", "spend", "mail/lead", "mail/bob", "log/bob", "log/bob:3.0", "mail/bob:3.0", "log/user")


class TestAtHome(StoreContract):
    @pytest.fixture
    def store(self) -> JointStore:
        return JointStore(MemoryStore(), "main")

    @pytest.fixture
    def again(self, store: JointStore) -> Callable[[], Store]:
        return lambda: JointStore(store.home, "main")


class TestAway(StoreContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[[], JointStore]]:
        stores: list[JsonlStore] = []

        def another() -> JointStore:
            stores.extend(JsonlStore.open(tmp_path, team, create=True) for team in ("main", "web"))
            joint = JointStore(stores[-2], "main")
            joint.enter(stores[-1])
            return joint

        yield another
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, opened: Callable[[], JointStore]) -> JointStore:
        return opened()

    @pytest.fixture
    def again(self, opened: Callable[[], JointStore]) -> Callable[[], Store]:
        return opened


# -- which of the two -------------------------------------------------------------------------------


async def texts(store: Store, *streams: str) -> list[object]:
    """Return what stands in these streams, in their order."""
    items = [item for stream in streams for item in await store.read(stream)]
    return [item.body["text"] for item in items if isinstance(item, Record)]


@pytest.mark.anyio
async def test_away_what_is_the_leads_own_stays_at_home_and_all_else_is_the_named_teams() -> None:
    home, web = MemoryStore(), MemoryStore()
    store = JointStore(home, "main")
    for stream in (*AT_HOME, *ELSEWHERE):
        await store.append(stream, record(f"before {stream}"))
    store.enter(web)
    for stream in (*AT_HOME, *ELSEWHERE):
        await store.append(stream, record(f"away {stream}"))
    store.leave()
    for stream in (*AT_HOME, *ELSEWHERE):
        await store.append(stream, record(f"after {stream}"))
    for stream in AT_HOME:
        assert await texts(home, stream) == [f"{when} {stream}" for when in ("before", "away", "after")]
    for stream in ELSEWHERE:
        assert await texts(home, stream) == [f"{when} {stream}" for when in ("before", "after")]
    assert await texts(web, *AT_HOME, *ELSEWHERE) == [f"away {stream}" for stream in ELSEWHERE]


@pytest.mark.anyio
async def test_a_stream_of_the_home_is_reached_from_away_by_its_name_and_a_third_teams_is_none() -> None:
    home, web = MemoryStore(), MemoryStore()
    store = JointStore(home, "main")
    store.enter(web)
    await home.append("mail/lead", record("at home"))
    await web.append("mail/lead", record("away"))
    assert await texts(store, "mail/lead@main", "mail/lead") == ["at home", "away"]
    for nowhere in ("mail/lead@web", "mail/lead@"):
        with pytest.raises(BadName):
            await store.read(nowhere)


@pytest.mark.anyio
async def test_the_leads_seat_is_at_home_and_every_other_where_the_lead_works() -> None:
    home, web = MemoryStore(), MemoryStore()
    store = JointStore(home, "main")
    store.enter(web)
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
async def test_who_waits_in_both_is_woken_by_either(where: str) -> None:
    stores = {"home": MemoryStore(), "web": MemoryStore()}
    store = JointStore(stores["home"], "main")
    store.enter(stores["web"])
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.changed, {"mail/lead": 0, "mail/lead@main": 0, "board": 0})
            await anyio.wait_all_tasks_blocked()
            await stores[where].append("mail/lead", record())


@pytest.mark.anyio
async def test_who_waits_looks_again_when_the_lead_goes_and_when_it_comes_back() -> None:
    store, web = JointStore(MemoryStore(), "main"), MemoryStore()
    moves: list[Callable[[], None]] = [partial(store.enter, web), store.leave]
    with anyio.fail_after(SOON):
        for move in moves:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(store.changed, {"roster": 0})
                tasks.start_soon(store.changed, {"roster": 0, "mail/lead@main": 0})
                await anyio.wait_all_tasks_blocked()
                move()


@pytest.mark.anyio
async def test_an_error_of_one_of_them_is_the_error_itself() -> None:
    class Broken(MemoryStore):
        async def changed(self, since: object) -> None:
            raise OSError("gone")

    store = JointStore(MemoryStore(), "main")
    store.enter(Broken())
    with pytest.raises(OSError, match="gone"):
        await store.changed({"board": 0, "mail/user": 0})


@pytest.mark.anyio
async def test_a_team_that_is_left_and_closed_while_a_wait_begins_ends_the_wait_without_an_error(
    tmp_path: Path,
) -> None:
    home, web = (JsonlStore.open(tmp_path, team, create=True) for team in ("main", "web"))
    store = JointStore(home, "main")
    store.enter(web)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.changed, {"board": 0, "mail/user": 0})
            # One turn of the loop: the wait has begun, and the waits inside it in each team have not.
            await anyio.lowlevel.cancel_shielded_checkpoint()
            store.leave()
            web.close()
    home.close()
