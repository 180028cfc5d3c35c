"""Teammates on other machines: hosts as processes, a lead in this one, and real servers."""

import signal
from pathlib import Path

import anyio
import pytest

from deskmate.app import load
from deskmate.app.hosts.host_actions import look_at_hosts, new_offer, run_host
from deskmate.core.team.status import Idle, Left, Parked
from deskmate.errors import Refused, StoreUnavailable
from deskmate.runtime.events import Changed, Recorded
from deskmate.testing import Asked, Say, Use
from deskmate.testing.team_scripts import step
from deskmate.trust.approvals import NO_CONSENT
from deskmate.trust.chosen_engine import close_engines
from tests.app.hosts.host_harness import AT_THE_GATE, host_space, starts, story, works
from tests.servers.nats_nodes import nats_server, nats_url
from tests.servers.postgres import postgres_server, postgres_url

__all__ = ["nats_server", "nats_url", "postgres_server", "postgres_url"]
pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("other-machines")]


@pytest.fixture(params=["postgres", "nats"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


async def test_teammates_run_on_hosts_and_their_results_are_those_of_a_local_team(url: str, tmp_path: Path) -> None:
    mates: list[dict[str, object]] = [{"name": "ann"}, {"name": "bob"}, {"name": "eve", "labels": ["gpu"]}]
    async with host_space(url, tmp_path, story(starts(6, mates), works())) as space:
        space.start("gpu1", "--labels", "gpu,linux")
        space.start("cpu1")
        await space.up("gpu1", "cpu1")
        outcome = await space.run()
        assert (outcome.end, outcome.dismissed) == ("answered", ("ann", "bob", "eve"))
        assert (space.done(), space.results()) == ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])
        assert space.where()["eve"] == ["gpu1"]
        assert {host for hosts in space.where().values() for host in hosts} == {"gpu1", "cpu1"}
        # Faces hear of them as of local ones.
        assert {event.member for event in space.events if isinstance(event, Recorded)} == {"lead", "ann", "bob", "eve"}
        left = [event.member for event in space.events if isinstance(event, Changed) and isinstance(event.status, Left)]
        assert sorted(left) == ["ann", "bob", "eve"]
        seen = await space.fact(lambda hosts: not any(host.members for host in hosts))
        assert [(host.name, host.state, host.free) for host in seen] == [("cpu1", "up", 4), ("gpu1", "up", 4)]


async def test_a_host_that_drains_hands_its_teammates_over_and_ends(url: str, tmp_path: Path) -> None:
    async with host_space(
        url, tmp_path, story(starts(6, [{"name": "ann"}, {"name": "bob"}]), works(AT_THE_GATE))
    ) as space:
        first = space.start("first")
        await space.up("first")

        async def drain() -> None:
            await space.fact(lambda hosts: any(len(host.members) == 2 for host in hosts))
            space.start("second")
            await space.up("second")
            first.send_signal(signal.SIGTERM)
            await space.fact(lambda hosts: any(host.state == "draining" for host in hosts))
            space.open_gate()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drain)
            outcome = await space.run()
        assert outcome.end == "answered"
        assert await anyio.to_thread.run_sync(first.wait) == 0
        assert (space.done(), space.results()) == ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])
        assert space.where() == {"ann": ["first", "second"], "bob": ["first", "second"]}
        assert [host.name for host in await space.fact(lambda hosts: len(hosts) == 1)] == ["second"]
        # Nothing was cut off: no call was reported as interrupted.
        texts = [str(asked.prompt) for asked in space.provider.requests]
        assert not any("interrupted" in text for text in texts)


async def test_a_second_signal_ends_a_host_at_once(postgres_url: str, tmp_path: Path) -> None:
    async with host_space(postgres_url, tmp_path, story(starts(1, [{"name": "ann"}]), works("sleep 60.0"))) as space:
        host = space.start("only")
        await space.up("only")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(space.run)
            await space.fact(lambda hosts: any(host.members for host in hosts))
            host.send_signal(signal.SIGTERM)
            await space.fact(lambda hosts: any(host.state == "draining" for host in hosts))
            host.send_signal(signal.SIGTERM)
            assert await anyio.to_thread.run_sync(host.wait) == -signal.SIGTERM
            tasks.cancel_scope.cancel()


async def test_a_name_belongs_to_one_host(url: str, tmp_path: Path) -> None:
    async with host_space(url, tmp_path, story(starts(0, []), works())) as space:
        space.start("gpu1")
        await space.up("gpu1")
        second = space.start("gpu1")
        assert await anyio.to_thread.run_sync(second.wait) == 2
        assert "Choose another with --name" in space.printed("gpu1").read_text()


