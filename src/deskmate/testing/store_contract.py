"""What every store promises.

Inherit `StoreContract` in a test class and define two fixtures: `store`, and `again`, a function that returns another
handle on the same streams, as another process would have it. Needs pytest with anyio's plugin.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import anyio
import pytest

from deskmate.core.log.records import RECORD_CAP, Decision, Item, Record
from deskmate.errors import BadInput, BadName, BadRecord, Conflict, Held, StoreCorrupt, TooLarge
from deskmate.ports import Store

Again = Callable[[], Store]
_ORDINALS = count(1)
_SOON = 20


def record(text: object = "", **fields: Any) -> dict[str, Any]:
    """Return a record with a unique stamp."""
    return {"type": "test", "text": text, **fields, "run": "contract", "ord": next(_ORDINALS)}


async def _wait_for_a_change(store: Store, since: dict[str, int], seen: anyio.Event) -> None:
    await store.changed(since)
    seen.set()


class StoreContract:
    """Inherit this and define the fixtures `store` and `again`."""

    pytestmark = pytest.mark.anyio

    async def test_a_stream_nobody_wrote_to_is_empty(self, store: Store) -> None:
        assert list(await store.read("roster")) == []

    async def test_records_come_back_in_order_under_growing_numbers(self, store: Store) -> None:
        bodies = [record(text) for text in ("one", "two", "three")]
        numbers = [number for body in bodies for number in await store.append("roster", body)]
        assert numbers == sorted(set(numbers))
        assert numbers[0] > 0
        assert list(await store.read("roster")) == [Record(*pair) for pair in zip(numbers, bodies, strict=True)]

    async def test_records_that_are_appended_together_follow_each_other(self, store: Store, again: Again) -> None:
        bodies = [record(text) for text in ("one", "two", "three")]
        numbers = await store.append("log/bob", *bodies)
        assert numbers == sorted(set(numbers))
        assert list(await again().read("log/bob")) == [Record(*pair) for pair in zip(numbers, bodies, strict=True)]

    async def test_one_bad_record_keeps_out_all_that_are_appended_with_it(self, store: Store) -> None:
        twice = record("twice")
        for bad, error in ((record("x" * RECORD_CAP), TooLarge), ({"type": "no stamp"}, BadRecord), (twice, BadRecord)):
            with pytest.raises(error):
                await store.append("roster", twice, record("good"), bad)
        with pytest.raises(BadInput):
            await store.append("roster")
        assert list(await store.read("roster")) == []

    async def test_of_many_who_append_several_none_comes_between(self, store: Store, again: Again) -> None:
        async def write(name: int, handle: Store) -> None:
            for _ in range(5):
                await handle.append("board", *(record([name, index]) for index in range(4)))

        async with anyio.create_task_group() as tasks:
            for name in range(6):
                tasks.start_soon(write, name, again())
        found: list[Any] = [item.body["text"] for item in await store.read("board") if isinstance(item, Record)]
        assert len(found) == 6 * 5 * 4
        for start in range(0, len(found), 4):
            assert found[start : start + 4] == [[found[start][0], index] for index in range(4)]

    async def test_reading_after_a_number_returns_only_what_stands_above_it(self, store: Store) -> None:
        numbers = [number for index in range(200) for number in await store.append("mail/bob", record(index))]
        for after in (0, *numbers[::37], numbers[-1]):
            assert [item.number for item in await store.read("mail/bob", after)] == [n for n in numbers if n > after]

    async def test_streams_do_not_see_each_other(self, store: Store) -> None:
        streams = ("roster", "board", "spend", "mail/bob", "log/bob", "mail/lead:3.0", "log/lead:3.0")
        for stream in streams:
            await store.append(stream, record(stream))
        for stream in streams:
            assert [item.body["text"] for item in await store.read(stream) if isinstance(item, Record)] == [stream]

    async def test_another_handle_sees_what_was_appended(self, store: Store, again: Again) -> None:
        body = record("hello")
        [number] = await store.append("mail/bob", body)
        assert list(await again().read("mail/bob")) == [Record(number, body)]

    async def test_unsynced_records_are_seen_at_once(self, store: Store, again: Again) -> None:
        body = record("hello")
        [number] = await store.append("log/bob", body, sync=False)
        assert list(await again().read("log/bob")) == [Record(number, body)]

    async def test_expect_lets_the_first_through_and_stops_the_second(self, store: Store, again: Again) -> None:
        [first] = await store.append("board", record("first"), expect=0)
        with pytest.raises(Conflict) as stopped:
            await again().append("board", record("late"), expect=0)
        assert (stopped.value.stream, stopped.value.expect, stopped.value.last) == ("board", 0, first)
        [second] = await again().append("board", record("second"), expect=first)
        assert [item.number for item in await store.read("board")] == [first, second]

    async def test_of_many_who_expect_the_same_one_wins(self, store: Store, again: Again) -> None:
        won: list[str] = []

        async def try_once(name: str, handle: Store) -> None:
            try:
                await handle.append("board", record(name), expect=0)
                won.append(name)
            except Conflict:
                pass

        async with anyio.create_task_group() as tasks:
            for index in range(8):
                tasks.start_soon(try_once, f"racer {index}", again())
        assert [item.body["text"] for item in await store.read("board") if isinstance(item, Record)] == won
        assert len(won) == 1

    async def test_what_is_decided_is_made_of_all_that_is_new(self, store: Store, again: Again) -> None:
        [first] = await store.append("board", record("first"))
        [late] = await again().append("board", record("late"))
        given: list[list[int]] = []

        def make(news: Sequence[Item]) -> Decision[str]:
            given.append([item.number for item in news])
            return Decision(made, f"after {len(news)}")

        made = record("made")
        number, outcome = await store.decide("board", first, make)
        assert (given[-1], outcome) == ([late], "after 1")
        assert list(await again().read("board", late)) == [Record(number or 0, made)]

    async def test_deciding_on_nothing_appends_nothing_and_says_why(self, store: Store) -> None:
        [last] = await store.append("board", record("first"))
        assert await store.decide("board", 0, lambda news: Decision(None, "refused")) == (None, "refused")
        assert await store.read("board", last) == []

    async def test_of_many_who_decide_at_once_each_knows_all_before_it(self, store: Store, again: Again) -> None:
        async def count_up(handle: Store) -> None:
            for _ in range(10):
                await handle.decide("board", 0, lambda news: Decision(record(len(news)), None))

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(count_up, again())
        items = await store.read("board")
        assert [item.body["text"] for item in items if isinstance(item, Record)] == list(range(80))

    async def test_who_fails_to_decide_leaves_the_stream_to_others(self, store: Store) -> None:
        def fail(news: Sequence[Item]) -> Decision[None]:
            raise LookupError("nothing to decide on")

        with pytest.raises(LookupError):
            await store.decide("board", 0, fail)
        with pytest.raises(BadRecord):
            await store.decide("board", 0, lambda news: Decision({}, None))
        [number] = await store.append("board", record("next"))
        assert [item.number for item in await store.read("board")] == [number]

    async def test_many_writers_lose_and_double_nothing(self, store: Store, again: Again) -> None:
        async def write(name: int, handle: Store) -> None:
            for index in range(25):
                await handle.append("mail/bob", record([name, index]))

        async with anyio.create_task_group() as tasks:
            for name in range(8):
                tasks.start_soon(write, name, again())
        items = await store.read("mail/bob")
        heard: list[Any] = [item.body["text"] for item in items if isinstance(item, Record)]
        assert sorted(heard) == [[name, index] for name in range(8) for index in range(25)]
        for name in range(8):
            assert [index for sender, index in heard if sender == name] == list(range(25))

    async def test_reading_beyond_the_end_is_damage_not_silence(self, store: Store) -> None:
        [last] = await store.append("mail/bob", record())
        with pytest.raises(StoreCorrupt):
            await store.read("mail/bob", last + 1)
        with pytest.raises(StoreCorrupt):
            await store.append("mail/bob", record(), expect=last + 1)
        with pytest.raises(StoreCorrupt):
            await store.decide("mail/bob", last + 1, lambda news: Decision(record(), None))

    async def test_a_number_below_nothing_is_refused(self, store: Store) -> None:
        with pytest.raises(BadInput):
            await store.read("roster", -1)
        with pytest.raises(BadInput):
            await store.append("roster", record(), expect=-1)
        with pytest.raises(BadInput):
            await store.decide("roster", -1, lambda news: Decision(record(), None))

    @pytest.mark.parametrize(
        "bad",
        [
            {},
            [],
            None,
            "text",
            {"type": "no stamp"},
            {"a": float("nan"), "run": "r", "ord": 1},
            {"a": float("inf"), "run": "r", "ord": 1},
            {"a": {1, 2}, "run": "r", "ord": 1},
            {"a": b"bytes", "run": "r", "ord": 1},
            {"n": 1, "run": "r", "ord": 1},
            {"crc": "", "run": "r", "ord": 1},
            {"run": "", "ord": 1},
            {"run": "r", "ord": True},
        ],
    )
    async def test_what_is_no_record_is_refused(self, store: Store, bad: Any) -> None:
        with pytest.raises(BadRecord):
            await store.append("roster", bad)
        assert list(await store.read("roster")) == []

    async def test_what_is_nested_too_deep_is_refused(self, store: Store) -> None:
        for depth in (65, 5_000):
            deep: Any = "bottom"
            for _ in range(depth):
                deep = [deep]
            with pytest.raises(BadRecord):
                await store.append("roster", record(deep))

    async def test_a_record_above_the_cap_is_refused_and_one_at_the_cap_is_kept(self, store: Store) -> None:
        with pytest.raises(TooLarge):
            await store.append("mail/bob", record("x" * RECORD_CAP))
        body = record("x" * (RECORD_CAP - 200))
        await store.append("mail/bob", body)
        assert [item.body for item in await store.read("mail/bob") if isinstance(item, Record)] == [body]

    async def test_any_text_comes_back_as_it_went_in(self, store: Store) -> None:
        text = '中文 \u2028\u2029\x85\x00\x1b[31m \r\n \t \\ " 🧑‍🤝‍🧑 </teammate-message>'
        body = record(text, **{"ключ": [1, -2.5e300, True, None, {"": []}]})
        await store.append("mail/bob", body)
        assert [item.body for item in await store.read("mail/bob") if isinstance(item, Record)] == [body]

    async def test_a_lone_surrogate_becomes_the_replacement_character(self, store: Store) -> None:
        await store.append("mail/bob", record("a\ud800b"))
        assert [item.body["text"] for item in await store.read("mail/bob") if isinstance(item, Record)] == ["a\ufffdb"]

    @pytest.mark.parametrize("name", ["code", "code/bob", f"chunks/{'0a' * 32}-0", f"chunks/{'0a' * 32}-12"])
    async def test_streams_that_carry_code_are_kept_apart(self, store: Store, again: Again, name: str) -> None:
        body = record("A" * 480_000)
        for stream in ("mail/bob", "code/alice", f"chunks/{'0b' * 32}-0", name):
            await store.append(stream, body)
        for each in (store, again()):
            assert [item.body for item in await each.read(name) if isinstance(item, Record)] == [body]

    @pytest.mark.parametrize(
        "name",
        [
            *("", "inbox", "mail", "mail/", "mail/../x", "mail/-a", "log/a b", "mail/a:0.0", "board/x"),
            *("code/", "code/../x", "code/a:1.0", "chunks", "chunks/bob", f"chunks/{'0a' * 32}", "chunks/../x-0"),
        ],
    )
    async def test_what_is_no_stream_is_refused(self, store: Store, name: str) -> None:
        with pytest.raises(BadName):
            await store.append(name, record())
        with pytest.raises(BadName):
            await store.read(name)
        with pytest.raises(BadName):
            await store.changed({name: 0})

    async def test_changed_returns_at_once_where_something_is_above(self, store: Store) -> None:
        await store.append("mail/bob", record())
        with anyio.fail_after(_SOON):
            await store.changed({"board": 0, "mail/bob": 0})

    async def test_changed_wakes_for_this_handle_and_for_another(self, store: Store, again: Again) -> None:
        since = {"mail/bob": 0, "board": 0}
        for writer in (store, again()):
            seen = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_wait_for_a_change, store, dict(since), seen)
                await anyio.wait_all_tasks_blocked()
                assert not seen.is_set()
                [since["mail/bob"]] = await writer.append("mail/bob", record())
                with anyio.fail_after(_SOON):
                    await seen.wait()

    async def test_changed_wakes_all_who_wait(self, store: Store, again: Again) -> None:
        seen = [anyio.Event() for _ in range(20)]
        async with anyio.create_task_group() as tasks:
            for index, event in enumerate(seen):
                tasks.start_soon(_wait_for_a_change, store, {f"mail/m{index}": 0, "board": 0}, event)
            await anyio.wait_all_tasks_blocked()
            await again().append("mail/m7", record())
            with anyio.fail_after(_SOON):
                await seen[7].wait()
            await again().append("board", record())
            with anyio.fail_after(_SOON):
                for event in seen:
                    await event.wait()

    async def test_no_change_falls_between_looking_and_waiting(self, store: Store, again: Again) -> None:
        """Every append wakes the waiter, in any interleaving.

        A missed wakeup would make one of the hundred rounds hang.
        """
        writer, seen = again(), 0
        with anyio.fail_after(_SOON):
            for _ in range(100):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(store.changed, {"mail/bob": seen})
                    [seen] = await writer.append("mail/bob", record(), sync=False)

    async def test_a_seat_has_one_holder_and_tells_who(self, store: Store, again: Again) -> None:
        async with store.hold("lead", "the first") as seat:
            assert seat.name == "lead"
            with pytest.raises(Held) as refused:
                async with again().hold("lead", "the second"):
                    pass
            assert (refused.value.seat, refused.value.note) == ("lead", "the first")
            async with again().hold("bob", "another seat"), again().hold("calls/0", "a slot"):
                pass
        async with again().hold("lead", "the second"):
            pass

    async def test_who_waits_for_a_seat_gets_it_when_it_is_free(self, store: Store, again: Again) -> None:
        got: list[str] = []

        async def stand(name: str, handle: Store) -> None:
            async with handle.hold("calls/1", name, wait=True):
                got.append(name)

        with anyio.fail_after(_SOON):
            async with anyio.create_task_group() as tasks, store.hold("calls/1", "the first"):
                for name in ("second", "third"):
                    tasks.start_soon(stand, name, again())
                await anyio.wait_all_tasks_blocked()
                assert got == []
        assert sorted(got) == ["second", "third"]

    async def test_who_stops_waiting_for_a_seat_does_not_keep_it(self, store: Store, again: Again) -> None:
        async with store.hold("bob", "the first"):
            with anyio.move_on_after(0.01):
                async with again().hold("bob", "impatient", wait=True):
                    raise AssertionError("held twice")
        with anyio.fail_after(_SOON):
            async with again().hold("bob", "the next", wait=True):
                pass

    @pytest.mark.parametrize("name", ["", "../bob", "calls", "calls/", "calls/x", "calls/01", "-bob", "a/b"])
    async def test_what_is_no_seat_is_refused(self, store: Store, name: str) -> None:
        if name == "calls":  # a valid member name
            async with store.hold(name, ""):
                return
        with pytest.raises(BadName):
            async with store.hold(name, ""):
                pass

    async def test_a_cancelled_append_is_whole_or_not_there(self, store: Store) -> None:
        for _ in range(20):
            with anyio.CancelScope() as scope:
                scope.cancel()
                await store.append("mail/bob", record("cancelled"))
        whole = [item for item in await store.read("mail/bob") if isinstance(item, Record)]
        assert len(whole) == len(await store.read("mail/bob"))