async def test_a_host_needs_a_server_that_it_can_reach(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-test", "DESKMATE_MODEL": "anthropic:claude-sonnet-4-5"}
    offer = new_offer("gpu1", "", None)
    with pytest.raises(Refused):
        await run_host(tmp_path, offer, load(environ, {}), NO_CONSENT, print, anyio.sleep_forever)
    with pytest.raises(Refused):
        await look_at_hosts(tmp_path)
    nobody = load({**environ, "DESKMATE_STORE": "postgresql://nobody@127.0.0.1:1/none"}, {"sandbox": False})
    with pytest.raises(StoreUnavailable):
        await run_host(tmp_path, offer, nobody, NO_CONSENT, print, anyio.sleep_forever)
    close_engines()


async def test_a_host_that_was_killed_may_come_back_under_its_name(postgres_url: str, tmp_path: Path) -> None:
    async with host_space(postgres_url, tmp_path, story(starts(4, [{"name": "ann"}]), works(AT_THE_GATE))) as space:
        first = space.start("gpu1")
        await space.up("gpu1")

        async def restart() -> None:
            await space.fact(lambda hosts: any(host.members for host in hosts))
            first.kill()
            first.wait()
            space.start("gpu1")
            await space.up("gpu1")
            space.open_gate()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(restart)
            outcome = await space.run()
        assert (outcome.end, space.done(), space.results()) == ("answered", [1, 2, 3, 4], [1, 2, 3, 4])
        assert set(space.where()["ann"]) == {"gpu1"}


async def test_a_teammate_that_was_idle_on_a_lost_host_is_known_to_run_again(url: str, tmp_path: Path) -> None:
    script = story(starts(1, [{"name": "ann"}, {"name": "bob"}]), works(AT_THE_GATE))
    async with host_space(url, tmp_path, script) as space:
        first = space.start("first")
        await space.up("first")

        async def lose() -> None:
            await space.fact(lambda hosts: any(len(host.members) == 2 for host in hosts))
            # One of both has the task, and the other one has nothing to do.
            await space.eventually(lambda: any(isinstance(one.status, Idle) for one in space.roster().teammates))
            first.kill()
            space.start("second")
            await space.fact(lambda hosts: any(host.name == "second" and len(host.members) == 2 for host in hosts))
            space.open_gate()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lose)
            outcome = await space.run()
        assert (outcome.end, space.done(), space.results()) == ("answered", [1], [1])
        assert not any(isinstance(event, Changed) and isinstance(event.status, Parked) for event in space.events)


async def test_a_lead_learns_which_hosts_there_are_if_none_fits(postgres_url: str, tmp_path: Path) -> None:
    def lead(asked: Asked) -> Say:
        wanted = [Use("Task", {"name": "ann", "prompt": "Work.", "labels": ["tpu"]})]
        return Say("I start Ann.", wanted) if step(asked) == 0 else Say("There is no host for Ann.")

    async with host_space(postgres_url, tmp_path, story(lead, works())) as space:
        space.start("gpu1", "--labels", "gpu")
        await space.up("gpu1")
        assert (await space.run()).text == "There is no host for Ann."
        assert "gpu1 (gpu; 4 of 4 slots free)" in str(space.provider.requests[1].prompt)
        tool = next(tool for tool in space.provider.requests[0].prompt.tools if tool.name == "Task")
        assert "gpu1 (gpu)" in tool.schema["properties"]["host"]["description"]


async def test_without_hosts_all_is_as_before(postgres_url: str, tmp_path: Path) -> None:
    async with host_space(postgres_url, tmp_path, story(starts(2, [{"name": "ann"}]), works())) as space:
        assert (await space.run()).end == "answered"
        assert (space.where(), space.results()) == ({}, [1, 2])
        tool = next(tool for tool in space.provider.requests[0].prompt.tools if tool.name == "Task")
        assert not {"host", "labels"} & set(tool.schema["properties"])


async def test_a_teammate_may_be_kept_on_the_machine_of_the_lead(postgres_url: str, tmp_path: Path) -> None:
    script = story(starts(2, [{"name": "ann", "host": "lead"}]), works())
    async with host_space(postgres_url, tmp_path, script) as space:
        space.start("gpu1")
        await space.up("gpu1")
        assert (await space.run()).end == "answered"
        assert (space.where(), space.results()) == ({}, [1, 2])


async def test_if_no_host_is_left_a_teammate_with_a_wish_is_parked_with_the_reason(
    postgres_url: str, tmp_path: Path
) -> None:
    script = story(starts(2, [{"name": "ann", "host": "gpu1"}]), works(AT_THE_GATE))
    async with host_space(postgres_url, tmp_path, script) as space:
        host = space.start("gpu1")
        await space.up("gpu1")

        async def kill() -> None:
            await space.fact(lambda hosts: any(host.members for host in hosts))
            host.kill()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            await space.run()
        parked = [event for event in space.events if isinstance(event, Changed) and event.member == "ann"]
        assert any("host 'gpu1'" in str(event.status) for event in parked)


async def test_teammates_end_with_a_lead_that_is_killed_and_continue_with_the_next_one(
    url: str, tmp_path: Path
) -> None:
    async with host_space(
        url, tmp_path, story(starts(6, [{"name": "ann"}, {"name": "bob"}]), works(AT_THE_GATE))
    ) as space:
        space.start("gpu1")
        await space.up("gpu1")
        lead = space.lead("Do it.")
        await space.fact(lambda hosts: any(len(host.members) == 2 for host in hosts))
        lead.kill()
        await space.fact(lambda hosts: not any(host.members for host in hosts))
        assert space.done() == []
        space.open_gate()
        everything = list(range(1, 7))
        outcome = await space.run(None)
        assert (outcome.end, space.done(), space.results()) == ("answered", everything, everything)
        assert {host for hosts in space.where().values() for host in hosts} == {"gpu1"}


async def test_nothing_runs_on_a_host_after_its_lead_was_interrupted(postgres_url: str, tmp_path: Path) -> None:
    async with host_space(postgres_url, tmp_path, story(starts(1, [{"name": "ann"}]), works("sleep 60.0"))) as space:
        space.start("gpu1")
        await space.up("gpu1")
        lead = space.lead("Do it.")
        await space.fact(lambda hosts: any(host.members for host in hosts))
        lead.send_signal(signal.SIGINT)
        assert await anyio.to_thread.run_sync(lead.wait) == 130
        assert space.roster().members["ann"].returned is not None
